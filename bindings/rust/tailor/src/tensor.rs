//! Tensors over memory of the caller and of sessions.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{invalid, sys, DType, Element, Error, ErrorCode, Result};

/// The most dims of a tensor.
pub const MAX_RANK: usize = sys::TAILOR_MAX_RANK;

/// Of `tailor_tensor::device`.
pub(crate) const HOST_MEMORY: i64 = 0;
pub(crate) const DEVICE_MEMORY: i64 = 1;

/// A dense row-major input over the caller's memory.
pub struct Tensor<'a> {
    pub(crate) raw: sys::tailor_tensor,
    pub(crate) invalid: Option<String>, // what is wrong with it, which the run reports
    pub(crate) donated: bool,
    in_use: Option<AtomicBool>, // of a donated slice: whether a run is writing it
    memory: PhantomData<&'a mut [u8]>,
}

// SAFETY: a tensor is a slice of elements, which are Send and Sync. Runs write only donated ones, one run at a time.
unsafe impl Send for Tensor<'_> {}
unsafe impl Sync for Tensor<'_> {}

/// The C form of `elements` elements of type `dtype` at `data`, and what is wrong with it.
fn describe(data: *mut c_void, bytes: usize, dtype: DType, dims: &[i64]) -> (sys::tailor_tensor, Option<String>) {
    let mut raw = sys::tailor_tensor { data, data_bytes: bytes as u64, dtype: dtype.0, ..Default::default() };
    if dims.len() > MAX_RANK {
        return (raw, Some(format!("it has {} dims, more than {}", dims.len(), MAX_RANK)));
    }
    raw.rank = dims.len() as i32;
    raw.dims[..dims.len()].copy_from_slice(dims);
    (raw, None)
}

fn shape(raw: &sys::tailor_tensor) -> &[i64] {
    &raw.dims[..raw.rank as usize]
}

/// Where an empty slice is, its address may be any.
unsafe fn elements<'a, T>(raw: &sys::tailor_tensor) -> &'a [T] {
    let count = shape(raw).iter().product::<i64>() as usize;
    if count == 0 {
        return &[];
    }
    slice::from_raw_parts(raw.data as *const T, count)
}

impl<'a> Tensor<'a> {
    /// The elements of `data` in a tensor of dim sizes `dims`. The run checks them: more than [`MAX_RANK`] dims, and
    /// dim sizes that do not fit `data` or the input, are INVALID_ARGUMENT.
    pub fn new<T: Element>(data: &'a [T], dims: &[i64]) -> Tensor<'a> {
        let address = data.as_ptr() as *mut c_void; // inputs are only read
        let (raw, invalid) = describe(address, mem::size_of_val(data), T::DTYPE, dims);
        Tensor { raw, invalid, donated: false, in_use: None, memory: PhantomData }
    }

    /// The same for a donated input: runs write to `data`, which then holds the output in its memory
    /// ([`TensorInfo::memory_of`](crate::TensorInfo::memory_of)).
    pub fn donated<T: Element>(data: &'a mut [T], dims: &[i64]) -> Tensor<'a> {
        let (raw, invalid) = describe(data.as_mut_ptr() as *mut c_void, mem::size_of_val(data), T::DTYPE, dims);
        Tensor { raw, invalid, donated: true, in_use: Some(AtomicBool::new(false)), memory: PhantomData }
    }

    /// An input of `count` elements in the device's memory.
    ///
    /// # Safety
    /// The memory must not change while runs use it; runs write the memory of a donated input.
    pub unsafe fn on_device<T: Element>(address: *mut T, count: usize, dims: &[i64]) -> Tensor<'a> {
        let bytes = count.checked_mul(mem::size_of::<T>());
        let (mut raw, mut invalid) = describe(address as *mut c_void, bytes.unwrap_or(0), T::DTYPE, dims);
        raw.device = DEVICE_MEMORY;
        if bytes.is_none() {
            invalid = Some(format!("{} elements of {} are more bytes than there can be", count, T::DTYPE));
        }
        Tensor { raw, invalid, donated: true, in_use: None, memory: PhantomData }
    }

    /// What the library filled in for an output, as an input.
    pub(crate) fn of_output(raw: sys::tailor_tensor) -> Tensor<'a> {
        Tensor { raw, invalid: None, donated: false, in_use: None, memory: PhantomData }
    }

    /// The dim sizes.
    pub fn shape(&self) -> &[i64] {
        shape(&self.raw)
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        DType(self.raw.dtype)
    }
}

/// A vector: a tensor of rank 1.
impl<'a, T: Element> From<&'a [T]> for Tensor<'a> {
    fn from(data: &'a [T]) -> Tensor<'a> {
        Tensor::new(data, &[data.len() as i64])
    }
}

impl<'a, T: Element> From<&'a Vec<T>> for Tensor<'a> {
    fn from(data: &'a Vec<T>) -> Tensor<'a> {
        data.as_slice().into()
    }
}

impl<'a, T: Element, const N: usize> From<&'a [T; N]> for Tensor<'a> {
    fn from(data: &'a [T; N]) -> Tensor<'a> {
        data.as_slice().into()
    }
}

impl fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}{:?}", self.dtype(), self.shape())
    }
}

/// Keeps donated slices from a second run while one is writing them.
pub(crate) struct InUse<'a>(&'a [Tensor<'a>]);

impl<'a> InUse<'a> {
    pub(crate) fn take(inputs: &'a [Tensor<'a>]) -> Result<InUse<'a>> {
        for (index, input) in inputs.iter().enumerate() {
            if matches!(&input.in_use, Some(in_use) if in_use.swap(true, Ordering::Acquire)) {
                drop(InUse(&inputs[..index]));
                let message = format!("input {} is donated, and in use by another run", index);
                return Err(Error::new(ErrorCode::FailedPrecondition, message));
            }
        }
        Ok(InUse(inputs))
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        for in_use in self.0.iter().filter_map(|input| input.in_use.as_ref()) {
            in_use.store(false, Ordering::Release);
        }
    }
}

/// Memory of the caller for an output, dense and row-major.
pub struct TensorMut<'a> {
    pub(crate) raw: sys::tailor_tensor,
    pub(crate) invalid: Option<String>,
    open: bool, // each run finds all dim sizes
    memory: PhantomData<&'a mut [u8]>,
}

// SAFETY: it is a mutable slice of elements, which are Send and Sync.
unsafe impl Send for TensorMut<'_> {}
unsafe impl Sync for TensorMut<'_> {}

impl<'a> TensorMut<'a> {
    /// An output of dim sizes `dims`, whose elements the run writes to `data`. -1 is a dim size that the run fills in. Dim
    /// sizes and elements that do not fit the output are errors of the run.
    pub fn new<T: Element>(data: &'a mut [T], dims: &[i64]) -> TensorMut<'a> {
        let (raw, invalid) = describe(data.as_mut_ptr() as *mut c_void, mem::size_of_val(data), T::DTYPE, dims);
        TensorMut { raw, invalid, open: false, memory: PhantomData }
    }

    /// An output of any shape for which `data` is large enough; the run fills in the dim sizes.
    pub fn open<T: Element>(data: &'a mut [T]) -> TensorMut<'a> {
        let dims = [data.len() as i64];
        TensorMut { open: true, ..TensorMut::new(data, &dims) }
    }

    /// No memory of the caller: for an output that is written to the memory of a donated input, or that nobody reads.
    pub fn none() -> TensorMut<'a> {
        TensorMut { raw: Default::default(), invalid: None, open: false, memory: PhantomData }
    }

    /// The dim sizes, which a run fills in where they are open.
    pub fn shape(&self) -> &[i64] {
        shape(&self.raw)
    }

    /// The elements: those of `data` that the shape has. INVALID_ARGUMENT for another type, if `data` is smaller, and if no
    /// run has filled in dim sizes of -1.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        self.check_elements::<T>()?;
        // SAFETY: there are so many elements of this type, borrowed by self.
        Ok(unsafe { elements(&self.raw) })
    }

    /// The same, to be changed.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        self.check_elements::<T>()?;
        // SAFETY: as above, and self is borrowed mutably.
        unsafe {
            let read: &[T] = elements(&self.raw);
            Ok(slice::from_raw_parts_mut(read.as_ptr() as *mut T, read.len()))
        }
    }

    fn check_elements<T: Element>(&self) -> Result<()> {
        if self.raw.dtype != T::DTYPE.0 {
            return Err(invalid(format!("the tensor is {}, not {}", DType(self.raw.dtype), T::DTYPE)));
        }
        let bytes = self.shape().iter().try_fold(mem::size_of::<T>() as u64, |product, &dim| {
            u64::try_from(dim).ok().and_then(|dim| product.checked_mul(dim))
        });
        match bytes {
            Some(bytes) if bytes <= self.raw.data_bytes => Ok(()),
            _ => Err(invalid(format!("a slice of {} bytes is too small for {:?}", self.raw.data_bytes, self))),
        }
    }

    /// Its C form for a run, with the rank of the output.
    pub(crate) fn for_run(&self, rank: usize) -> sys::tailor_tensor {
        let mut raw = self.raw;
        if self.open {
            raw.rank = rank as i32;
            raw.dims = [-1; MAX_RANK];
        }
        raw
    }
}

impl fmt::Debug for TensorMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}{:?}", DType(self.raw.dtype), self.shape())
    }
}

/// An output in memory of the session. It borrows the session: the next run cannot begin while it lives.
#[derive(Clone, Copy)]
pub struct TensorView<'a> {
    pub(crate) raw: sys::tailor_tensor,
    pub(crate) index: usize,
    pub(crate) in_input: bool,
    pub(crate) session: PhantomData<&'a [u8]>,
}

// SAFETY: the memory is only read while views of it live.
unsafe impl Send for TensorView<'_> {}
unsafe impl Sync for TensorView<'_> {}

impl<'a> TensorView<'a> {
    /// The dim sizes.
    pub fn shape(&self) -> &[i64] {
        shape(&self.raw)
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        DType(self.raw.dtype)
    }

    /// The elements, row-major; INVALID_ARGUMENT if they have another type, or are in a donated slice or on the device.
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T]> {
        if self.in_input {
            return Err(invalid(format!("output {} is in the memory of a donated input: read it there", self.index)));
        }
        if self.raw.device != HOST_MEMORY {
            return Err(invalid(format!("output {} is in the device's memory: see device_address", self.index)));
        }
        if self.raw.dtype != T::DTYPE.0 {
            return Err(invalid(format!("output {} is {}, not {}", self.index, self.dtype(), T::DTYPE)));
        }
        // SAFETY: the library filled the struct with memory of so many elements, the session's until its next run, which
        // begins after 'a.
        Ok(unsafe { elements(&self.raw) })
    }

    /// A copy of the elements.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        Ok(self.as_slice::<T>()?.to_vec())
    }

    /// Its address in the device's memory; `None` if it is in host memory.
    pub fn device_address(&self) -> Option<*mut c_void> {
        if self.raw.device == DEVICE_MEMORY {
            Some(self.raw.data)
        } else {
            None
        }
    }
}

impl fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}{:?}", self.dtype(), self.shape())
    }
}
