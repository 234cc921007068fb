// E0506
use tailor::{Result, Session, TensorMut};

pub fn run(session: &mut Session) -> Result<()> {
    let (mut x, mut y) = ([0.0f32; 4], [0.0f32; 4]);
    let mut bound = session.bind(vec![TensorMut::open(&mut x)], vec![TensorMut::open(&mut y)])?;
    #[cfg(good)]
    bound.input::<f32>(0)?.fill(1.0);
    #[cfg(not(good))]
    { x = [1.0; 4]; }
    bound.run()
}
