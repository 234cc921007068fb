// E0499
use tailor::{Result, Session, TensorMut};

pub fn run(session: &mut Session) -> Result<()> {
    let mut bound = session.bind(vec![], vec![TensorMut::none()])?;
    #[cfg(not(good))]
    session.set_seed(1)?;
    bound.run()?;
    session.set_seed(1)
}
