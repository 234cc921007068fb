// E0597
use std::sync::{atomic::{AtomicU32, Ordering}, Arc};
use tailor::{Result, Runtime, RuntimeOptions};

pub fn runtime() -> Result<Runtime> {
    let lines = Arc::new(AtomicU32::new(0));
    #[cfg(good)]
    let counted = lines.clone();
    #[cfg(not(good))]
    let counted = &lines;
    let log = Box::new(move |_, _: &str| drop(counted.fetch_add(1, Ordering::Relaxed)));
    Runtime::with_options(RuntimeOptions { log: Some(log), ..Default::default() })
}
