// E0502
use tailor::{Result, Session, Tensor, TensorMut};

pub fn run(session: &mut Session, x: &mut [f32], y: &mut [f32]) -> Result<()> {
    #[cfg(good)]
    return session.run_into(&[Tensor::from(&*x)], &mut [TensorMut::open(y)]);
    #[cfg(not(good))]
    return session.run_into(&[Tensor::from(&*x)], &mut [TensorMut::open(x)]);
}
