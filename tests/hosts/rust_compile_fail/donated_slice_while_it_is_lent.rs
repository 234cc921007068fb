// E0503
use tailor::{Result, Session, Tensor};

pub fn update(session: &mut Session, state: &mut [f32]) -> Result<f32> {
    let inputs = [Tensor::donated(state, &[4])];
    #[cfg(not(good))]
    let first = state[0];
    session.run(&inputs)?;
    #[cfg(good)]
    let first = state[0];
    Ok(first)
}
