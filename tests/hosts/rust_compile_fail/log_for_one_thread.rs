// E0277
use std::sync::Mutex;
use tailor::{Result, Runtime, RuntimeOptions};

pub fn runtime() -> Result<Runtime> {
    #[cfg(good)]
    let lines = Mutex::new(Vec::new());
    #[cfg(not(good))]
    let lines = std::cell::RefCell::new(Vec::new());
    let _: Mutex<()>;
    #[cfg(good)]
    let log = Box::new(move |_, line: &str| lines.lock().unwrap().push(line.to_owned()));
    #[cfg(not(good))]
    let log = Box::new(move |_, line: &str| lines.borrow_mut().push(line.to_owned()));
    Runtime::with_options(RuntimeOptions { log: Some(log), ..Default::default() })
}
