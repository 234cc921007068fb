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
#![deny(missing_docs, missing_debug_implementations)]

mod counters;
mod custom;
mod device;
mod dtype;
mod error;
mod executable;
#[cfg(feature = "compiler")]
pub mod graph;
mod hooks;
mod host;
mod load;
#[cfg(feature = "onnx")]
pub mod onnx;
mod outputs;
mod running;
mod runtime;
mod session;
mod taken;
mod tensor;

/// The C API, for what this crate does not wrap.
pub use tailor_sys as sys;

pub use counters::{Counters, ExecutableCounters};
pub use custom::CustomCall;
pub use device::Device;
pub use dtype::{Bf16, Bool, DType, Element, F16};
pub use error::{Error, ErrorCode, Result};
pub use executable::{describe_artifact, Executable, LaunchInfo, Plan, SymbolInfo, TensorInfo};
pub use hooks::{Allocator, Log};
pub use host::ParallelFor;
pub use load::LoadOptions;
pub use outputs::Outputs;
pub use running::{InProgress, Running};
pub use runtime::{DeviceInfo, LogLevel, ProductProvider, Runtime, RuntimeOptions};
pub use session::{Bound, Canceller, Session, SessionOptions, Stream, Trace, TraceEvent};
pub use taken::TakenTensor;
pub use tensor::{Tensor, TensorMut, TensorView, MAX_RANK};

use error::{check, invalid, text};

/// The code of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

/// The runtime library's version, "0.1.0".
pub fn version() -> String {
    // SAFETY: a static text.
    unsafe { text(sys::tailor_version()) }
}

/// The same as a number: 100 is 0.1.0.
pub fn version_number() -> i32 {
    // SAFETY: it takes nothing.
    unsafe { sys::tailor_version_number() }
}

/// The level of this machine's CPU, and the CPU features that the runtime library can and cannot use: one line.
pub fn cpu_features() -> String {
    // SAFETY: a static text.
    unsafe { text(sys::tailor_cpu_features()) }
}

/// The number of CPUs that the calling thread may use: those of its affinity mask, at most the CPU quota of the
/// process's control groups, rounded up.
pub fn usable_cpus() -> u64 {
    // SAFETY: it takes nothing.
    unsafe { sys::tailor_usable_cpus() }
}
