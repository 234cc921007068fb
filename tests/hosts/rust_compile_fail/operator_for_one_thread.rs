// E0277
use std::sync::{atomic::{AtomicU32, Ordering}, Arc};
use tailor::{Device, Result, Runtime};

pub fn register(runtime: &Runtime) -> Result<()> {
    #[cfg(good)]
    let calls = Arc::new(AtomicU32::new(0));
    #[cfg(not(good))]
    let calls = std::rc::Rc::new(AtomicU32::new(0));
    let _: Arc<()>;
    runtime.register("op", Device::Cpu, move |_| Ok(drop(calls.fetch_add(1, Ordering::Relaxed))))
}
