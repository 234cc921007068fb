// E0521
use tailor::{Executable, Result, Session};

pub fn session(executable: &Executable) -> Result<Session> {
    #[cfg(good)]
    let start = |task: &(dyn Fn(usize) + Sync), i: usize| std::thread::scope(|scope| drop(scope.spawn(move || task(i))));
    #[cfg(not(good))]
    let start = |task: &(dyn Fn(usize) + Sync), i: usize| drop(std::thread::spawn(move || task(i)));
    executable.session_on(2, move |task, count| (0..count).for_each(|i| start(task, i)))
}
