//! Graphs from ONNX models. Needs `libtailor_onnx.so`.
//!
//! ```no_run
//! let graph = tailor::onnx::load("model.onnx")?; // its dim_params are symbols
//! let executable = graph.compile()?; // once, for all shapes
//! executable.save("model.tlr")?;
//! # Ok::<(), tailor::Error>(())
//! ```
//!
//! With options:
//!
//! ```no_run
//! use tailor::{graph::Symbol, onnx, Tensor};
//!
//! let options = onnx::Options {
//!     symbols: &[("batch", Symbol { max: 64, ..Default::default() })],
//!     dims: &[("x_dim1", "2*batch".into()), ("channels", 3.into())],
//!     fixed: &[("axes", Tensor::new(&[1i64], &[1]))],
//!     ..Default::default()
//! };
//! match onnx::load_with("model.onnx", &options) {
//!     Ok(graph) => println!("{}", graph.text()?),
//!     Err(error) => println!("{}; fix the inputs {:?}", error, error.needs_fixed),
//! }
//! # Ok::<(), tailor::Error>(())
//! ```

use std::ffi::{c_void, CString};
use std::fmt;
use std::os::raw::c_char;
use std::path::Path;
use std::ptr;
use std::slice;

use crate::graph::{Graph, Symbol};
use crate::host::release;
use crate::sys::{self, tailor_graph, tailor_status};
use crate::{check, invalid, Tensor};

/// A model that was not loaded: INVALID_ARGUMENT if it is wrong, UNIMPLEMENTED if it is valid but not supported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Its `node` is the node, input or initializer at fault: `Gather node "x"`.
    pub error: crate::Error,
    /// If the model depends on data that compilation has to know: the inputs which, if [fixed](Options::fixed), might avoid
    /// that.
    pub needs_fixed: Vec<String>,
}

/// What functions of this module return.
pub type Result<T> = std::result::Result<T, Error>;

impl From<crate::Error> for Error {
    fn from(error: crate::Error) -> Error {
        Error { error, needs_fixed: Vec::new() }
    }
}

/// For `?` in functions that return [`tailor::Result`](crate::Result).
impl From<Error> for crate::Error {
    fn from(error: Error) -> crate::Error {
        error.error
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl std::error::Error for Error {}

/// A dim of inputs: `4.into()`, or an expression, `"2*S + 1".into()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputDim<'a> {
    /// A number.
    Number(i64),
    /// Integers, symbols, `+ - *`, parentheses, and `floordiv(a, b)`, `mod`, `min`, `max`, `ceildiv`.
    Text(&'a str),
}

impl From<i64> for InputDim<'_> {
    fn from(number: i64) -> Self {
        InputDim::Number(number)
    }
}

impl<'a> From<&'a str> for InputDim<'a> {
    fn from(text: &'a str) -> Self {
        InputDim::Text(text)
    }
}

/// The options of loading a model. `Options { dims: &[("batch", 4.into())], ..Default::default() }`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Ranges of symbols by name; others have the default range.
    pub symbols: &'a [(&'a str, Symbol<'a>)],
    /// What stands for a dim_param, or for `"<input>_dim<i>"`, a dim without one. Others are symbols of these names.
    pub dims: &'a [(&'a str, InputDim<'a>)],
    /// Inputs that always have these elements: axes, shapes and the like that compilation has to know. They are copied, and
    /// the graph does not have these inputs.
    pub fixed: &'a [(&'a str, Tensor<'a>)],
    /// Of a model in memory: the folder of its external data; `None`: it has none.
    pub directory: Option<&'a Path>,
    /// Domains whose nodes are custom operators: `Op` of domain `"d"` is operator `"d::Op"`.
    pub custom_domains: &'a [&'a str],
}

/// The graph of the model file `path`.
///
/// Weights stay in the mapped file: it and the files of its external data must not change until the graph and every compilation
/// of it are gone. NOT_FOUND for a missing file.
pub fn load<P: AsRef<Path>>(path: P) -> Result<Graph> {
    load_with(path, &Options::default())
}

/// The same with options.
pub fn load_with<P: AsRef<Path>>(path: P, options: &Options<'_>) -> Result<Graph> {
    let path = utf8("path", path.as_ref())?;
    options.with(|options, out| {
        // SAFETY: path and options are valid for the call.
        unsafe { sys::tailor_onnx_load(chars(path), path.len(), options, out) }
    })
}

/// The graph of a model in memory, which is copied.
pub fn load_bytes(model: &[u8], options: &Options<'_>) -> Result<Graph> {
    options.with(|options, out| {
        let (data, user) = (model.as_ptr() as *const c_void, ptr::null_mut());
        // SAFETY: the bytes and options are valid for the call, after which nothing points to them.
        unsafe { sys::tailor_onnx_load_memory(data, model.len(), None, user, options, out) }
    })
}

/// The graph of a model in the bytes of `owner` themselves: a `Vec`, an `Arc`, a mapped file. The owner is dropped, on any
/// thread, when the graph and every compilation of it are gone.
pub fn load_from<O>(owner: O, options: &Options<'_>) -> Result<Graph>
where
    O: AsRef<[u8]> + Send + 'static,
{
    let owner = Box::new(owner);
    options.with(move |options, out| {
        let owner = Box::into_raw(owner);
        // SAFETY: the box stays where it is until `release`, which the library calls once, also where it fails.
        unsafe {
            let model = (*owner).as_ref();
            let (data, user) = (model.as_ptr() as *const c_void, owner as *mut c_void);
            sys::tailor_onnx_load_memory(data, model.len(), Some(release::<O>), user, options, out)
        }
    })
}

impl Options<'_> {
    /// Calls `load` with these options in C's form.
    fn with<F>(&self, load: F) -> Result<Graph>
    where
        F: FnOnce(&sys::tailor_onnx_options, &mut *mut tailor_graph) -> *mut tailor_status,
    {
        let symbols: Vec<_> = self.symbols.iter().map(|(name, symbol)| symbol_to_c(name, symbol)).collect();
        let texts: Vec<String> = self.dims.iter().map(|(_, dim)| dim.text()).collect();
        let dims: Vec<_> = self.dims.iter().zip(&texts).map(|((name, _), text)| dim_to_c(name, text)).collect();
        let fixed = self.fixed.iter().map(|(name, tensor)| fixed_to_c(name, tensor)).collect::<Result<Vec<_>>>()?;
        let directory = self.directory.map(|directory| utf8("directory", directory)).transpose()?;
        let domains = self.custom_domains.iter().map(|domain| CString::new(*domain));
        let domains = domains.collect::<std::result::Result<Vec<_>, _>>();
        let domains = domains.map_err(|_| invalid("custom_domains: a domain holds a NUL".to_string()))?;
        let domain_pointers: Vec<_> = domains.iter().map(|domain| domain.as_ptr()).collect();
        let mut needs_fixed: Vec<String> = Vec::new();
        let options = sys::tailor_onnx_options {
            symbols: symbols.as_ptr(),
            symbol_count: symbols.len(),
            dims: dims.as_ptr(),
            dim_count: dims.len(),
            fixed: fixed.as_ptr(),
            fixed_count: fixed.len(),
            needs_fixed: Some(note),
            user: &mut needs_fixed as *mut Vec<String> as *mut c_void,
            directory: directory.map_or(ptr::null(), chars),
            directory_size: directory.map_or(0, str::len),
            custom_domains: domain_pointers.as_ptr(),
            custom_domain_count: domain_pointers.len(),
            ..Default::default()
        };
        let mut raw = ptr::null_mut();
        check(load(&options, &mut raw)).map_err(|error| Error { error, needs_fixed })?;
        Ok(Graph::of(raw))
    }
}

impl InputDim<'_> {
    fn text(&self) -> String {
        match self {
            InputDim::Number(number) => number.to_string(),
            InputDim::Text(text) => text.to_string(),
        }
    }
}

fn symbol_to_c(name: &str, symbol: &Symbol<'_>) -> sys::tailor_onnx_symbol {
    sys::tailor_onnx_symbol {
        name: chars(name),
        name_size: name.len(),
        min: symbol.min,
        max: symbol.max,
        multiple_of: symbol.multiple_of,
        likely: symbol.likely.as_ptr(),
        likely_count: symbol.likely.len(),
    }
}

fn dim_to_c(name: &str, text: &str) -> sys::tailor_onnx_dim {
    sys::tailor_onnx_dim { name: chars(name), name_size: name.len(), text: chars(text), text_size: text.len() }
}

fn fixed_to_c(name: &str, tensor: &Tensor<'_>) -> Result<sys::tailor_onnx_fixed> {
    match &tensor.invalid {
        Some(reason) => Err(invalid(format!("the fixed input \"{}\": {}", name, reason)).into()),
        None => Ok(sys::tailor_onnx_fixed { name: chars(name), name_size: name.len(), tensor: tensor.raw }),
    }
}

unsafe extern "C" fn note(user: *mut c_void, input: *const c_char, size: usize) {
    // SAFETY: the library calls on the thread of Options::with, whose list this is, with a name of `size` bytes. Nothing here
    // panics.
    let (inputs, name) = (&mut *(user as *mut Vec<String>), slice::from_raw_parts(input as *const u8, size));
    inputs.push(String::from_utf8_lossy(name).into_owned());
}

fn utf8<'a>(what: &str, path: &'a Path) -> crate::Result<&'a str> {
    path.to_str().ok_or_else(|| invalid(format!("the {} is not UTF-8", what)))
}

fn chars(text: &str) -> *const c_char {
    text.as_ptr() as *const c_char
}
