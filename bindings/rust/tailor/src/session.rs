//! Sessions: workspace and threads for streams of runs.

use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::executable::finish_into;
use crate::host::{self, run_parallel_for, ParallelFor, Shared};
use crate::outputs::no_output;
use crate::running::WaitOnDrop;
use crate::tensor::InUse;
use crate::{check, invalid, sys, Element, Executable, InProgress, Outputs, Result, Running};
use crate::{TakenTensor, Tensor, TensorMut, TensorView};

/// A `CUstream` of the host program.
#[derive(Clone, Copy, Debug)]
pub struct Stream(*mut c_void);

// SAFETY: streams may be used from any thread.
unsafe impl Send for Stream {}
unsafe impl Sync for Stream {}

impl Stream {
    /// A stream of the CUDA driver.
    ///
    /// # Safety
    /// `stream` is one of the device's primary context, and outlives the sessions that work in it and the
    /// [`TakenTensor`]s of these.
    pub unsafe fn from_raw(stream: *mut c_void) -> Stream {
        Stream(stream)
    }
}

/// A kernel launch that has ended, or the run that launched it: see [`SessionOptions::trace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceEvent {
    /// The index of the launch in [`Executable::launches`]; `None`: the run, which comes after its launches.
    pub launch: Option<usize>,
    /// The version of the kernel, by its index there; `None`: data-dependent, or the run.
    pub version: Option<u32>,
    /// When it began, in nanoseconds of `CLOCK_MONOTONIC`. On a GPU the times are those of enqueueing the kernel.
    pub begin_ns: i64,
    /// When it ended.
    pub end_ns: i64,
}

impl TraceEvent {
    /// How long it took.
    pub fn duration(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.end_ns.saturating_sub(self.begin_ns)).unwrap_or(0))
    }
}

/// The closure of [`SessionOptions::trace`].
pub type Trace = Box<dyn FnMut(TraceEvent) + Send>;

/// The options of a session. `SessionOptions { threads: 4, ..Default::default() }`.
#[derive(Default)]
pub struct SessionOptions {
    /// Threads, the caller's included; 0: [`RuntimeOptions::parallel_threads`](crate::RuntimeOptions::parallel_threads).
    pub threads: u64,
    /// The executor that runs kernels, in at most `threads` parts, instead of threads of the library: `parallel_for(task,
    /// count)` calls `task(i)` for all `i` below `count`, on any threads, and returns when all have returned. A panic in it
    /// propagates when the run returns.
    pub parallel_for: Option<ParallelFor>,
    /// Called on the thread of the run after each kernel launch, and after the run. A panic in it propagates when the run
    /// returns.
    pub trace: Option<Trace>,
    /// Runs that take longer are interrupted, and return [`DeadlineExceeded`](crate::ErrorCode::DeadlineExceeded): see
    /// [`Session::set_timeout`].
    pub timeout: Option<Duration>,
    /// The library's threads sleep between kernels; otherwise they spin for about 1 ms first.
    pub idle_sleep: bool,
    /// On a GPU: the stream for all work; none: the session makes one.
    pub stream: Option<Stream>,
    /// On a GPU: [`Session::start`] returns once the work is enqueued.
    pub asynchronous: bool,
    /// On a GPU: outputs stay in its memory ([`TensorView::device_address`]).
    pub device_outputs: bool,
    /// On a GPU: the kernels of a run are launched as one CUDA graph.
    pub cuda_graph: bool,
}

impl fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOptions").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl SessionOptions {
    fn to_c(&self) -> sys::tailor_session_options {
        sys::tailor_session_options {
            threads: self.threads,
            idle_sleep: self.idle_sleep.into(),
            stream: self.stream.map_or(ptr::null_mut(), |stream| stream.0),
            asynchronous: self.asynchronous.into(),
            host_outputs: (!self.device_outputs).into(),
            cuda_graph: self.cuda_graph.into(),
            timeout_ns: nanoseconds(self.timeout),
            ..Default::default()
        }
    }
}

/// 0: none.
fn nanoseconds(timeout: Option<Duration>) -> i64 {
    timeout.map_or(0, |timeout| i64::try_from(timeout.as_nanos().max(1)).unwrap_or(i64::MAX))
}

unsafe extern "C" fn trace(user: *mut c_void, event: *const sys::tailor_trace_event) {
    // SAFETY: the event is valid, and `user` the closure of the session's options, which one run at a time uses.
    let (trace, event) = (&mut *(user as *mut Trace), &*event);
    let (launch, version) = (usize::try_from(event.launch).ok(), u32::try_from(event.version).ok());
    let event = TraceEvent { launch, version, begin_ns: event.begin_ns, end_ns: event.end_ns };
    host::keep_panic((), || trace(event));
}

/// The C session, and what it calls.
struct SessionHandle {
    raw: *mut sys::tailor_session,
    _parallel_for: Option<Shared<ParallelFor>>,
    _trace: Option<Shared<Trace>>,
    executable: Executable, // with the runtime, whose allocator frees the session's memory
}

// SAFETY: only a Session, which is not Sync, runs it; other threads cancel its runs, which the library allows. The closures
// are Send, and only runs call them.
unsafe impl Send for SessionHandle {}
unsafe impl Sync for SessionHandle {}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        // SAFETY: the session is ours.
        unsafe { sys::tailor_session_release(self.raw) };
    }
}

/// Workspace and threads for one stream of runs; one run at a time. It may move between threads.
pub struct Session {
    handle: Arc<SessionHandle>,
    one_thread: PhantomData<Cell<()>>, // not Sync
}

/// Cancels the runs of a session from any thread ([`Session::canceller`]).
#[derive(Clone)]
pub struct Canceller {
    session: Weak<SessionHandle>,
}

impl Canceller {
    /// Cancels the run in progress, or else the next one: it returns [`Cancelled`](crate::ErrorCode::Cancelled). On a CPU the
    /// run ends within a few milliseconds; calls of custom operators and of the caller's executor are completed first. The
    /// session stays usable. Nothing happens if the session is gone.
    pub fn cancel(&self) {
        self.with(sys::tailor_session_cancel);
    }

    /// Takes back a [`cancel`](Canceller::cancel) that has found no run.
    pub fn uncancel(&self) {
        self.with(sys::tailor_session_uncancel);
    }

    fn with(&self, function: unsafe extern "C" fn(*const sys::tailor_session) -> *mut sys::tailor_status) {
        if let Some(session) = self.session.upgrade() {
            // SAFETY: the session is live.
            let status = check(unsafe { function(session.raw) });
            debug_assert!(status.is_ok(), "a live session can be cancelled");
        }
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceller").finish_non_exhaustive()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("executable", &self.handle.executable).finish_non_exhaustive()
    }
}

impl Session {
    pub(crate) fn create(executable: &Executable, options: SessionOptions) -> Result<Session> {
        let mut given = options.to_c();
        let parallel_for = options.parallel_for.map(Shared::new);
        let traced = options.trace.map(Shared::new);
        if let Some(parallel_for) = &parallel_for {
            given.parallel_for = Some(run_parallel_for);
            given.parallel_user = parallel_for.user();
        }
        if let Some(traced) = &traced {
            given.trace = Some(trace);
            given.trace_user = traced.user();
        }
        let mut raw = ptr::null_mut();
        // SAFETY: the executable is live; the closures live as long as the session.
        check(unsafe { sys::tailor_session_create(executable.raw(), &given, &mut raw) })?;
        let executable = executable.clone();
        let handle = SessionHandle { raw, _parallel_for: parallel_for, _trace: traced, executable };
        Ok(Session { handle: Arc::new(handle), one_thread: PhantomData })
    }

    /// The executable that it runs.
    pub fn executable(&self) -> &Executable {
        &self.handle.executable
    }

    /// Runs once. The outputs are the session's memory, which they borrow until they are dropped; an output in the memory of
    /// a donated input is in that input's slice.
    pub fn run(&mut self, inputs: &[Tensor<'_>]) -> Result<Outputs<'_>> {
        let _in_use = InUse::take(inputs)?;
        let raw = self.enqueue(inputs)?;
        self.wait()?;
        Ok(self.outputs(raw))
    }

    /// Runs once, and takes the outputs out of the session: they outlive its next run, and may be inputs of it. Later runs
    /// use their memory again once they are dropped, so that a cache that grows costs no copy, and hardly ever new memory.
    /// INVALID_ARGUMENT if an output is in the memory of a donated input.
    ///
    /// ```no_run
    /// # let executable = tailor::Executable::load("model.tlr")?;
    /// # let mut session = executable.session(1)?;
    /// use tailor::Tensor;
    ///
    /// let mut state = session.run_owned(&[Tensor::new(&[0.0f32; 4], &[1, 4])])?;
    /// for _ in 0..10 {
    ///     state = session.run_owned(&[Tensor::from(&state[0])])?;
    /// }
    /// # Ok::<(), tailor::Error>(())
    /// ```
    pub fn run_owned(&mut self, inputs: &[Tensor<'_>]) -> Result<Vec<TakenTensor>> {
        if let Some(output) = self.handle.executable.outputs().iter().find(|output| output.memory_of.is_some()) {
            return Err(invalid(format!("output {:?} is in the memory of a donated input: see run", output.name)));
        }
        let _in_use = InUse::take(inputs)?;
        let raw = self.enqueue(inputs)?;
        self.wait()?;
        let taken = |(index, raw): (usize, sys::tailor_tensor)| {
            let mut memory = ptr::null_mut();
            // SAFETY: the session is live, and its last run provided all outputs.
            unsafe {
                check(sys::tailor_session_take_output(self.handle.raw, index, ptr::null_mut(), &mut memory))?;
                Ok(TakenTensor::new(raw, index, memory, &self.handle.executable))
            }
        };
        raw.into_iter().enumerate().map(taken).collect()
    }

    /// Runs once, with outputs in memory of the caller. -1 among their dim sizes, and those of [`TensorMut::open`], are
    /// filled in.
    ///
    /// ```no_run
    /// # let executable = tailor::Executable::load("model.tlr")?;
    /// # let mut session = executable.session(1)?;
    /// use tailor::{Tensor, TensorMut};
    ///
    /// let (x, mut y) = ([1.0f32; 12], [0.0f32; 12]);
    /// session.run_into(&[Tensor::new(&x, &[3, 4])], &mut [TensorMut::new(&mut y, &[3, 4])])?;
    /// # Ok::<(), tailor::Error>(())
    /// ```
    pub fn run_into(&mut self, inputs: &[Tensor<'_>], outputs: &mut [TensorMut<'_>]) -> Result<()> {
        let _in_use = InUse::take(inputs)?;
        let raw = self.handle.executable.raw_inputs(inputs, true)?;
        let mut written = self.handle.executable.raw_outputs(outputs)?;
        // SAFETY: handles are live; inputs and outputs are borrowed until the run has ended.
        let status = unsafe {
            let (outputs, count) = (written.as_mut_ptr(), written.len());
            let status = sys::tailor_session_run(self.handle.raw, raw.as_ptr(), raw.len(), outputs, count);
            self.waited(status)
        };
        finish_into(status, outputs, &written)
    }

    /// Binds memory for runs that all use the same: the fastest way to run.
    ///
    /// ```no_run
    /// # let executable = tailor::Executable::load("model.tlr")?;
    /// # let mut session = executable.session(1)?;
    /// use tailor::TensorMut;
    ///
    /// let (mut x, mut y) = ([0.0f32; 12], [0.0f32; 12]);
    /// let inputs = vec![TensorMut::new(&mut x, &[3, 4])];
    /// let mut bound = session.bind(inputs, vec![TensorMut::new(&mut y, &[3, 4])])?;
    /// for step in 0..100 {
    ///     bound.input::<f32>(0)?.fill(step as f32);
    ///     bound.run()?;
    ///     println!("{:?}", bound.output::<f32>(0)?);
    /// }
    /// # Ok::<(), tailor::Error>(())
    /// ```
    pub fn bind<'a>(
        &'a mut self,
        inputs: Vec<TensorMut<'a>>,
        outputs: Vec<TensorMut<'a>>,
    ) -> Result<Bound<'a>> {
        let given = self.raw_bound_inputs(&inputs)?;
        let mut written = self.handle.executable.raw_outputs(&outputs)?;
        for (output, info) in written.iter_mut().zip(self.handle.executable.outputs()) {
            if let (true, Some(input)) = (output.data.is_null(), info.memory_of.and_then(|i| given.get(i))) {
                *output = *input;
            }
        }
        // SAFETY: the memory is borrowed as long as the result lives, and nothing else runs the session with it.
        check(unsafe {
            let (outputs, count) = (written.as_ptr(), written.len());
            sys::tailor_session_bind(self.handle.raw, given.as_ptr(), given.len(), outputs, count)
        })?;
        Ok(Bound { session: self, inputs, outputs })
    }

    /// Begins a run, with inputs as for [`run`](Session::run). It has already ended if the session is not asynchronous.
    ///
    /// # Safety
    /// The result must not be forgotten ([`std::mem::forget`]): dropping it waits for the run, which uses the inputs.
    /// [`run_while`](Session::run_while) is safe.
    pub unsafe fn start<'a>(&'a mut self, inputs: &'a [Tensor<'a>]) -> Result<Running<'a>> {
        let in_use = InUse::take(inputs)?;
        let outputs = self.enqueue(inputs)?;
        Ok(Running { session: Some(self), outputs, _in_use: in_use })
    }

    /// Runs once, and calls `meanwhile` while the device works, if the session is asynchronous.
    pub fn run_while<R>(
        &mut self,
        inputs: &[Tensor<'_>],
        meanwhile: impl FnOnce(&mut InProgress<'_>) -> R,
    ) -> Result<(Outputs<'_>, R)> {
        let _in_use = InUse::take(inputs)?;
        let raw = self.enqueue(inputs)?;
        let wait = WaitOnDrop(self); // also if `meanwhile` panics
        let result = meanwhile(&mut InProgress { session: wait.0 });
        drop(wait);
        self.wait()?;
        Ok((self.outputs(raw), result))
    }

    /// Grows the workspace to what a run with inputs of these shapes takes, without running. Their elements are not read.
    pub fn reserve(&mut self, inputs: &[Tensor<'_>]) -> Result<()> {
        let raw = self.handle.executable.raw_inputs(inputs, false)?;
        // SAFETY: the session is ours, and inputs are valid.
        check(unsafe { sys::tailor_session_reserve(self.handle.raw, raw.as_ptr(), raw.len()) })
    }

    /// Frees the memory that the session holds between runs; the next run allocates again.
    pub fn trim(&mut self) -> Result<()> {
        // SAFETY: the session is ours, and no outputs of it are left.
        check(unsafe { sys::tailor_session_trim(self.handle.raw) })
    }

    /// What cancels runs of this session.
    ///
    /// ```no_run
    /// # let executable = tailor::Executable::load("model.tlr")?;
    /// # let x = [0.0f32; 4];
    /// let mut session = executable.session(4)?;
    /// let canceller = session.canceller();
    /// std::thread::spawn(move || {
    ///     std::thread::sleep(std::time::Duration::from_secs(1));
    ///     canceller.cancel();
    /// });
    /// match session.run(&[(&x).into()]) {
    ///     Err(error) if error.code == tailor::ErrorCode::Cancelled => println!("after a second"),
    ///     result => println!("{:?}", result?),
    /// }
    /// # Ok::<(), tailor::Error>(())
    /// ```
    pub fn canceller(&self) -> Canceller {
        Canceller { session: Arc::downgrade(&self.handle) }
    }

    /// Later runs that take longer are interrupted as cancelled ones are, and return
    /// [`DeadlineExceeded`](crate::ErrorCode::DeadlineExceeded); `None`: no limit.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        // SAFETY: the session is ours.
        check(unsafe { sys::tailor_session_set_timeout(self.handle.raw, nanoseconds(timeout)) })
    }

    /// Random operators of later runs compute from `seed`, and the runs are numbered from 0: equal seeds and numbers give equal
    /// results. Without a seed it is one that was drawn when the executable was loaded.
    pub fn set_seed(&mut self, seed: u64) -> Result<()> {
        // SAFETY: the session is ours.
        check(unsafe { sys::tailor_session_set_seed(self.handle.raw, seed) })
    }

    /// The session's `CUstream`; null on the CPU.
    pub fn stream(&self) -> *mut c_void {
        // SAFETY: the session is ours.
        unsafe { sys::tailor_session_stream(self.handle.raw) }
    }

    pub(crate) fn poll(&mut self) -> Result<bool> {
        let mut done = 0;
        // SAFETY: the session is live.
        check(unsafe { sys::tailor_session_poll(self.handle.raw, &mut done) })?;
        Ok(done != 0)
    }

    pub(crate) fn wait(&mut self) -> Result<()> {
        // SAFETY: the session is ours.
        check(unsafe { sys::tailor_session_wait(self.handle.raw) })
    }

    /// `status` of a run once all work of the device has ended; that of the work if the run had none.
    fn waited(&mut self, status: *mut sys::tailor_status) -> *mut sys::tailor_status {
        // SAFETY: the session and the statuses are ours.
        unsafe {
            let end = sys::tailor_session_wait(self.handle.raw);
            if status.is_null() {
                return end;
            }
            sys::tailor_status_release(end);
        }
        status
    }

    /// Begins a run; its outputs are complete when it has ended.
    fn enqueue(&mut self, inputs: &[Tensor<'_>]) -> Result<Vec<sys::tailor_tensor>> {
        let raw = self.handle.executable.raw_inputs(inputs, true)?;
        let mut outputs = vec![sys::tailor_tensor::default(); self.handle.executable.outputs().len()];
        // SAFETY: the caller borrows the inputs' memory until the run has ended; handles are live.
        let status = unsafe {
            let (outputs, count) = (outputs.as_mut_ptr(), outputs.len());
            sys::tailor_session_run(self.handle.raw, raw.as_ptr(), raw.len(), outputs, count)
        };
        let result = check(status);
        if result.is_err() {
            let _ = self.wait(); // for work of the device that was enqueued before
        }
        host::resume();
        result.map(|()| outputs)
    }

    pub(crate) fn outputs(&self, raw: Vec<sys::tailor_tensor>) -> Outputs<'_> {
        let view = |(index, raw): (usize, sys::tailor_tensor)| {
            let in_input = self.handle.executable.outputs()[index].memory_of.is_some();
            TensorView { raw, index, in_input, session: PhantomData }
        };
        Outputs { views: raw.into_iter().enumerate().map(view).collect(), executable: &self.handle.executable }
    }

    fn raw_bound_inputs(&self, inputs: &[TensorMut<'_>]) -> Result<Vec<sys::tailor_tensor>> {
        let infos = self.handle.executable.inputs();
        for (index, input) in inputs.iter().enumerate() {
            if let Some(reason) = &input.invalid {
                let name = infos.get(index).map_or("", |info| info.name.as_str());
                return Err(invalid(format!("input {} \"{}\": {}", index, name, reason)));
            }
        }
        Ok(inputs.iter().map(|input| input.raw).collect())
    }
}

/// A session whose runs use the memory that was bound to it ([`Session::bind`]).
#[derive(Debug)]
pub struct Bound<'a> {
    session: &'a mut Session,
    inputs: Vec<TensorMut<'a>>,
    outputs: Vec<TensorMut<'a>>,
}

impl Bound<'_> {
    /// Runs once.
    pub fn run(&mut self) -> Result<()> {
        // SAFETY: the session is live, and so is the bound memory.
        let status = unsafe { sys::tailor_session_run_bound(self.session.handle.raw) };
        let result = check(self.session.waited(status));
        host::resume();
        result
    }

    /// The elements of input `index`, to be changed between runs; INVALID_ARGUMENT for another type, and if there is none.
    pub fn input<T: Element>(&mut self, index: usize) -> Result<&mut [T]> {
        let none = || invalid(format!("there is no input {}", index));
        self.inputs.get_mut(index).ok_or_else(none)?.as_mut_slice()
    }

    /// The elements of output `index` after a run. An output in the memory of a donated input is that input.
    pub fn output<T: Element>(&self, index: usize) -> Result<&[T]> {
        self.outputs.get(index).ok_or_else(|| no_output(index))?.as_slice()
    }
}
