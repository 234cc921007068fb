//! The C API of Tailor. The comments of its headers are the documentation; the crate `tailor` is the safe interface.
//!
//! `tailor/runtime.h` is always here, `tailor/compiler.h` and `tailor/ops.h` with the feature `compiler`, `tailor/onnx.h` with
//! the feature `onnx`. [`Default`] of a struct is what its `_init` function sets in C.
#![allow(non_camel_case_types)]

#[cfg(feature = "compiler")]
mod compiler;
#[cfg(feature = "onnx")]
mod onnx;
#[cfg(feature = "compiler")]
mod ops;
mod runtime;

#[cfg(feature = "compiler")]
pub use compiler::*;
#[cfg(feature = "onnx")]
pub use onnx::*;
#[cfg(feature = "compiler")]
pub use ops::*;
pub use runtime::*;
