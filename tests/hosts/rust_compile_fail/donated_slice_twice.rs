// E0499
use tailor::{Result, Session, Tensor};

pub fn update(session: &mut Session, state: &mut [f32], other: &mut [f32]) -> Result<()> {
    #[cfg(good)]
    let inputs = [Tensor::donated(state, &[4]), Tensor::donated(other, &[4])];
    #[cfg(not(good))]
    let inputs = [Tensor::donated(state, &[4]), Tensor::donated(state, &[4])];
    let _ = other;
    session.run(&inputs)?;
    Ok(())
}
