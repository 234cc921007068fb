// E0133
use tailor::{Result, Session, Tensor};

pub fn start(session: &mut Session, x: &[f32]) -> Result<()> {
    let inputs = [Tensor::from(x)];
    #[cfg(good)]
    // SAFETY: the run is not forgotten.
    unsafe { session.start(&inputs)? };
    #[cfg(not(good))]
    session.start(&inputs)?;
    Ok(())
}
