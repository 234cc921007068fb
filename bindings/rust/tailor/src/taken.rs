//! Outputs that belong to the caller.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

use crate::{sys, DType, Element, Executable, Result, Tensor, TensorView};

/// The head of the C struct: DLPack fixes its layout.
#[repr(C)]
struct ManagedTensor {
    data: *mut c_void,
    device: [i32; 2],
    rank: i32,
    dtype: [u8; 4],
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
}

/// An output with its memory, apart from the session ([`Session::run_owned`](crate::Session::run_owned)). `Tensor::from(&taken)`
/// is an input of any run. Runs of its session write to the memory again after it was dropped.
pub struct TakenTensor {
    raw: sys::tailor_tensor,
    index: usize,
    memory: *mut ManagedTensor,
    _executable: Executable, // with the runtime, whose allocator frees the memory
}

// SAFETY: the memory is its own, and only read; the library allows its release on any thread.
unsafe impl Send for TakenTensor {}
unsafe impl Sync for TakenTensor {}

impl TakenTensor {
    /// # Safety
    /// `memory` is output `index`, just taken from the session that filled in `raw`.
    pub(crate) unsafe fn new(
        raw: sys::tailor_tensor,
        index: usize,
        memory: *mut sys::DLManagedTensor,
        executable: &Executable,
    ) -> TakenTensor {
        TakenTensor { raw, index, memory: memory as *mut ManagedTensor, _executable: executable.clone() }
    }

    /// The same tensor as a view.
    pub fn view(&self) -> TensorView<'_> {
        TensorView { raw: self.raw, index: self.index, in_input: false, session: PhantomData }
    }

    /// The dim sizes.
    pub fn shape(&self) -> &[i64] {
        &self.raw.dims[..self.raw.rank as usize]
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        DType(self.raw.dtype)
    }

    /// The elements, row-major; INVALID_ARGUMENT if they have another type, or are on the device.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        self.view().as_slice()
    }
}

impl Drop for TakenTensor {
    fn drop(&mut self) {
        // SAFETY: the tensor is ours, and its deleter is called once.
        unsafe {
            if let Some(deleter) = (*self.memory).deleter {
                deleter(self.memory);
            }
        }
    }
}

impl<'a> From<&'a TakenTensor> for Tensor<'a> {
    fn from(taken: &'a TakenTensor) -> Tensor<'a> {
        Tensor::of_output(taken.raw)
    }
}

impl fmt::Debug for TakenTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}
