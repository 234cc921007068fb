//! Runtimes, and the custom operators that are registered with them.

use std::ffi::c_void;
use std::fmt;
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;
use std::sync::Arc;

use crate::error::text;
use crate::hooks::{Allocator, Hooks, Log};
use crate::host::{release, text_of, ParallelFor};
use crate::{check, sys, CustomCall, Device, Error, ErrorCode, Result};

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
#[derive(Clone)]
pub struct Runtime {
    pub(crate) handle: Arc<RuntimeHandle>,
}

/// The C runtime, which its executables keep alive.
pub(crate) struct RuntimeHandle {
    pub(crate) raw: *mut sys::tailor_runtime,
}

// SAFETY: every call on a runtime may be made from many threads at once, and the hooks' closures are Send and Sync.
unsafe impl Send for RuntimeHandle {}
unsafe impl Sync for RuntimeHandle {}

impl Drop for RuntimeHandle {
    fn drop(&mut self) {
        // SAFETY: the runtime is ours.
        unsafe { sys::tailor_runtime_release(self.raw) };
    }
}

/// What a message of [`RuntimeOptions::log`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// For information.
    Info,
    /// Something is not as it should be, but calls succeed.
    Warning,
    /// Something failed.
    Error,
}

/// The options of a runtime. Closures and allocators are called on any thread that calls the library, at once. A panic of
/// the log or the allocator is printed and ends there; an allocation that panics is `RESOURCE_EXHAUSTED`.
#[derive(Default)]
pub struct RuntimeOptions<'a> {
    /// Gets the library's messages.
    pub log: Option<Log>,
    /// Allocates workspaces and outputs: [`std::alloc::System`], or that of any allocator crate.
    pub allocator: Option<Allocator>,
    /// Computes the matmuls of executables that were compiled with `CompileOptions::offer_products`.
    pub product_provider: Option<ProductProvider>,
    /// The text of a decision tree that selects the matmuls to offer; none: all.
    pub product_choice: Option<&'a str>,
    /// The executor of all sessions that have none of their own, those of
    /// [`Executable::run_into`](crate::Executable::run_into) included: see
    /// [`SessionOptions::parallel_for`](crate::SessionOptions::parallel_for). None: threads of the runtime.
    pub parallel_for: Option<ParallelFor>,
    /// Threads, or parts for the executor, of sessions whose `threads` is 0; 0: only the caller's thread.
    pub parallel_threads: u64,
    /// The sessions of [`Executable::run_into`](crate::Executable::run_into) that each executable keeps for later calls;
    /// 0: 16.
    pub pooled_sessions: u64,
    /// The bytes that these sessions of an executable may hold; beyond it they are trimmed. 0: no limit.
    pub pooled_bytes: u64,
    /// On GPUs cuBLASLt computes the matmuls that are offered; `FAILED_PRECONDITION` if the library is not there.
    pub cublas_lt: bool,
    /// Loading appends the generated functions, with their names, to `/tmp/perf-<process>.map`, where Linux's `perf` looks for
    /// them.
    pub perf_map: bool,
}

impl fmt::Debug for RuntimeOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeOptions").field("product_choice", &self.product_choice).finish_non_exhaustive()
    }
}

/// Another library that computes matmuls: a `tailor_product_provider` of C, such as that of `libtailor_onednn.so`.
#[derive(Clone, Copy, Debug)]
pub struct ProductProvider(*const sys::tailor_product_provider);

impl ProductProvider {
    /// A provider of C.
    ///
    /// # Safety
    /// It does what `tailor/runtime.h` says, and it and what it points to live as long as any runtime that has it, and their
    /// executables.
    pub unsafe fn from_raw(provider: *const sys::tailor_product_provider) -> ProductProvider {
        ProductProvider(provider)
    }
}

/// A device on which executables can run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// For options.
    pub device: Device,
    /// Its name: `NVIDIA H100 80GB HBM3`, `x86-64-v4`.
    pub name: String,
    /// Of a GPU: its compute capability.
    pub compute_capability: (i32, i32),
    /// Of a GPU: its multiprocessors.
    pub processors: i32,
    /// Of a GPU: the CUDA version that the driver supports, 12040 for 12.4.
    pub driver: i32,
    /// Its memory in bytes.
    pub memory_bytes: u64,
}

impl Runtime {
    /// A runtime with default options.
    pub fn new() -> Result<Runtime> {
        Runtime::with_options(RuntimeOptions::default())
    }

    /// A runtime with options.
    ///
    /// ```no_run
    /// use tailor::{Runtime, RuntimeOptions};
    ///
    /// let runtime = Runtime::with_options(RuntimeOptions {
    ///     log: Some(Box::new(|level, message| eprintln!("{:?}: {}", level, message))),
    ///     ..Default::default()
    /// })?;
    /// # Ok::<(), tailor::Error>(())
    /// ```
    pub fn with_options(options: RuntimeOptions<'_>) -> Result<Runtime> {
        let choice = options.product_choice.unwrap_or("");
        let mut given = sys::tailor_runtime_options {
            product_provider: options.product_provider.map_or(ptr::null(), |provider| provider.0),
            product_choice: options.product_choice.map_or(ptr::null(), |_| choice.as_ptr() as *const c_char),
            product_choice_size: choice.len() as u64,
            cublas_lt: options.cublas_lt.into(),
            perf_map: options.perf_map.into(),
            parallel_threads: options.parallel_threads,
            pooled_sessions: options.pooled_sessions,
            pooled_bytes: options.pooled_bytes,
            ..Default::default()
        };
        Hooks::new(options.log, options.allocator, options.parallel_for).install(&mut given);
        let mut raw = ptr::null_mut();
        // SAFETY: options are valid for the call, which takes the hooks.
        check(unsafe { sys::tailor_runtime_create(&given, &mut raw) })?;
        Ok(Runtime { handle: Arc::new(RuntimeHandle { raw }) })
    }

    /// The devices of this machine: the CPU, and the GPUs that CUDA finds.
    pub fn devices(&self) -> Result<Vec<DeviceInfo>> {
        let read = |index| {
            let mut info = sys::tailor_device_info::default();
            // SAFETY, here and below: the runtime is live, and texts are static.
            check(unsafe { sys::tailor_runtime_device(self.handle.raw, index, &mut info) })?;
            Ok(DeviceInfo {
                device: if info.kind == sys::TAILOR_DEVICE_CPU { Device::Cpu } else { Device::Cuda(info.ordinal) },
                name: unsafe { text(info.name) },
                compute_capability: (info.major, info.minor),
                processors: info.processors,
                driver: info.driver,
                memory_bytes: info.memory_bytes,
            })
        };
        (0..unsafe { sys::tailor_runtime_device_count(self.handle.raw) }).map(read).collect()
    }

    /// Why there is no GPU; empty if there is one.
    pub fn cuda_absence(&self) -> String {
        unsafe { text(sys::tailor_runtime_cuda_absence(self.handle.raw)) }
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
            name: name.as_ptr() as *const c_char,
            name_size: name.len(),
            device: device.numbers().0,
            function: Some(call_function),
            workspace: if sized { Some(call_workspace) } else { None },
            user: operator as *mut c_void,
            released: Some(release::<Operator>),
            ..Default::default()
        };
        // SAFETY: the name is valid for the call; the operator lives until `release`, also where this fails.
        check(unsafe { sys::tailor_runtime_register(self.handle.raw, &given) })
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
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
        Err(panic) => Error::from(format!("it panicked: {}", text_of(panic))),
    };
    call.set_message(&error.message);
    match error.code.raw() {
        0 => Err(ErrorCode::Internal.raw()), // 0 would be success
        code => Err(code),
    }
}
