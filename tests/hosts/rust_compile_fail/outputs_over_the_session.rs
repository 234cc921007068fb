// E0505
use tailor::{Executable, Result, Tensor};

pub fn outputs(executable: &Executable, x: &[f32]) -> Result<f32> {
    let mut session = executable.session(1)?;
    let outputs = session.run(&[Tensor::from(x)])?;
    #[cfg(not(good))]
    drop(session);
    Ok(outputs.get::<f32>(0)?[0])
}
