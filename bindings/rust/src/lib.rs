//! Loads and runs artifacts that the Tailor compiler saved. Needs only `libtailor_runtime.so`.
//! With the feature `compiler` the module `graph` builds and compiles graphs; that needs `libtailor.so` too.
//! With the feature `onnx` the module `onnx` makes graphs from ONNX models; that needs `libtailor_onnx.so` as well.
//!
//! ```no_run
//! let executable = tailor::Executable::load("model.tlr")?;
//! let mut session = executable.session(1)?;
//! let outputs = session.run(&[tailor::Tensor::new(&[1.0f32, 2.0], &[2])])?;
//! println!("{:?}", outputs.get::<f32>(0)?);
//! # Ok::<(), tailor::Error>(())
//! ```

mod custom;
mod device;
mod load;
#[cfg(feature = "compiler")]
pub mod graph;
#[cfg(feature = "onnx")]
pub mod onnx;
mod runtime;
pub mod sys;

use std::any::Any;
use std::ffi::{c_void, CStr};
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::os::raw::c_char;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::ptr;

pub use custom::CustomCall;
pub use device::{Device, Running, SessionOptions, Stream};
pub use load::LoadOptions;
pub use runtime::Runtime;

/// A failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// As the `TAILOR_` constants of `tailor/runtime.h`, which this crate has without the prefix: [`INVALID_ARGUMENT`].
    pub code: i32,
    pub message: String,
    /// The user's name of the graph node at fault; may be empty.
    pub node: String,
}

pub const CANCELLED: i32 = 1;
pub const INVALID_ARGUMENT: i32 = 3;
pub const NOT_FOUND: i32 = 5;
pub const RESOURCE_EXHAUSTED: i32 = 8;
pub const FAILED_PRECONDITION: i32 = 9;
pub const OUT_OF_RANGE: i32 = 11;
pub const UNIMPLEMENTED: i32 = 12;
pub const INTERNAL: i32 = 13;
pub const DATA_LOSS: i32 = 15;

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The name of the code, `INVALID_ARGUMENT`; `None` for a code that this crate does not know.
    pub fn code_name(&self) -> Option<&'static str> {
        Some(match self.code {
            CANCELLED => "CANCELLED",
            INVALID_ARGUMENT => "INVALID_ARGUMENT",
            NOT_FOUND => "NOT_FOUND",
            RESOURCE_EXHAUSTED => "RESOURCE_EXHAUSTED",
            FAILED_PRECONDITION => "FAILED_PRECONDITION",
            OUT_OF_RANGE => "OUT_OF_RANGE",
            UNIMPLEMENTED => "UNIMPLEMENTED",
            INTERNAL => "INTERNAL",
            DATA_LOSS => "DATA_LOSS",
            _ => return None,
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code_name() {
            Some(name) => write!(f, "{}: {}", name, self.message)?,
            None => write!(f, "code {}: {}", self.code, self.message)?,
        }
        if self.node.is_empty() {
            return Ok(());
        }
        write!(f, " (node \"{}\")", self.node)
    }
}

impl std::error::Error for Error {}

/// A failure of a function of the host, [`INTERNAL`]: `Err("the table is full")?`.
impl From<String> for Error {
    fn from(message: String) -> Error {
        Error { code: INTERNAL, message, node: String::new() }
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Error {
        message.to_owned().into()
    }
}

unsafe fn text(data: *const c_char) -> String {
    if data.is_null() {
        return String::new();
    }
    CStr::from_ptr(data).to_string_lossy().into_owned()
}

fn check(status: *mut sys::tailor_status) -> Result<()> {
    if status.is_null() {
        return Ok(());
    }
    // SAFETY: a status that is not null is live and ours until released.
    unsafe {
        let error = Error {
            code: sys::tailor_status_code(status),
            message: text(sys::tailor_status_message(status)),
            node: text(sys::tailor_status_node(status)),
        };
        sys::tailor_status_release(status);
        Err(error)
    }
}

/// Drops an owner that the library held.
unsafe extern "C" fn release<O>(owner: *mut c_void) {
    let owner = Box::from_raw(owner as *mut O);
    // Nothing may unwind into the library.
    if catch_unwind(AssertUnwindSafe(|| drop(owner))).is_err() {
        std::process::abort();
    }
}

fn invalid(message: String) -> Error {
    Error { code: INVALID_ARGUMENT, message, node: String::new() }
}

/// An element type; the numbers are those of `tailor/runtime.h`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DType(pub i32);

impl DType {
    pub const BOOL: DType = DType(1);
    pub const I8: DType = DType(2);
    pub const I16: DType = DType(3);
    pub const I32: DType = DType(4);
    pub const I64: DType = DType(5);
    pub const U8: DType = DType(6);
    pub const U16: DType = DType(7);
    pub const U32: DType = DType(8);
    pub const U64: DType = DType(9);
    pub const F16: DType = DType(10);
    pub const BF16: DType = DType(11);
    pub const F32: DType = DType(12);
    pub const F64: DType = DType(13);
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 13] =
            ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"];
        match NAMES.get((self.0 as usize).wrapping_sub(1)) {
            Some(name) => f.write_str(name),
            None => write!(f, "element type {}", self.0),
        }
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A bool as tensors hold it: 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bool(pub u8);

/// The bits of a half-precision number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(pub u16);

/// The bits of a bfloat16: the upper half of an `f32`'s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(pub u16);

/// Rust types that are element types of tensors.
///
/// # Safety
/// `DTYPE` must be a type with the same size and no invalid bit patterns.
pub unsafe trait Element: Copy {
    const DTYPE: DType;
}

macro_rules! elements {
    ($($type:ty => $dtype:ident),*) => { $(unsafe impl Element for $type { const DTYPE: DType = DType::$dtype; })* };
}
elements!(Bool => BOOL, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
          F16 => F16, Bf16 => BF16, f32 => F32, f64 => F64);

/// A dense row-major input over the caller's memory.
pub struct Tensor<'a> {
    raw: sys::tailor_tensor,
    invalid: Option<String>, // what is wrong with it, which the run reports
    donated: bool,
    memory: PhantomData<&'a mut [u8]>,
}

fn empty_tensor() -> sys::tailor_tensor {
    sys::tailor_tensor {
        struct_size: mem::size_of::<sys::tailor_tensor>() as u64,
        data: ptr::null_mut(),
        data_bytes: 0,
        dtype: 0,
        rank: 0,
        dims: [0; sys::MAX_RANK],
        strides: ptr::null(),
        device: sys::HOST_MEMORY,
    }
}

impl<'a> Tensor<'a> {
    /// The elements of `data` in a tensor of dim sizes `dims`. The run checks them: more than `sys::MAX_RANK` dims, and
    /// dim sizes that do not fit `data` or the input, are INVALID_ARGUMENT.
    pub fn new<T: Element>(data: &'a [T], dims: &[i64]) -> Tensor<'a> {
        let mut raw = empty_tensor();
        raw.data = data.as_ptr() as *mut c_void; // inputs are only read
        raw.data_bytes = mem::size_of_val(data) as u64;
        raw.dtype = T::DTYPE.0;
        let mut invalid = None;
        if dims.len() <= sys::MAX_RANK {
            raw.rank = dims.len() as i32;
            raw.dims[..dims.len()].copy_from_slice(dims);
        } else {
            invalid = Some(format!("it has {} dims, more than {}", dims.len(), sys::MAX_RANK));
        }
        Tensor { raw, invalid, donated: false, memory: PhantomData }
    }

    /// The same for a donated input: runs write to `data`, which then holds the output in its memory
    /// ([`TensorInfo::memory_of`]).
    pub fn donated<T: Element>(data: &'a mut [T], dims: &[i64]) -> Tensor<'a> {
        let pointer = data.as_mut_ptr() as *mut c_void;
        let mut tensor = Tensor::new(data, dims);
        tensor.raw.data = pointer;
        tensor.donated = true;
        tensor
    }
}

/// The name, element type and dim sizes of an input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    pub name: String,
    pub dtype: DType,
    /// Each dim size as text: `B`, `4*S + 1`, `384`.
    pub dims: Vec<String>,
    /// For an input: runs write its memory.
    pub donated: bool,
    /// For an output: the donated input whose memory it is written to.
    pub memory_of: Option<usize>,
}

/// A compiled graph. Clones share it; it may be used from many threads.
pub struct Executable {
    raw: *mut sys::tailor_executable,
}

// SAFETY: executables are immutable and counted by atomics.
unsafe impl Send for Executable {}
unsafe impl Sync for Executable {}

impl Executable {
    /// Writes the artifact; the bytes equal those loaded.
    pub fn save<P: AsRef<Path>>(&self, path: P) -> Result<()> {
        let path = path.as_ref().to_str().ok_or_else(|| invalid("the path is not UTF-8".into()))?;
        // SAFETY: as in load.
        check(unsafe { sys::tailor_executable_save(self.raw, path.as_ptr() as *const c_char, path.len()) })
    }

    pub fn inputs(&self) -> Result<Vec<TensorInfo>> {
        // SAFETY: the handle is live.
        let count = unsafe { sys::tailor_executable_input_count(self.raw) };
        (0..count).map(|i| self.info(i, sys::tailor_executable_input)).collect()
    }

    pub fn outputs(&self) -> Result<Vec<TensorInfo>> {
        // SAFETY: the handle is live.
        let count = unsafe { sys::tailor_executable_output_count(self.raw) };
        (0..count).map(|i| self.info(i, sys::tailor_executable_output)).collect()
    }

    /// A session with `threads` threads, the caller's included.
    pub fn session(&self, threads: u64) -> Result<Session> {
        self.session_with(&SessionOptions { threads, ..Default::default() })
    }

    /// A session with options.
    pub fn session_with(&self, options: &SessionOptions) -> Result<Session> {
        self.make_session(options.to_c(), None)
    }

    /// A session whose kernels run on the caller's executor, in at most `threads` parts: `parallel_for(task, count)` calls
    /// `task(i)` for all `i` below `count`, on any threads, and returns when all have returned. A panic in it propagates
    /// when `run` returns.
    ///
    /// ```no_run
    /// # let executable = tailor::Executable::load("model.tlr")?;
    /// let mut session = executable.session_on(4, |task, count| {
    ///     std::thread::scope(|scope| (0..count).for_each(|i| drop(scope.spawn(move || task(i)))))
    /// })?;
    /// # Ok::<(), tailor::Error>(())
    /// ```
    pub fn session_on<F>(&self, threads: u64, parallel_for: F) -> Result<Session>
    where
        F: Fn(&(dyn Fn(usize) + Sync), usize) + Send + 'static,
    {
        let executor = Box::new(Executor { parallel_for: Box::new(parallel_for), panic: None });
        self.make_session(SessionOptions { threads, ..Default::default() }.to_c(), Some(executor))
    }

    fn make_session(
        &self,
        mut options: sys::tailor_session_options,
        mut executor: Option<Box<Executor>>,
    ) -> Result<Session> {
        // SAFETY: the handle is live; the executor lives as long as the session.
        unsafe {
            if let Some(executor) = executor.as_mut() {
                options.parallel_for = Some(run_parallel_for);
                options.parallel_user = &mut **executor as *mut Executor as *mut c_void;
            }
            let mut raw = ptr::null_mut();
            let donated = self.inputs()?.into_iter().map(|input| (input.name, input.donated)).collect();
            let in_inputs = self.outputs()?.iter().map(|output| output.memory_of.is_some()).collect();
            check(sys::tailor_session_create(self.raw, &options, &mut raw))?;
            Ok(Session { raw, executable: self.clone(), executor, donated, in_inputs })
        }
    }

    fn info(&self, index: usize, read: ReadInfo) -> Result<TensorInfo> {
        // SAFETY: all-zero is a valid tensor_info; its texts live as long as the executable.
        unsafe {
            let mut info: sys::tailor_tensor_info = mem::zeroed();
            info.struct_size = mem::size_of::<sys::tailor_tensor_info>() as u64;
            info.memory_of = -1;
            check(read(self.raw, index, &mut info))?;
            let dims = info.dim_texts[..info.rank as usize].iter().map(|&dim| text(dim)).collect();
            let memory_of = if info.memory_of < 0 { None } else { Some(info.memory_of as usize) };
            let donated = info.donated != 0;
            Ok(TensorInfo { name: text(info.name), dtype: DType(info.dtype), dims, donated, memory_of })
        }
    }
}

type ReadInfo = unsafe extern "C" fn(
    *const sys::tailor_executable,
    usize,
    *mut sys::tailor_tensor_info,
) -> *mut sys::tailor_status;

impl Clone for Executable {
    fn clone(&self) -> Executable {
        // SAFETY: the handle is live.
        unsafe { sys::tailor_executable_retain(self.raw) };
        Executable { raw: self.raw }
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: each Executable owns one reference.
        unsafe { sys::tailor_executable_release(self.raw) };
    }
}

type ParallelFor = Box<dyn Fn(&(dyn Fn(usize) + Sync), usize) + Send>;

/// The caller's executor, and the value that it panicked with.
struct Executor {
    parallel_for: ParallelFor,
    panic: Option<Box<dyn Any + Send>>,
}

/// The task of one kernel; may be called from all threads at once.
struct Task {
    function: sys::Task,
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

unsafe extern "C" fn run_parallel_for(user: *mut c_void, function: sys::Task, data: *mut c_void, count: usize) {
    let executor = &mut *(user as *mut Executor);
    let task = Task { function, data };
    let run = AssertUnwindSafe(|| (executor.parallel_for)(&|index| task.call(index), count));
    if let Err(panic) = catch_unwind(run) {
        executor.panic = Some(panic);
    }
}

/// Workspace and threads for one stream of runs; one run at a time.
pub struct Session {
    raw: *mut sys::tailor_session,
    executable: Executable,
    executor: Option<Box<Executor>>,
    donated: Vec<(String, bool)>, // by input, with its name
    in_inputs: Vec<bool>,         // by output
}

// SAFETY: a session may be used from any thread, one at a time.
unsafe impl Send for Session {}

impl Session {
    /// Runs once. The outputs are the session's memory, which they borrow until they are dropped; an output in the memory of
    /// a donated input is in that input's slice.
    pub fn run(&mut self, inputs: &[Tensor<'_>]) -> Result<Outputs<'_>> {
        let raw = self.ask(inputs)?;
        self.wait()?;
        Ok(Outputs { raw, in_inputs: self.in_inputs.clone(), session: PhantomData })
    }

    /// Random operators of later runs compute from `seed`, and the runs are numbered from 0: equal seeds and numbers give equal
    /// results. Without a seed it is one that was drawn when the executable was loaded.
    pub fn set_seed(&mut self, seed: u64) -> Result<()> {
        // SAFETY: the session is ours.
        check(unsafe { sys::tailor_session_set_seed(self.raw, seed) })
    }

    fn wait(&mut self) -> Result<()> {
        // SAFETY: the session is ours.
        check(unsafe { sys::tailor_session_wait(self.raw) })
    }

    /// Begins a run; its outputs are complete when it has ended.
    fn ask(&mut self, inputs: &[Tensor<'_>]) -> Result<Vec<sys::tailor_tensor>> {
        for (tensor, (name, donated)) in inputs.iter().zip(&self.donated) {
            if *donated && !tensor.donated {
                return Err(invalid(format!("input \"{}\" is donated: make it with Tensor::donated", name)));
            }
        }
        for (index, tensor) in inputs.iter().enumerate() {
            if let Some(reason) = &tensor.invalid {
                let name = self.donated.get(index).map_or("", |(name, _)| name);
                return Err(invalid(format!("input {} \"{}\": {}", index, name, reason)));
            }
        }
        let raw: Vec<sys::tailor_tensor> = inputs.iter().map(|tensor| tensor.raw).collect();
        // SAFETY: the caller borrows the inputs' memory until the run has ended; handles are live.
        unsafe {
            let count = sys::tailor_executable_output_count(self.executable.raw);
            let mut outputs: Vec<sys::tailor_tensor> = vec![empty_tensor(); count];
            let status = sys::tailor_session_run(self.raw, raw.as_ptr(), raw.len(), outputs.as_mut_ptr(), count);
            if let Some(panic) = self.executor.as_mut().and_then(|executor| executor.panic.take()) {
                sys::tailor_status_release(status);
                resume_unwind(panic);
            }
            if let Err(error) = check(status) {
                let _ = self.wait(); // for work of the device that was enqueued before
                return Err(error);
            }
            Ok(outputs)
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: the session is ours.
        unsafe { sys::tailor_session_release(self.raw) };
    }
}

/// The outputs of one run.
pub struct Outputs<'a> {
    raw: Vec<sys::tailor_tensor>,
    in_inputs: Vec<bool>,
    session: PhantomData<&'a mut Session>,
}

impl<'a> Outputs<'a> {
    pub fn len(&self) -> usize {
        self.raw.len()
    }

    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// The dim sizes of output `index`; INVALID_ARGUMENT if there is none.
    pub fn dims(&self, index: usize) -> Result<&[i64]> {
        let tensor = self.tensor(index)?;
        Ok(&tensor.dims[..tensor.rank as usize])
    }

    /// The address of output `index` in the device's memory, `None` if it is in host memory; INVALID_ARGUMENT if there is no
    /// such output.
    pub fn device_address(&self, index: usize) -> Result<Option<*mut c_void>> {
        let tensor = self.tensor(index)?;
        Ok(if tensor.device == sys::DEVICE_MEMORY { Some(tensor.data) } else { None })
    }

    fn tensor(&self, index: usize) -> Result<&sys::tailor_tensor> {
        self.raw.get(index).ok_or_else(|| invalid(format!("there is no output {}", index)))
    }

    /// The elements of output `index`; INVALID_ARGUMENT if it has another type, or is in an input's slice or on the
    /// device.
    pub fn get<T: Element>(&self, index: usize) -> Result<&[T]> {
        let tensor = self.tensor(index)?;
        if self.in_inputs[index] {
            return Err(invalid(format!("output {} is in the memory of a donated input: read it there", index)));
        }
        if tensor.device != sys::HOST_MEMORY {
            return Err(invalid(format!("output {} is in the device's memory: see device_address", index)));
        }
        if tensor.dtype != T::DTYPE.0 {
            return Err(invalid(format!("output {} is {}, not {}", index, DType(tensor.dtype), T::DTYPE)));
        }
        let count = self.dims(index)?.iter().product::<i64>() as usize;
        if count == 0 {
            return Ok(&[]);
        }
        // SAFETY: the library filled the struct with memory of that many elements, the session's until its
        // next run, which `self` outlives no longer than its borrow.
        Ok(unsafe { std::slice::from_raw_parts(tensor.data as *const T, count) })
    }
}

/// The runtime library's version, "0.1.0".
pub fn version() -> String {
    // SAFETY: a static text.
    unsafe { text(sys::tailor_version()) }
}

/// The level of this machine's CPU, and the CPU features that the runtime library can and cannot use: one line.
pub fn cpu_features() -> String {
    // SAFETY: a static text.
    unsafe { text(sys::tailor_cpu_features()) }
}
