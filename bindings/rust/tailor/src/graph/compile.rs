//! Compiling a graph: to an executable, or to an artifact's bytes.

use std::ffi::{c_void, CStr, CString};
use std::fmt;
use std::os::raw::c_char;
use std::path::Path;
use std::ptr;

use super::Graph;
use crate::executable::utf8;
use crate::load::raw_of;
use crate::sys::{self, tailor_status};
use crate::{host, invalid, Device, Executable, Result, Runtime};

/// The type of [`CompileOptions::progress`].
pub type Progress<'a> = &'a mut dyn FnMut(&str, f64) -> bool;

/// The options of compiling. `CompileOptions { targets: &["host"], ..Default::default() }`.
#[derive(Default)]
pub struct CompileOptions<'a> {
    /// The runtime that loads the result, for its custom operators; none: one of its own.
    pub runtime: Option<&'a Runtime>,
    /// CPU targets, of which the best that fits is chosen at load: "x86-64-v2", "x86-64-v3", "x86-64-v4", each also with
    /// more features ("x86-64-v4+avx512bf16"), and "host". None: the three levels, and for matmuls in
    /// bf16, of u8 by i8 and in i16 those with instructions for them.
    pub targets: &'a [&'a str],
    /// Threads to compile with; 0: [`usable_cpus`](crate::usable_cpus).
    pub threads: u64,
    /// Called with the phase and the share done; `false` cancels, which gives `CANCELLED`. It must not use the graph:
    /// calls on it fail.
    pub progress: Option<Progress<'a>>,
    /// Ed25519: signs the artifact.
    pub secret_key: Option<&'a [u8; 64]>,
    /// The most versions of a kernel; 0: 8.
    pub max_versions: u64,
    /// The most bytes of code of a target; 0: 64 MiB.
    pub max_code_bytes: u64,
    /// Names of inputs whose memory runs may write: [`Tensor::donated`](crate::Tensor::donated).
    pub donated: &'a [&'a str],
    /// Matmuls may be computed by another library:
    /// [`RuntimeOptions::product_provider`](crate::RuntimeOptions::product_provider),
    /// [`RuntimeOptions::cublas_lt`](crate::RuntimeOptions::cublas_lt).
    pub offer_products: bool,
    /// The device to run on; `targets` must have one for it ("cuda": all architectures of GPUs).
    pub device: Device,
    /// On GPUs, operands of matmuls in f32 are rounded to tf32 (10 bits of mantissa), for tensor cores.
    pub allow_tf32: bool,
    /// On CPUs, no convolution uses Winograd's algorithm.
    pub direct_convolutions: bool,
    /// Bytes that compiling may take beyond the constants of the graph; 0: no limit. Beyond it compiling is
    /// `RESOURCE_EXHAUSTED`: by an estimate, or exactly if isolated.
    pub memory_limit: u64,
    /// Compile in a process of its own, so that exhausted memory and crashes of the compiler are errors, and `progress`
    /// cancels at once.
    pub isolated: bool,
    /// The program for that; none: `../libexec/tailor/tailor-compile-worker` relative to the folder of libtailor.so.
    pub worker: Option<&'a Path>,
    /// Of CPU code, code generation optimizes only the micro-kernels of matmuls and convolutions. Compiling takes
    /// 0.5 to 0.8 of the time, runs longer; results are the same bits (docs/compiling.md).
    pub unoptimized: bool,
    /// Names of passes to leave out, to find what a result or a time is due to (docs/compiling.md).
    pub without: &'a [&'a str],
    /// The text of the cost profile of the machine to compile for (`tailor tune profile`), by which matmuls keep and
    /// choose their tilings. `targets` must name exactly one CPU target (docs/compiling.md).
    pub cost_profile: Option<&'a str>,
    /// Whether CPUs flush denormal numbers to zero.
    pub denormals: Denormals,
}

/// Whether arithmetic in runs on CPUs flushes denormal numbers to zero. On Intel CPUs an instruction on a denormal takes
/// about 120 cycles.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Denormals {
    /// Flushes if a constant of at least 257 elements has denormal ones; `describe` says which.
    #[default]
    Auto,
    /// Denormals are kept, as IEEE 754 defines them.
    Keep,
    /// Denormals are zeros of their sign.
    Flush,
}

impl fmt::Debug for CompileOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompileOptions").field("targets", &self.targets).finish_non_exhaustive()
    }
}

impl Graph {
    /// Compiles for all shapes at once and loads the result. The graph may then grow and be compiled again.
    pub fn compile(&self) -> Result<Executable> {
        self.compile_with(CompileOptions::default())
    }

    /// [`compile`](Graph::compile) with options.
    pub fn compile_with(&self, options: CompileOptions<'_>) -> Result<Executable> {
        let mut raw = ptr::null_mut();
        let runtime = raw_of(options.runtime);
        // SAFETY: graph, runtime and options are live.
        self.compile_to(options, |graph, options| unsafe {
            sys::tailor_graph_compile(graph, runtime, options, &mut raw)
        })?;
        // SAFETY: compiling gave a live executable.
        unsafe { Executable::of(raw) }
    }

    /// Compiles without loading, for other machines too: the bytes of the artifact.
    pub fn compile_artifact(&self, options: CompileOptions<'_>) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let user = &mut bytes as *mut Vec<u8> as *mut c_void;
        // SAFETY: as above; `user` outlives the call and nothing else uses it meanwhile.
        self.compile_to(options, |graph, options| unsafe {
            sys::tailor_graph_compile_artifact(graph, options, Some(take), user)
        })?;
        Ok(bytes)
    }

    fn compile_to(&self, options: CompileOptions<'_>, function: impl FnOnce(Raw, Options) -> Status) -> Result<()> {
        let targets = texts("target", options.targets)?;
        let targets: Vec<*const c_char> = targets.iter().map(|name| name.as_ptr()).collect();
        let donated = texts("donated input", options.donated)?;
        let donated: Vec<*const c_char> = donated.iter().map(|name| name.as_ptr()).collect();
        let without = texts("pass", options.without)?;
        let without: Vec<*const c_char> = without.iter().map(|name| name.as_ptr()).collect();
        let profile = options.cost_profile.unwrap_or("");
        let worker = options.worker.map(utf8).transpose()?.map(|path| text("worker", path)).transpose()?;
        let mut progress = options.progress;
        let given = sys::tailor_compile_options {
            targets: targets.as_ptr(),
            target_count: targets.len(),
            progress: progress.as_ref().map(|_| report as ProgressFunction),
            progress_user: &mut progress as *mut Option<Progress<'_>> as *mut c_void,
            threads: options.threads,
            secret_key: options.secret_key.map_or(ptr::null(), |key| key.as_ptr()),
            max_versions: if options.max_versions == 0 { 8 } else { options.max_versions },
            max_code_bytes: if options.max_code_bytes == 0 { 64 << 20 } else { options.max_code_bytes },
            donated: donated.as_ptr(),
            donated_count: donated.len(),
            device: options.device.numbers().0,
            device_ordinal: options.device.numbers().1,
            offer_products: options.offer_products.into(),
            direct_convolutions: options.direct_convolutions.into(),
            allow_tf32: options.allow_tf32.into(),
            memory_limit: options.memory_limit,
            isolated: options.isolated.into(),
            worker: worker.as_ref().map_or(ptr::null(), |worker| worker.as_ptr()),
            optimize: (!options.unoptimized).into(),
            without: without.as_ptr(),
            without_count: without.len(),
            cost_profile: options.cost_profile.map_or(ptr::null(), |_| profile.as_ptr() as *const c_char),
            cost_profile_size: profile.len() as u64,
            denormals: options.denormals as i64,
            ..Default::default()
        };
        let result = self.call(|graph| function(graph, &given));
        host::resume();
        result
    }
}

fn texts(what: &str, names: &[&str]) -> Result<Vec<CString>> {
    names.iter().map(|name| text(what, name)).collect()
}

fn text(what: &str, name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| invalid(format!("the {} {:?} has a NUL inside", what, name)))
}

type Raw = *mut sys::tailor_graph;
type Options = *const sys::tailor_compile_options;
type Status = *mut tailor_status;
type ProgressFunction = unsafe extern "C" fn(*mut c_void, *const c_char, f64) -> i32;

unsafe extern "C" fn report(user: *mut c_void, phase: *const c_char, done: f64) -> i32 {
    // SAFETY: the library calls on the thread of compile_to, whose closure this is.
    let progress = &mut *(user as *mut Option<Progress<'_>>);
    let phase = CStr::from_ptr(phase).to_string_lossy();
    let go_on = host::keep_panic(false, || progress.as_mut().map_or(true, |progress| progress(&phase, done)));
    go_on.into()
}

unsafe extern "C" fn take(user: *mut c_void, data: *const c_void, size: usize) {
    // SAFETY: `user` is the vector of compile_artifact, `data` has `size` bytes.
    let bytes = &mut *(user as *mut Vec<u8>);
    bytes.extend_from_slice(std::slice::from_raw_parts(data as *const u8, size));
}
