// E0499
use tailor::{Result, Session, Tensor};

pub fn twice(session: &mut Session, x: &[f32]) -> Result<f32> {
    #[cfg(good)]
    let first = session.run(&[Tensor::from(x)])?.get::<f32>(0)?[0];
    #[cfg(not(good))]
    let first = session.run(&[Tensor::from(x)])?.get::<f32>(0)?;
    session.run(&[Tensor::from(x)])?;
    #[cfg(not(good))]
    let first = first[0];
    Ok(first)
}
