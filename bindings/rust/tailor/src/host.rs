//! Closures of the host that the library calls. Nothing may unwind into it: panics are kept, and go on outside.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::mem;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::NonNull;

/// An executor of the host: see [`SessionOptions::parallel_for`](crate::SessionOptions::parallel_for).
pub type ParallelFor = Box<dyn Fn(&(dyn Fn(usize) + Sync), usize) + Send + Sync>;

type Panic = Box<dyn Any + Send>;

thread_local! {
    /// Of a closure that the current call of this thread led to.
    static PANIC: RefCell<Option<Panic>> = const { RefCell::new(None) };
}

/// Calls `closure`, for a call of the library on this thread that [`resume`] follows, with the first of its panics. A panic
/// gives `instead`. Calls that the closure makes have panics of their own.
pub(crate) fn keep_panic<R>(instead: R, closure: impl FnOnce() -> R) -> R {
    let earlier = take_panic();
    let result = catch_unwind(AssertUnwindSafe(closure));
    let (value, panic) = match result {
        Ok(value) => (value, earlier),
        Err(panic) => match earlier {
            None => (instead, Some(panic)),
            Some(earlier) => {
                discard(panic);
                (instead, Some(earlier))
            }
        },
    };
    let _ = PANIC.try_with(|kept| kept.replace(panic));
    value
}

fn take_panic() -> Option<Panic> {
    PANIC.try_with(|kept| kept.take()).ok().flatten()
}

/// Goes on with a panic that was kept.
pub(crate) fn resume() {
    if let Some(panic) = take_panic() {
        resume_unwind(panic);
    }
}

/// Calls `closure`, which the library calls on any thread. A panic, which has been printed, ends here and gives `instead`.
pub(crate) fn end_panic<R>(instead: R, closure: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(closure)).unwrap_or_else(|panic| {
        discard(panic);
        instead
    })
}

/// The text of a panic.
pub(crate) fn text_of(panic: Panic) -> String {
    let text = match panic.downcast_ref::<String>() {
        Some(text) => text,
        None => panic.downcast_ref::<&str>().copied().unwrap_or("a value that is no text"),
    };
    let text = text.to_owned();
    discard(panic);
    text
}

/// Drops what was panicked with, whose destructor may panic as well.
fn discard(panic: Panic) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        mem::forget(panic);
    }
}

/// A value at an address that the library has, which is not the value's only name: a `Box` would claim to be.
pub(crate) struct Shared<T>(NonNull<T>);

// SAFETY: it owns the value; whoever shares it through the pointer says why that is right.
unsafe impl<T: Send> Send for Shared<T> {}

impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Shared<T> {
        Shared(NonNull::from(Box::leak(Box::new(value))))
    }

    pub(crate) fn user(&self) -> *mut c_void {
        self.0.as_ptr() as *mut c_void
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: the value came from a box, and the library is done with it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Drops an owner that the library held.
pub(crate) unsafe extern "C" fn release<O>(owner: *mut c_void) {
    let owner = Box::from_raw(owner as *mut O);
    end_panic((), || drop(owner));
}

/// The task of one kernel; may be called from all threads at once.
struct Task {
    function: unsafe extern "C" fn(*mut c_void, usize),
    data: *mut c_void,
}

// SAFETY: that is the contract of tailor_parallel_for.
unsafe impl Sync for Task {}

impl Task {
    fn call(&self, index: usize) {
        // SAFETY: borrows of the task, and so its calls, end before its kernel does; the library checks indices.
        unsafe { (self.function)(self.data, index) }
    }
}

/// A `tailor_parallel_for` whose `user` is a [`ParallelFor`].
pub(crate) unsafe extern "C" fn run_parallel_for(
    user: *mut c_void,
    function: Option<unsafe extern "C" fn(*mut c_void, usize)>,
    data: *mut c_void,
    count: usize,
) {
    let parallel_for = &*(user as *const ParallelFor);
    if let Some(function) = function {
        let task = Task { function, data };
        keep_panic((), || parallel_for(&|index| task.call(index), count));
    }
}
