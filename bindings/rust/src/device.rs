//! Devices of executables, and options of sessions on them.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem;
use std::ptr;

use crate::{check, sys, Element, Outputs, Result, Session, Tensor};

/// The device that an executable runs on. No other device is taken in its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    #[default]
    Cpu,
    /// The GPU of this number.
    Cuda(i32),
}

impl Device {
    /// Kind and ordinal, as in the C options.
    pub(crate) fn numbers(self) -> (i32, i32) {
        match self {
            Device::Cpu => (0, 0),
            Device::Cuda(ordinal) => (1, ordinal),
        }
    }
}

/// A `CUstream` of the host program.
#[derive(Clone, Copy, Debug)]
pub struct Stream(*mut c_void);

impl Stream {
    /// # Safety
    /// `stream` is one of the device's primary context, and outlives the sessions that work in it.
    pub unsafe fn from_raw(stream: *mut c_void) -> Stream {
        Stream(stream)
    }
}

/// The options of a session. `SessionOptions { cuda_graph: true, ..Default::default() }`.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// Threads, the caller's included; 0: only the caller's.
    pub threads: u64,
    /// On a GPU: the stream for all work; none: the session makes one.
    pub stream: Option<Stream>,
    /// On a GPU: [`Session::start`] returns once the work is enqueued.
    pub asynchronous: bool,
    /// On a GPU: outputs stay in its memory ([`Outputs::device_address`]).
    pub device_outputs: bool,
    /// On a GPU: the kernels of a run are launched as one CUDA graph.
    pub cuda_graph: bool,
}

impl SessionOptions {
    pub(crate) fn to_c(&self) -> sys::tailor_session_options {
        // SAFETY: all-zero are the defaults.
        let mut options: sys::tailor_session_options = unsafe { mem::zeroed() };
        options.struct_size = mem::size_of::<sys::tailor_session_options>() as u64;
        options.threads = self.threads;
        options.stream = self.stream.map_or(ptr::null_mut(), |stream| stream.0);
        options.asynchronous = self.asynchronous.into();
        options.host_outputs = (!self.device_outputs).into();
        options.cuda_graph = self.cuda_graph.into();
        options
    }
}

impl<'a> Tensor<'a> {
    /// An input of `count` elements in the device's memory.
    ///
    /// # Safety
    /// The memory must not change while runs use it; runs write the memory of a donated input.
    pub unsafe fn on_device<T: Element>(address: *mut T, count: usize, dims: &[i64]) -> Tensor<'a> {
        let mut tensor = Tensor::new::<u8>(&[], dims);
        tensor.raw.dtype = T::DTYPE.0;
        tensor.raw.data = address as *mut c_void;
        match count.checked_mul(mem::size_of::<T>()) {
            Some(bytes) => tensor.raw.data_bytes = bytes as u64,
            None => tensor.invalid = Some(format!("{} elements of {} are more bytes than there can be", count, T::DTYPE)),
        }
        tensor.raw.device = sys::DEVICE_MEMORY;
        tensor.donated = true;
        tensor
    }
}

/// A run that may be in progress. Dropping it waits for its end.
pub struct Running<'a> {
    session: &'a mut Session,
    outputs: Vec<sys::tailor_tensor>,
    inputs: PhantomData<&'a [Tensor<'a>]>,
}

impl Session {
    /// Begins a run, with inputs as for [`run`](Session::run). It has already ended if the session is not asynchronous.
    pub fn start<'a>(&'a mut self, inputs: &'a [Tensor<'a>]) -> Result<Running<'a>> {
        let outputs = self.ask(inputs)?;
        Ok(Running { session: self, outputs, inputs: PhantomData })
    }

    /// The session's `CUstream`; null on the CPU.
    pub fn stream(&self) -> *mut c_void {
        // SAFETY: the session is ours.
        unsafe { sys::tailor_session_stream(self.raw) }
    }
}

impl<'a> Running<'a> {
    /// Whether it has ended. Its error is reported once.
    pub fn poll(&mut self) -> Result<bool> {
        let mut done = 0;
        // SAFETY: the session is live.
        check(unsafe { sys::tailor_session_poll(self.session.raw, &mut done) })?;
        Ok(done != 0)
    }

    /// Returns when it has ended.
    pub fn wait(mut self) -> Result<Outputs<'a>> {
        self.session.wait()?;
        let in_inputs = self.session.in_inputs.clone();
        Ok(Outputs { raw: mem::take(&mut self.outputs), in_inputs, session: PhantomData })
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let _ = self.session.wait(); // callers that want its error call wait or poll
    }
}
