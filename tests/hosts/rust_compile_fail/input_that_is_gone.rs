// E0597
use tailor::{Result, Session, Tensor};

pub fn run(session: &mut Session) -> Result<()> {
    #[cfg(good)]
    let x = vec![1.0f32; 4];
    let input;
    {
        #[cfg(not(good))]
        let x = vec![1.0f32; 4];
        input = Tensor::from(&x);
    }
    session.run(&[input])?;
    Ok(())
}
