//! Calls of custom operators: what their functions read and write.

use std::cell::Cell;
use std::ffi::{c_void, CStr};
use std::os::raw::c_char;
use std::slice;
use std::str;

use crate::{invalid, sys, DType, Element, Result};

/// One call of a custom operator ([`Runtime::register`](crate::Runtime::register)). Operands and results are dense and
/// row-major. After the results there is one of type i64 and rank 0 for each counted result, in order.
pub struct CustomCall<'a> {
    raw: &'a sys::tailor_custom_call,
    data: Data,
    taken: Vec<Cell<bool>>, // by result: whether its slice was taken; last that of the workspace
}

/// What the data of a call is.
#[derive(Clone, Copy, PartialEq)]
enum Data {
    Slices,
    OnDevice,
    Missing, // the workspace is being sized
}

impl<'a> CustomCall<'a> {
    /// # Safety
    /// As `tailor_custom_operator.function` has it: memory of the host, unless `on_device`.
    pub(crate) unsafe fn of(raw: &'a sys::tailor_custom_call, on_device: bool) -> CustomCall<'a> {
        CustomCall::with(raw, if on_device { Data::OnDevice } else { Data::Slices })
    }

    /// # Safety
    /// As `tailor_custom_operator.workspace` has it.
    pub(crate) unsafe fn without_data(raw: &'a sys::tailor_custom_call) -> CustomCall<'a> {
        CustomCall::with(raw, Data::Missing)
    }

    fn with(raw: &'a sys::tailor_custom_call, data: Data) -> CustomCall<'a> {
        CustomCall { raw, data, taken: vec![Cell::new(false); raw.result_count as usize + 1] }
    }

    /// The operator's name.
    pub fn name(&self) -> &str {
        // SAFETY, here and below: the library's texts and arrays live as long as the call.
        unsafe { text(CStr::from_ptr(self.raw.name).to_bytes()) }
    }

    /// The user's name of the graph node; may be empty.
    pub fn node(&self) -> &str {
        unsafe { text(CStr::from_ptr(self.raw.node).to_bytes()) }
    }

    /// The attributes of the graph node.
    pub fn attributes(&self) -> &str {
        unsafe { text(array(self.raw.attributes as *const u8, self.raw.attributes_size as usize)) }
    }

    /// The number of operands.
    pub fn operand_count(&self) -> usize {
        self.operands().len()
    }

    /// The number of results, counts included.
    pub fn result_count(&self) -> usize {
        self.results().len()
    }

    /// The dim sizes of operand `index`; INVALID_ARGUMENT if there is none, here and below.
    pub fn operand_dims(&self, index: usize) -> Result<&[i64]> {
        Ok(dims(find("operand", self.operands(), index)?))
    }

    /// For a counted result: those of the bound.
    pub fn result_dims(&self, index: usize) -> Result<&[i64]> {
        Ok(dims(find("result", self.results(), index)?))
    }

    /// The element type of operand `index`.
    pub fn operand_dtype(&self, index: usize) -> Result<DType> {
        Ok(DType(find("operand", self.operands(), index)?.dtype))
    }

    /// The element type of result `index`.
    pub fn result_dtype(&self, index: usize) -> Result<DType> {
        Ok(DType(find("result", self.results(), index)?.dtype))
    }

    /// The elements of operand `index`; INVALID_ARGUMENT for another element type, on a GPU, and while the workspace is
    /// sized.
    pub fn operand<T: Element>(&self, index: usize) -> Result<&[T]> {
        let tensor = find("operand", self.operands(), index)?;
        let count = self.elements::<T>("operand", index, tensor)?;
        // SAFETY: the library passes so many elements, which only operators read while the call lasts.
        Ok(unsafe { array(tensor.data as *const T, count) })
    }

    /// The elements of result `index`, to be written: arbitrary at first. Errors as for [`operand`](CustomCall::operand);
    /// each result can be taken once.
    #[allow(clippy::mut_from_ref)]
    pub fn result<T: Element>(&self, index: usize) -> Result<&mut [T]> {
        let tensor = find("result", self.results(), index)?;
        let count = self.elements::<T>("result", index, tensor)?;
        self.take(index, || format!("result {}", index))?;
        // SAFETY: as for operands; this is the only slice, and memory of results does not overlap any other.
        Ok(unsafe { array_mut(tensor.data as *mut T, count) })
    }

    /// The memory that the operator asked for, rounded up to 64 bytes; arbitrary at first, and empty if it asked for none.
    /// It can be taken once. INVALID_ARGUMENT on a GPU, and while the workspace is sized.
    #[allow(clippy::mut_from_ref)]
    pub fn workspace(&self) -> Result<&mut [u8]> {
        self.readable(|| "the workspace".into())?;
        self.take(self.result_count(), || "the workspace".into())?;
        // SAFETY: as for results.
        Ok(unsafe { array_mut(self.raw.workspace as *mut u8, self.raw.workspace_bytes as usize) })
    }

    /// Where the data of operand `index` is: on a GPU, in its memory. INVALID_ARGUMENT while the workspace is sized.
    pub fn operand_address(&self, index: usize) -> Result<*const c_void> {
        self.address(find("operand", self.operands(), index)?, || format!("operand {}", index)).map(|data| data as _)
    }

    /// Where the data of result `index` is to be written.
    pub fn result_address(&self, index: usize) -> Result<*mut c_void> {
        self.address(find("result", self.results(), index)?, || format!("result {}", index))
    }

    /// Null if the operator asked for none.
    pub fn workspace_address(&self) -> *mut c_void {
        self.raw.workspace
    }

    /// The size of the workspace.
    pub fn workspace_bytes(&self) -> usize {
        self.raw.workspace_bytes as usize
    }

    /// On a GPU the `CUstream` that all work belongs in; null on the CPU.
    pub fn stream(&self) -> *mut c_void {
        self.raw.stream
    }

    /// Cut to the room that there is.
    pub(crate) fn set_message(&self, message: &str) {
        let message = message.replace('\0', "\u{fffd}");
        let mut size = message.len().min(self.raw.message_capacity as usize - 1);
        while !message.is_char_boundary(size) {
            size -= 1;
        }
        // SAFETY: the buffer has message_capacity bytes.
        unsafe {
            self.raw.message.copy_from_nonoverlapping(message.as_ptr() as *const c_char, size);
            *self.raw.message.add(size) = 0;
        }
    }

    fn operands(&self) -> &[sys::tailor_custom_tensor] {
        unsafe { array(self.raw.operands, self.raw.operand_count as usize) }
    }

    fn results(&self) -> &[sys::tailor_custom_tensor] {
        unsafe { array(self.raw.results, self.raw.result_count as usize) }
    }

    /// The number of elements, if they can be a slice.
    fn elements<T: Element>(&self, kind: &str, index: usize, tensor: &sys::tailor_custom_tensor) -> Result<usize> {
        self.readable(|| format!("{} {}", kind, index))?;
        if tensor.dtype != T::DTYPE.0 {
            return Err(invalid(format!("{} {} is {}, not {}", kind, index, DType(tensor.dtype), T::DTYPE)));
        }
        Ok(dims(tensor).iter().product::<i64>() as usize)
    }

    fn readable(&self, what: impl FnOnce() -> String) -> Result<()> {
        match self.data {
            Data::Slices => Ok(()),
            Data::OnDevice => Err(invalid(format!("{} is in the device's memory: see its address", what()))),
            Data::Missing => Err(invalid(format!("{} has no data while the workspace is sized", what()))),
        }
    }

    fn address(&self, tensor: &sys::tailor_custom_tensor, what: impl FnOnce() -> String) -> Result<*mut c_void> {
        if self.data == Data::Missing {
            self.readable(what)?;
        }
        Ok(tensor.data)
    }

    fn take(&self, which: usize, what: impl FnOnce() -> String) -> Result<()> {
        if self.taken[which].replace(true) {
            return Err(invalid(format!("{} was taken already in this call", what())));
        }
        Ok(())
    }
}

impl std::fmt::Debug for CustomCall<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CustomCall").field("name", &self.name()).field("node", &self.node()).finish_non_exhaustive()
    }
}

fn find<'a>(
    kind: &str,
    tensors: &'a [sys::tailor_custom_tensor],
    index: usize,
) -> Result<&'a sys::tailor_custom_tensor> {
    tensors.get(index).ok_or_else(|| invalid(format!("there is no {} {}, only {}", kind, index, tensors.len())))
}

fn dims(tensor: &sys::tailor_custom_tensor) -> &[i64] {
    // SAFETY: the library's array has so many dims.
    unsafe { array(tensor.dims, tensor.rank as usize) }
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("texts of artifacts are UTF-8, which loading checks")
}

/// A slice of memory of the library, whose address is arbitrary if there is none.
unsafe fn array<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    slice::from_raw_parts(data, count)
}

unsafe fn array_mut<'a, T>(data: *mut T, count: usize) -> &'a mut [T] {
    if count == 0 {
        return &mut [];
    }
    slice::from_raw_parts_mut(data, count)
}
