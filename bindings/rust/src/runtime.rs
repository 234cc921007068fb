//! Runtimes, and the custom operators that are registered with them.

use std::any::Any;
use std::ffi::c_void;
use std::mem;
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;

use super::{check, release, sys, CustomCall, Device, Error, Result, INTERNAL};

/// A runtime loads executables, which may call the custom operators registered with it, and which keep it alive: see
/// [`LoadOptions::runtime`](crate::LoadOptions::runtime) and, with the feature `compiler`, `CompileOptions::runtime`.
///
/// ```no_run
/// let runtime = tailor::Runtime::new()?;
/// runtime.register("double", tailor::Device::Cpu, |call| {
///     let x = call.operand::<f32>(0)?;
///     for (y, x) in call.result::<f32>(0)?.iter_mut().zip(x) {
///         *y = 2.0 * x;
///     }
///     Ok(())
/// })?;
/// let options = tailor::LoadOptions { runtime: Some(&runtime), ..Default::default() };
/// let executable = tailor::Executable::load_with("model.tlr", &options)?;
/// # Ok::<(), tailor::Error>(())
/// ```
#[derive(Debug)]
pub struct Runtime {
    pub(crate) raw: *mut sys::tailor_runtime,
}

// SAFETY: every call on a runtime may be made from many threads at once.
unsafe impl Send for Runtime {}
unsafe impl Sync for Runtime {}

impl Runtime {
    pub fn new() -> Result<Runtime> {
        let mut raw = ptr::null_mut();
        // SAFETY: null options are the defaults.
        check(unsafe { sys::tailor_runtime_create(ptr::null(), &mut raw) })?;
        Ok(Runtime { raw })
    }

    /// Registers a custom operator for executables that are loaded from then on, on any device of that kind. Its function is
    /// called on the thread of the run, from several threads at once if several sessions run. An error fails the run with
    /// its code and message, and so does a panic, with `INTERNAL`: `Err("the table is full".into())`.
    ///
    /// The function is dropped, on any thread, when the runtime and all executables that use the operator are gone, or
    /// before an error is returned: `INVALID_ARGUMENT` for an empty name, one that begins with `tailor.`, or one that is
    /// registered already.
    pub fn register<F>(&self, name: &str, device: Device, function: F) -> Result<()>
    where
        F: Fn(&CustomCall<'_>) -> Result<()> + Send + Sync + 'static,
    {
        self.add(name, device, None, Box::new(function))
    }

    /// [`register`](Runtime::register) for a function that needs memory of its own: `workspace` gives its size in bytes, by
    /// the dims, element types and attributes of the call alone.
    pub fn register_with_workspace<W, F>(&self, name: &str, device: Device, workspace: W, function: F) -> Result<()>
    where
        W: Fn(&CustomCall<'_>) -> Result<usize> + Send + Sync + 'static,
        F: Fn(&CustomCall<'_>) -> Result<()> + Send + Sync + 'static,
    {
        self.add(name, device, Some(Box::new(workspace)), Box::new(function))
    }

    fn add(&self, name: &str, device: Device, workspace: Option<Workspace>, function: Function) -> Result<()> {
        let sized = workspace.is_some();
        let on_device = device != Device::Cpu;
        let operator = Box::into_raw(Box::new(Operator { on_device, function, workspace }));
        let given = sys::tailor_custom_operator {
            struct_size: mem::size_of::<sys::tailor_custom_operator>() as u64,
            name: name.as_ptr() as *const c_char,
            name_size: name.len(),
            device: device.numbers().0,
            reserved: 0,
            function: call_function,
            workspace: if sized { Some(call_workspace) } else { None },
            user: operator as *mut c_void,
            released: Some(release::<Operator>),
        };
        // SAFETY: the name is valid for the call; the operator lives until `release`, also where this fails.
        check(unsafe { sys::tailor_runtime_register(self.raw, &given) })
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // SAFETY: the runtime is ours.
        unsafe { sys::tailor_runtime_release(self.raw) };
    }
}

type Function = Box<dyn Fn(&CustomCall<'_>) -> Result<()> + Send + Sync>;
type Workspace = Box<dyn Fn(&CustomCall<'_>) -> Result<usize> + Send + Sync>;

struct Operator {
    on_device: bool,
    function: Function,
    workspace: Option<Workspace>,
}

unsafe extern "C" fn call_function(user: *mut c_void, call: *const sys::tailor_custom_call) -> i32 {
    // SAFETY, here and below: `user` is what `add` registered; the call lives until this returns.
    let operator = &*(user as *const Operator);
    let call = CustomCall::of(&*call, operator.on_device);
    run(&call, || (operator.function)(&call)).map_or_else(|code| code, |()| 0)
}

unsafe extern "C" fn call_workspace(
    user: *mut c_void,
    call: *const sys::tailor_custom_call,
    bytes: *mut u64,
) -> i32 {
    let operator = &*(user as *const Operator);
    let call = CustomCall::without_data(&*call);
    run(&call, || operator.workspace.as_ref().map_or(Ok(0), |workspace| workspace(&call))).map_or_else(
        |code| code,
        |size| {
            *bytes = size as u64;
            0
        },
    )
}

/// The result of a function of the host, or its error's code; the message is in the call.
fn run<T>(call: &CustomCall<'_>, function: impl FnOnce() -> Result<T>) -> std::result::Result<T, i32> {
    let error = match catch_unwind(AssertUnwindSafe(function)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => error,
        Err(panic) => Error::from(format!("it panicked: {}", text_of(&*panic))),
    };
    call.set_message(&error.message);
    Err(if error.code == 0 { INTERNAL } else { error.code }) // 0 would be success
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    match panic.downcast_ref::<String>() {
        Some(text) => text,
        None => panic.downcast_ref::<&str>().copied().unwrap_or("a value that is no text"),
    }
}
