// E0277
use tailor::{Executable, Result};

pub fn streams(executable: &Executable) -> Result<()> {
    let session = executable.session(1)?;
    #[cfg(good)]
    std::thread::scope(|scope| scope.spawn(move || session.stream().is_null()).join().unwrap());
    #[cfg(not(good))]
    std::thread::scope(|scope| scope.spawn(|| session.stream().is_null()).join().unwrap());
    Ok(())
}
