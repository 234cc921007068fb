//! Executables, and what there is to know of them.

use std::ffi::c_void;
use std::fmt;
use std::mem;
use std::os::raw::c_char;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use crate::error::text;
use crate::host;
use crate::tensor::InUse;
use crate::{check, invalid, sys, DType, ExecutableCounters, Result, Session, SessionOptions, Tensor, TensorMut, MAX_RANK};

/// The name, element type and dim sizes of an input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Each dim size as text: `B`, `4*S + 1`, `384`.
    pub dims: Vec<String>,
    /// For an input: runs write its memory.
    pub donated: bool,
    /// For an output: the donated input whose memory it is written to.
    pub memory_of: Option<usize>,
}

/// A symbol of the inputs' dim sizes, and the range that runs check.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SymbolInfo {
    /// Its name.
    pub name: String,
    /// Its least value.
    pub min: i64,
    /// Its greatest value.
    pub max: i64,
    /// Its values are multiples of this number.
    pub multiple_of: i64,
}

/// One kernel launch of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchInfo {
    /// The kernel's name.
    pub kernel: String,
    /// The number of versions, of which a run uses one.
    pub versions: u64,
    /// The versions that were left out, due to the bounds on code.
    pub dropped: u64,
    /// The index of the kernel: launches of equal kernels share code.
    pub code: u64,
    /// The bytes of machine code of all versions; 0 if the artifact does not record it.
    pub code_bytes: u64,
}

/// What a run at some input shapes takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// The dim sizes of each output; `None`: data-dependent.
    pub outputs: Vec<Vec<Option<i64>>>,
    /// The memory of a session beyond inputs and outputs.
    pub workspace_bytes: u64,
    /// Some dim sizes are data-dependent: runs allocate more as needed.
    pub data_dependent: bool,
    /// The distinct kernels.
    pub kernels: u64,
    /// The versions of all kernels.
    pub versions: u64,
    /// The bytes of code, kernels and all.
    pub code_bytes: u64,
    /// The version that each launch uses; `None`: data-dependent.
    pub chosen: Vec<Option<u32>>,
    /// On a GPU: runs wait midway for values that steer them.
    pub reads_back: bool,
}

/// A compiled graph. Clones share it; it may be used from many threads at once.
#[derive(Clone)]
pub struct Executable {
    pub(crate) handle: Arc<ExecutableHandle>,
}

pub(crate) struct ExecutableHandle {
    pub(crate) raw: *mut sys::tailor_executable,
    inputs: Vec<TensorInfo>,
    outputs: Vec<TensorInfo>,
}

// SAFETY: executables are immutable.
unsafe impl Send for ExecutableHandle {}
unsafe impl Sync for ExecutableHandle {}

impl Drop for ExecutableHandle {
    fn drop(&mut self) {
        // SAFETY: the handle owns one reference.
        unsafe { sys::tailor_executable_release(self.raw) };
    }
}

impl Executable {
    /// Takes over an executable.
    ///
    /// # Safety
    /// It is live.
    pub(crate) unsafe fn of(raw: *mut sys::tailor_executable) -> Result<Executable> {
        let mut handle = ExecutableHandle { raw, inputs: Vec::new(), outputs: Vec::new() };
        let infos = |count, read: ReadInfo| (0..count).map(|index| info(raw, index, read)).collect::<Result<Vec<_>>>();
        handle.inputs = infos(sys::tailor_executable_input_count(raw), sys::tailor_executable_input)?;
        handle.outputs = infos(sys::tailor_executable_output_count(raw), sys::tailor_executable_output)?;
        Ok(Executable { handle: Arc::new(handle) })
    }

    /// Writes the artifact; the bytes equal those loaded.
    pub fn save<P: AsRef<Path>>(&self, path: P) -> Result<()> {
        let path = utf8(path.as_ref())?;
        // SAFETY, here and below: the handle is live, and arguments are valid for the call.
        check(unsafe { sys::tailor_executable_save(self.raw(), path.as_ptr() as *const c_char, path.len()) })
    }

    /// The artifact's bytes, as [`from_bytes`](Executable::from_bytes) takes them.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut size = 0;
        check(unsafe { sys::tailor_executable_save_memory(self.raw(), ptr::null_mut(), 0, &mut size) })?;
        let mut bytes = vec![0u8; size];
        let data = bytes.as_mut_ptr() as *mut c_void;
        check(unsafe { sys::tailor_executable_save_memory(self.raw(), data, size, &mut size) })?;
        Ok(bytes)
    }

    /// The inputs that runs take, in order.
    pub fn inputs(&self) -> &[TensorInfo] {
        &self.handle.inputs
    }

    /// The outputs that runs give, in order.
    pub fn outputs(&self) -> &[TensorInfo] {
        &self.handle.outputs
    }

    /// The symbols of the inputs' dim sizes.
    pub fn symbols(&self) -> Result<Vec<SymbolInfo>> {
        let read = |index| unsafe {
            let mut info = sys::tailor_symbol_info::default();
            check(sys::tailor_executable_symbol(self.raw(), index, &mut info))?;
            let sys::tailor_symbol_info { min, max, multiple_of, .. } = info;
            Ok(SymbolInfo { name: text(info.name), min, max, multiple_of })
        };
        (0..unsafe { sys::tailor_executable_symbol_count(self.raw()) }).map(read).collect()
    }

    /// The kernel launches of the program, in order.
    pub fn launches(&self) -> Result<Vec<LaunchInfo>> {
        let read = |index| unsafe {
            let mut info = sys::tailor_launch_info::default();
            check(sys::tailor_executable_launch(self.raw(), index, &mut info))?;
            let sys::tailor_launch_info { versions, dropped, code, code_bytes, .. } = info;
            Ok(LaunchInfo { kernel: text(info.kernel), versions, dropped, code, code_bytes })
        };
        (0..unsafe { sys::tailor_executable_launch_count(self.raw()) }).map(read).collect()
    }

    /// A description of the program as JSON: symbols, signature, facts, launches, variants, sizes.
    pub fn describe(&self) -> Result<String> {
        let mut json = ptr::null();
        unsafe {
            check(sys::tailor_executable_describe(self.raw(), &mut json))?;
            Ok(text(json))
        }
    }

    /// What a run with inputs of these shapes takes in a session with `threads` threads. Their elements are not read; errors
    /// are those of such a run.
    pub fn plan(&self, inputs: &[Tensor<'_>], threads: u64) -> Result<Plan> {
        let raw = self.raw_inputs(inputs, false)?;
        let mut outputs = vec![sys::tailor_tensor::default(); self.outputs().len()];
        let mut chosen = vec![-1; unsafe { sys::tailor_executable_launch_count(self.raw()) }];
        let mut info = sys::tailor_plan_info { threads, chosen: chosen.as_mut_ptr(), ..Default::default() };
        check(unsafe {
            let (outputs, count) = (outputs.as_mut_ptr(), outputs.len());
            sys::tailor_executable_plan(self.raw(), raw.as_ptr(), raw.len(), outputs, count, &mut info)
        })?;
        let known = |&dim: &i64| if dim < 0 { None } else { Some(dim) };
        let shape = |output: &sys::tailor_tensor| output.dims[..output.rank as usize].iter().map(known).collect();
        Ok(Plan {
            outputs: outputs.iter().map(shape).collect(),
            workspace_bytes: info.workspace_bytes,
            data_dependent: info.data_dependent != 0,
            kernels: info.kernels,
            versions: info.versions,
            code_bytes: info.code_bytes,
            chosen: chosen.iter().map(|&version| u32::try_from(version).ok()).collect(),
            reads_back: info.reads_back != 0,
        })
    }

    /// Runs once, with a session that is borrowed from the executable for the call: for many threads at once. The outputs are
    /// written to memory of the caller, which all but those of donated inputs need.
    pub fn run_into(&self, inputs: &[Tensor<'_>], outputs: &mut [TensorMut<'_>]) -> Result<()> {
        let _in_use = InUse::take(inputs)?;
        let raw = self.raw_inputs(inputs, true)?;
        let mut written = self.raw_outputs(outputs)?;
        for (index, info) in self.outputs().iter().enumerate().take(written.len()) {
            // Such an output needs data: the input's.
            if let (true, Some(input)) = (written[index].data.is_null(), info.memory_of.and_then(|i| raw.get(i))) {
                written[index] = *input;
            }
        }
        let status = unsafe {
            let (outputs, count) = (written.as_mut_ptr(), written.len());
            sys::tailor_executable_run(self.raw(), raw.as_ptr(), raw.len(), outputs, count)
        };
        finish_into(status, outputs, &written)
    }

    /// Frees the idle sessions that [`run_into`](Executable::run_into) keeps for later calls.
    pub fn trim(&self) -> Result<()> {
        check(unsafe { sys::tailor_executable_trim(self.raw()) })
    }

    /// What its runs and sessions amount to, for metrics.
    pub fn counters(&self) -> Result<ExecutableCounters> {
        let mut raw = sys::tailor_executable_counts::default();
        check(unsafe { sys::tailor_executable_counters(self.raw(), &mut raw) })?;
        Ok(ExecutableCounters {
            runs: raw.runs,
            failed_runs: raw.failed_runs,
            cancelled_runs: raw.cancelled_runs,
            runs_in_progress: raw.runs_in_progress,
            sessions: raw.sessions,
            pooled_sessions: raw.pooled_sessions,
            workspace_bytes: raw.workspace_bytes,
            constants_bytes: raw.constants_bytes,
            shape_cache_misses: raw.shape_cache_misses,
            workspace_growths: raw.workspace_growths,
        })
    }

    /// A session with `threads` threads, the caller's included.
    pub fn session(&self, threads: u64) -> Result<Session> {
        self.session_with(SessionOptions { threads, ..Default::default() })
    }

    /// A session with options.
    pub fn session_with(&self, options: SessionOptions) -> Result<Session> {
        Session::create(self, options)
    }

    /// A session whose kernels run on the caller's executor, in at most `threads` parts:
    /// [`SessionOptions::parallel_for`].
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
        F: Fn(&(dyn Fn(usize) + Sync), usize) + Send + Sync + 'static,
    {
        self.session_with(SessionOptions { threads, parallel_for: Some(Box::new(parallel_for)), ..Default::default() })
    }

    pub(crate) fn raw(&self) -> *mut sys::tailor_executable {
        self.handle.raw
    }

    /// The C form of inputs; `run`: a run may write the donated ones.
    pub(crate) fn raw_inputs(&self, inputs: &[Tensor<'_>], run: bool) -> Result<Vec<sys::tailor_tensor>> {
        for (index, tensor) in inputs.iter().enumerate() {
            let info = self.inputs().get(index);
            let name = info.map_or("", |info| info.name.as_str());
            if let Some(reason) = &tensor.invalid {
                return Err(invalid(format!("input {} \"{}\": {}", index, name, reason)));
            }
            if run && !tensor.donated && info.map_or(false, |info| info.donated) {
                return Err(invalid(format!("input \"{}\" is donated: make it with Tensor::donated", name)));
            }
        }
        Ok(inputs.iter().map(|tensor| tensor.raw).collect())
    }

    /// The C form of outputs in memory of the caller.
    pub(crate) fn raw_outputs(&self, outputs: &[TensorMut<'_>]) -> Result<Vec<sys::tailor_tensor>> {
        let raw = |(index, output): (usize, &TensorMut<'_>)| {
            let info = self.outputs().get(index);
            match &output.invalid {
                None => Ok(output.for_run(info.map_or(0, |info| info.dims.len()))),
                Some(reason) => {
                    let name = info.map_or("", |info| info.name.as_str());
                    Err(invalid(format!("output {} \"{}\": {}", index, name, reason)))
                }
            }
        };
        outputs.iter().enumerate().map(raw).collect()
    }
}

/// Ends a run into memory of the caller: the dim sizes that it found go to `outputs`.
pub(crate) fn finish_into(
    status: *mut sys::tailor_status,
    outputs: &mut [TensorMut<'_>],
    written: &[sys::tailor_tensor],
) -> Result<()> {
    let result = check(status);
    host::resume();
    result?;
    for (output, raw) in outputs.iter_mut().zip(written).filter(|(output, _)| !output.raw.data.is_null()) {
        output.raw.rank = raw.rank;
        output.raw.dims = raw.dims;
    }
    Ok(())
}

impl fmt::Debug for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types = |infos: &[TensorInfo]| {
            let texts: Vec<_> = infos.iter().map(|i| format!("{}: {}[{}]", i.name, i.dtype, i.dims.join(", "))).collect();
            texts.join(", ")
        };
        write!(f, "Executable(({}) -> ({}))", types(self.inputs()), types(self.outputs()))
    }
}

type ReadInfo = unsafe extern "C" fn(
    *const sys::tailor_executable,
    usize,
    *mut sys::tailor_tensor_info,
) -> *mut sys::tailor_status;

/// # Safety
/// The executable is live.
unsafe fn info(raw: *const sys::tailor_executable, index: usize, read: ReadInfo) -> Result<TensorInfo> {
    let mut info = sys::tailor_tensor_info::default();
    check(read(raw, index, &mut info))?;
    let rank = (info.rank as usize).min(MAX_RANK);
    let dims = info.dim_texts[..rank].iter().map(|&dim| text(dim)).collect();
    let memory_of = usize::try_from(info.memory_of).ok();
    let donated = info.donated != 0;
    Ok(TensorInfo { name: text(info.name), dtype: DType(info.dtype), dims, donated, memory_of })
}

pub(crate) fn utf8(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| invalid(format!("the path {:?} is not UTF-8", path)))
}

/// A description of an artifact file as JSON, without loading it: for artifacts of other machines too.
pub fn describe_artifact<P: AsRef<Path>>(path: P) -> Result<String> {
    unsafe extern "C" fn take(user: *mut std::ffi::c_void, json: *const c_char, size: usize) {
        // SAFETY: the text below, and `size` bytes.
        let bytes = std::slice::from_raw_parts(json as *const u8, size);
        *(user as *mut String) = String::from_utf8_lossy(bytes).into_owned();
    }
    let (path, mut out) = (utf8(path.as_ref())?, String::new());
    let user = &mut out as *mut String as *mut std::ffi::c_void;
    // SAFETY: path and text are valid for the call.
    check(unsafe { sys::tailor_artifact_describe(path.as_ptr() as *const c_char, path.len(), Some(take), user) })?;
    Ok(mem::take(&mut out))
}
