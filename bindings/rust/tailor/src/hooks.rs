//! What a runtime calls of the host: log, allocator and executor.

use std::alloc::{GlobalAlloc, Layout};
use std::collections::HashMap;
use std::ffi::{c_void, CStr};
use std::os::raw::c_char;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use crate::host::{end_panic, release, run_parallel_for, ParallelFor, Shared};
use crate::{sys, LogLevel};

/// The closure of [`RuntimeOptions::log`](crate::RuntimeOptions::log).
pub type Log = Box<dyn Fn(LogLevel, &str) + Send + Sync>;
/// The allocator of [`RuntimeOptions::allocator`](crate::RuntimeOptions::allocator).
pub type Allocator = Box<dyn GlobalAlloc + Send + Sync>;

/// The alignment of all memory for which the library asks for no greater one.
const ALIGNMENT: usize = 64;

/// The `user` of a runtime's options. The library owns it: it is dropped when the runtime and its executables are gone.
pub(crate) struct Hooks {
    log: Option<Log>,
    allocator: Option<Allocator>,
    parallel_for: Option<Shared<ParallelFor>>,
    greater_alignments: Mutex<HashMap<usize, usize>>, // by address: freeing does not tell the alignment
}

impl Hooks {
    pub(crate) fn new(log: Option<Log>, allocator: Option<Allocator>, parallel_for: Option<ParallelFor>) -> Hooks {
        let parallel_for = parallel_for.map(Shared::new);
        Hooks { log, allocator, parallel_for, greater_alignments: Mutex::default() }
    }

    /// Sets what the library calls. Creating a runtime with the options takes the hooks, also where it fails.
    pub(crate) fn install(self, options: &mut sys::tailor_runtime_options) {
        if self.log.is_none() && self.allocator.is_none() && self.parallel_for.is_none() {
            return;
        }
        if self.log.is_some() {
            options.log = Some(log);
        }
        if self.allocator.is_some() {
            options.allocate = Some(allocate);
            options.deallocate = Some(deallocate);
        }
        if let Some(parallel_for) = &self.parallel_for {
            options.parallel_for = Some(run_parallel_for);
            options.parallel_user = parallel_for.user();
        }
        options.user = Box::into_raw(Box::new(self)) as *mut c_void;
        options.released = Some(release::<Hooks>);
    }

    fn allocate(&self, bytes: usize, alignment: usize) -> Option<*mut u8> {
        let layout = Layout::from_size_align(bytes.max(1), alignment.max(ALIGNMENT)).ok()?;
        // SAFETY: the layout has a size.
        let data = unsafe { self.allocator.as_ref()?.alloc(layout) };
        if alignment > ALIGNMENT && !data.is_null() {
            self.alignments().insert(data as usize, alignment);
        }
        Some(data)
    }

    /// # Safety
    /// `data` was allocated with so many bytes.
    unsafe fn deallocate(&self, data: *mut u8, bytes: usize) {
        let alignment = self.alignments().remove(&(data as usize)).unwrap_or(ALIGNMENT);
        if let (Some(allocator), Ok(layout)) = (&self.allocator, Layout::from_size_align(bytes.max(1), alignment)) {
            allocator.dealloc(data, layout);
        }
    }

    fn alignments(&self) -> std::sync::MutexGuard<'_, HashMap<usize, usize>> {
        self.greater_alignments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

unsafe extern "C" fn log(user: *mut c_void, level: i32, message: *const c_char) {
    // SAFETY, here and below: `user` is the runtime's, which lives; the message is a text.
    let hooks = &*(user as *const Hooks);
    let level = match level {
        0 => LogLevel::Info,
        1 => LogLevel::Warning,
        _ => LogLevel::Error,
    };
    if let Some(log) = &hooks.log {
        end_panic((), || log(level, &CStr::from_ptr(message).to_string_lossy()));
    }
}

unsafe extern "C" fn allocate(user: *mut c_void, bytes: usize, alignment: usize) -> *mut c_void {
    let hooks = &*(user as *const Hooks);
    end_panic(ptr::null_mut(), || hooks.allocate(bytes, alignment).unwrap_or(ptr::null_mut()) as *mut c_void)
}

unsafe extern "C" fn deallocate(user: *mut c_void, data: *mut c_void, bytes: usize) {
    let hooks = &*(user as *const Hooks);
    end_panic((), || hooks.deallocate(data as *mut u8, bytes));
}
