//! Builds graphs over symbolic shapes and compiles them. Needs `libtailor.so`.
//!
//! ```no_run
//! use tailor::{dims, graph::Graph, DType, Tensor};
//!
//! let graph = Graph::new("scale")?;
//! let batch = graph.symbol("batch")?;
//! let x = graph.input("x", DType::F32, &dims![batch, 4])?;
//! graph.output("y", (x * 2.0)?.softmax(-1)?)?;
//! let executable = graph.compile()?; // once, for every batch
//! let mut session = executable.session(1)?;
//! let outputs = session.run(&[Tensor::new(&[1.0f32; 12], &[3, 4])])?;
//! println!("{:?}", outputs.get::<f32>(0)?);
//! # Ok::<(), tailor::Error>(())
//! ```
//!
//! Values and dims are numbers with a reference to their graph: they are `Copy` and cannot outlive it. A value or dim of
//! another graph is an error. A failed call changes nothing.

mod builders;
mod compile;
mod custom;
mod dim;
mod loops;
mod ops;
mod value;

pub use builders::Spatial;
pub use compile::{CompileOptions, Denormals, Progress};
pub use custom::{CustomOptions, CustomResult};
pub use dim::{Dim, DimSize, Symbol};
pub use loops::{Activation, Recurrence, Unique};
pub use ops::*;
pub use value::{Operand, Value};

use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::mem;
use std::os::raw::c_char;
use std::ptr;

use crate::error::text;
use crate::host::release;
use crate::sys::{self, tailor_status};
use crate::{check, DType, Element, Error, ErrorCode, Result};

/// A tensor graph under construction. It may move between threads, but is used by one at a time.
pub struct Graph {
    raw: *mut sys::tailor_graph,
    busy: Cell<bool>, // a call is in progress, whose callbacks may not make another
}

// SAFETY: the library ties no graph to a thread. Values and dims, which hold references, stay where they are.
unsafe impl Send for Graph {}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: the graph is ours, and no value or dim is left.
        unsafe { sys::tailor_graph_release(self.raw) };
    }
}

impl Graph {
    /// An empty graph. `name` appears in messages and artifacts.
    pub fn new(name: &str) -> Result<Graph> {
        Graph::create(name, sys::tailor_graph_create)
    }

    /// A graph from its canonical text ([`Graph::text`]). Constants whose bytes the text leaves out are zeros.
    pub fn parse(text: &str) -> Result<Graph> {
        Graph::create(text, sys::tailor_graph_parse)
    }

    /// Appends an input; runs take inputs in the order of these calls. [`dims!`](crate::dims) writes the dim sizes.
    pub fn input(&self, name: &str, dtype: DType, dims: &[DimSize]) -> Result<Value<'_>> {
        let dims = self.dims(dims)?;
        // SAFETY, here and below: the graph is live, and so are texts and arrays for the call.
        self.append(|graph, out| unsafe {
            sys::tailor_graph_input(graph, chars(name), name.len(), dtype.0, dims.as_ptr(), dims.len(), out)
        })
    }

    /// Makes `value` an output; runs give outputs in the order of these calls.
    pub fn output(&self, name: &str, value: Value<'_>) -> Result<()> {
        self.call(|graph| unsafe { sys::tailor_graph_output(graph, chars(name), name.len(), value.handle) })
    }

    /// A constant with a copy of `data`; its name may be empty.
    pub fn constant<T: Element>(&self, name: &str, data: &[T], dims: &[i64]) -> Result<Value<'_>> {
        self.add_constant(name, T::DTYPE, dims, || Memory::of(data, None, ptr::null_mut()))
    }

    /// A constant over the elements of `owner` themselves: a `Vec`, an `Arc`, a mapped file. The owner is dropped, on
    /// any thread, when the graph and every compilation of it are gone.
    pub fn constant_from<T: Element, O>(&self, name: &str, owner: O, dims: &[i64]) -> Result<Value<'_>>
    where
        O: AsRef<[T]> + Send + 'static,
    {
        let owner = Box::new(owner);
        self.add_constant(name, T::DTYPE, dims, move || {
            let owner = Box::into_raw(owner);
            // SAFETY: the box stays where it is until `release`, which the library calls once, also where it fails.
            Memory::of(unsafe { (*owner).as_ref() }, Some(release::<O>), owner as *mut c_void)
        })
    }

    /// A constant of rank 0: `value`, rounded to `dtype`.
    pub fn scalar(&self, dtype: DType, value: f64) -> Result<Value<'_>> {
        self.append(|graph, out| unsafe { sys::tailor_graph_scalar(graph, dtype.0, value, out) })
    }

    /// The canonical text, which [`Graph::parse`] reads.
    pub fn text(&self) -> Result<String> {
        self.read_text(|graph, out| unsafe { sys::tailor_graph_text(graph, out) })
    }

    /// The facts known of the shapes, as text: symbols, ranges, equalities and where each came from, compiled checks.
    pub fn facts(&self) -> Result<String> {
        self.read_text(|graph, out| unsafe { sys::tailor_graph_facts_text(graph, out) })
    }

    fn create(argument: &str, function: Create) -> Result<Graph> {
        let mut raw = ptr::null_mut();
        // SAFETY: the text is valid for the call.
        check(unsafe { function(chars(argument), argument.len(), &mut raw) })?;
        Ok(Graph::of(raw))
    }

    /// Takes over a live graph.
    pub(crate) fn of(raw: *mut sys::tailor_graph) -> Graph {
        Graph { raw, busy: Cell::new(false) }
    }

    fn add_constant(
        &self,
        name: &str,
        dtype: DType,
        dims: &[i64],
        memory: impl FnOnce() -> Memory,
    ) -> Result<Value<'_>> {
        self.append(|graph, out| unsafe {
            let Memory { data, size, released, user } = memory();
            let (name, name_size, dims, rank) = (chars(name), name.len(), dims.as_ptr(), dims.len());
            sys::tailor_graph_constant(graph, name, name_size, dtype.0, dims, rank, data, size, released, user, out)
        })
    }

    /// Makes one call. Its callbacks (progress, dropped owners) find the graph busy: they must not change what is being
    /// read.
    fn call(&self, function: impl FnOnce(*mut sys::tailor_graph) -> *mut tailor_status) -> Result<()> {
        if self.busy.replace(true) {
            let message = "the graph is in use by the call that this one comes from";
            return Err(Error::new(ErrorCode::FailedPrecondition, message));
        }
        let _idle = IdleOnDrop(&self.busy); // also if an owner of constants panics
        check(function(self.raw))
    }

    fn append(
        &self,
        function: impl FnOnce(*mut sys::tailor_graph, *mut u64) -> *mut tailor_status,
    ) -> Result<Value<'_>> {
        let [value] = self.append_all(|graph, [out]| function(graph, out))?;
        Ok(value)
    }

    /// The results of a call that gives several.
    fn append_all<const N: usize>(
        &self,
        function: impl FnOnce(*mut sys::tailor_graph, [*mut u64; N]) -> *mut tailor_status,
    ) -> Result<[Value<'_>; N]> {
        let mut handles = [0; N];
        let first = handles.as_mut_ptr();
        self.call(|graph| function(graph, std::array::from_fn(|i| first.wrapping_add(i))))?;
        Ok(handles.map(|handle| Value { graph: self, handle }))
    }

    /// A text belongs to the graph until the next one, so it is copied.
    fn read_text(
        &self,
        function: impl FnOnce(*mut sys::tailor_graph, *mut *const c_char) -> *mut tailor_status,
    ) -> Result<String> {
        let mut read = ptr::null();
        self.call(|graph| function(graph, &mut read))?;
        // SAFETY: after success it is a live text.
        Ok(unsafe { text(read) })
    }
}

struct IdleOnDrop<'a>(&'a Cell<bool>);

impl Drop for IdleOnDrop<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").finish_non_exhaustive()
    }
}

type Create = unsafe extern "C" fn(*const c_char, usize, *mut *mut sys::tailor_graph) -> *mut tailor_status;

/// The bytes of a constant, and their release function.
struct Memory {
    data: *const c_void,
    size: usize,
    released: Option<unsafe extern "C" fn(*mut c_void)>,
    user: *mut c_void,
}

impl Memory {
    fn of<T>(data: &[T], released: Option<unsafe extern "C" fn(*mut c_void)>, user: *mut c_void) -> Memory {
        Memory { data: data.as_ptr() as *const c_void, size: mem::size_of_val(data), released, user }
    }
}

fn chars(text: &str) -> *const c_char {
    text.as_ptr() as *const c_char
}

fn handles(values: &[Value<'_>]) -> Vec<u64> {
    values.iter().map(|value| value.handle).collect()
}
