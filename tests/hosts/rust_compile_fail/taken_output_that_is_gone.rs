// E0505
use tailor::{Executable, Result, Tensor};

pub fn twice(executable: &Executable, x: &[f32]) -> Result<f32> {
    let mut session = executable.session(1)?;
    let taken = session.run_owned(&[Tensor::from(x)])?;
    let next = [Tensor::from(&taken[0])];
    #[cfg(not(good))]
    drop(taken);
    Ok(session.run(&next)?.get::<f32>(0)?[0])
}
