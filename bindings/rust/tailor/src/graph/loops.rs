//! Loops and branches, and builders of loops: recurrent layers, sorting, selection of elements.

use std::ffi::CString;
use std::ptr;

use super::builders::handle;
use super::{handles, DimSize, Graph, Value};
use crate::{invalid, sys, Result};

/// Options of a recurrent layer. Defaults: zeros, all steps, sigmoid and tanh.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recurrence<'a> {
    /// `[G * H]`, added to x w^T.
    pub bias: Option<Value<'a>>,
    /// `[G * H]`, added to h r^T.
    pub recurrent_bias: Option<Value<'a>>,
    /// `[B, H]`.
    pub initial_h: Option<Value<'a>>,
    /// `[B, H]`; only lstm.
    pub initial_c: Option<Value<'a>>,
    /// i32 or i64 `[B]`, the lengths of sequences: steps beyond keep the state and give 0.
    pub lengths: Option<Value<'a>>,
    /// `[3 * H]`, weights of c in the gates i, o, f; only lstm.
    pub peepholes: Option<Value<'a>>,
    /// From the last step to the first.
    pub reverse: bool,
    /// The reset gate of a gru multiplies h r_n^T, not h.
    pub linear_before_reset: bool,
    /// The forget gate of an lstm is 1 - i.
    pub input_forget: bool,
    /// Functions of the gates get arguments within `[-clip, clip]`; 0: any.
    pub clip: f64,
    /// The functions f, g, k, as many as the layer has.
    pub activations: &'a [Activation<'a>],
}

/// A function of gates by its name in `tailor_recurrence_options`, and its parameters if they differ from the defaults.
#[derive(Clone, Copy, Debug, Default)]
pub struct Activation<'a> {
    /// Its name: `"relu"`.
    pub name: &'a str,
    /// The parameter a.
    pub alpha: Option<f64>,
    /// The parameter b.
    pub beta: Option<f64>,
}

/// Elements or slices without repeats, U of them, a new symbol.
#[derive(Clone, Copy, Debug)]
pub struct Unique<'g> {
    /// Those elements or slices.
    pub values: Value<'g>,
    /// i64 `[U]`: where each occurs first.
    pub indices: Value<'g>,
    /// i64 `[N]`: the place among the values of each element or slice.
    pub inverse: Value<'g>,
    /// i64 `[U]`: how often each occurs.
    pub counts: Value<'g>,
}

impl<'g> Value<'g> {
    /// (y, h) of h' = f(x w^T + h r^T) over the steps of x `[T, B, I]`: y `[T, B, H]` holds the state after each step, h
    /// `[B, H]` is the last one. w is `[G * H, I]` and r `[G * H, H]`: G blocks of rows, one per gate; here G = 1. f is tanh.
    pub fn rnn(self, w: Value<'_>, r: Value<'_>, options: Recurrence<'_>) -> Result<(Value<'g>, Value<'g>)> {
        // SAFETY, here and below: graphs are live, and so are arrays and options for the call; the library checks that
        // values and dims are the graph's.
        let [y, h] = options.with(|options| {
            self.graph.append_all(|graph, [y, h]| unsafe {
                sys::tailor_graph_rnn(graph, self.handle, w.handle, r.handle, options, y, h)
            })
        })?;
        Ok((y, h))
    }

    /// (y, h) of gates z, r, n, in this order, as [`rnn`](Value::rnn): h' = (1 - z) n + z h with z, r = f(x w^T + h r^T)
    /// and n = g(x w_n^T + (r h) r_n^T), or with `linear_before_reset` g(x w_n^T + r (h r_n^T)).
    pub fn gru(self, w: Value<'_>, r: Value<'_>, options: Recurrence<'_>) -> Result<(Value<'g>, Value<'g>)> {
        let [y, h] = options.with(|options| {
            self.graph.append_all(|graph, [y, h]| unsafe {
                sys::tailor_graph_gru(graph, self.handle, w.handle, r.handle, options, y, h)
            })
        })?;
        Ok((y, h))
    }

    /// (y, h, c) of gates i, o, f, n, in this order, as [`rnn`](Value::rnn): c' = f c + i n, h' = o k(c') with i, o, f =
    /// f(x w^T + h r^T + p c), where o sees c', and n = g(x w_n^T + h r_n^T).
    pub fn lstm(
        self,
        w: Value<'_>,
        r: Value<'_>,
        options: Recurrence<'_>,
    ) -> Result<(Value<'g>, Value<'g>, Value<'g>)> {
        let [y, h, c] = options.with(|options| {
            self.graph.append_all(|graph, [y, h, c]| unsafe {
                sys::tailor_graph_lstm(graph, self.handle, w.handle, r.handle, options, y, h, c)
            })
        })?;
        Ok((y, h, c))
    }

    /// (values, indices) along an axis. NaN is above all numbers; equal elements keep their order.
    pub fn sort(self, axis: i64, descending: bool) -> Result<(Value<'g>, Value<'g>)> {
        let [values, indices] = self.graph.append_all(|graph, [values, indices]| unsafe {
            sys::tailor_graph_sort(graph, self.handle, axis, descending.into(), values, indices)
        })?;
        Ok((values, indices))
    }

    /// (values, indices) of the k largest elements along an axis, descending, or of the smallest, ascending.
    pub fn top_k(self, k: impl Into<DimSize>, axis: i64, largest: bool) -> Result<(Value<'g>, Value<'g>)> {
        let k = self.graph.dim_size(k.into())?;
        let [values, indices] = self.graph.append_all(|graph, [values, indices]| unsafe {
            sys::tailor_graph_top_k(graph, self.handle, k, axis, largest.into(), values, indices)
        })?;
        Ok((values, indices))
    }

    /// The rows of x `[N, ...]` that mask, bool `[N]`, keeps: `[M, ...]`, M being a new symbol.
    pub fn compact(self, mask: Value<'_>) -> Result<Value<'g>> {
        self.graph.append(|graph, out| unsafe { sys::tailor_graph_compact(graph, self.handle, mask.handle, out) })
    }

    /// The indices of the elements that are not 0, in row-major order: i64 `[rank, M]`, M being a new symbol.
    pub fn nonzero(self) -> Result<Value<'g>> {
        self.graph.append(|graph, out| unsafe { sys::tailor_graph_nonzero(graph, self.handle, out) })
    }

    /// The elements, or the slices along an axis, without repeats; ascending, or in the order in which they occur.
    pub fn unique(self, axis: Option<i64>, sorted: bool) -> Result<Unique<'g>> {
        let axis = axis.as_ref().map_or(ptr::null(), |axis| axis as *const i64);
        let [values, indices, inverse, counts] =
            self.graph.append_all(|graph, [values, indices, inverse, counts]| unsafe {
                let sorted = sorted.into();
                sys::tailor_graph_unique(graph, self.handle, axis, sorted, values, indices, inverse, counts)
            })?;
        Ok(Unique { values, indices, inverse, counts })
    }
}

/// Loops and branches run regions: graphs of their own, whose inputs take the values and whose outputs are the results. A
/// region has symbols of its own, which are bound from the dim sizes of its inputs, and is copied.
///
/// `shapes` lists the dim sizes of all results, one after the other. Without any they are inferred; they are needed if
/// a dim size is data-dependent: it is then a symbol that nothing before uses.
impl Graph {
    /// The values after running `body` (values -> values) as long as `condition` (values -> bool `[]`) of them is true.
    pub fn while_(
        &self,
        values: &[Value<'_>],
        condition: &Graph,
        body: &Graph,
        shapes: &[DimSize],
    ) -> Result<Vec<Value<'_>>> {
        let (given, shapes) = (handles(values), self.dims(shapes)?);
        self.append_list(values.len(), |graph, results| unsafe {
            let (given, count) = (given.as_ptr(), given.len());
            let (shapes, shape_count) = (shapes.as_ptr(), shapes.len());
            sys::tailor_graph_while(graph, given, count, condition.raw, body.raw, shapes, shape_count, results)
        })
    }

    /// The results of `then_branch` (values -> results) if `condition`, a bool `[]`, is true, else of `else_branch`.
    pub fn if_(
        &self,
        condition: Value<'_>,
        values: &[Value<'_>],
        then_branch: &Graph,
        else_branch: &Graph,
        shapes: &[DimSize],
    ) -> Result<Vec<Value<'_>>> {
        let (given, shapes) = (handles(values), self.dims(shapes)?);
        let result_count = unsafe { sys::tailor_graph_output_count(then_branch.raw) };
        self.append_list(result_count, |graph, results| unsafe {
            sys::tailor_graph_if(
                graph,
                condition.handle,
                given.as_ptr(),
                given.len(),
                then_branch.raw,
                else_branch.raw,
                shapes.as_ptr(),
                shapes.len(),
                results,
                result_count,
            )
        })
    }

    pub(super) fn append_list(
        &self,
        count: usize,
        function: impl FnOnce(*mut sys::tailor_graph, *mut u64) -> *mut sys::tailor_status,
    ) -> Result<Vec<Value<'_>>> {
        let mut results = vec![0; count];
        self.call(|graph| function(graph, results.as_mut_ptr()))?;
        Ok(results.into_iter().map(|handle| Value { graph: self, handle }).collect())
    }
}

impl Recurrence<'_> {
    /// Calls `function` with the options as the library reads them.
    fn with<T>(&self, function: impl FnOnce(*const sys::tailor_recurrence_options) -> Result<T>) -> Result<T> {
        let names = self.activations.iter().map(|activation| CString::new(activation.name));
        let names = names.collect::<std::result::Result<Vec<_>, _>>();
        let names = names.map_err(|_| invalid(format!("a name of {:?} has a NUL inside", self.activations)))?;
        let pointers: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        let parameters = |parameter: fn(&Activation<'_>) -> Option<f64>| -> Vec<f64> {
            self.activations.iter().map(|activation| parameter(activation).unwrap_or(f64::NAN)).collect()
        };
        let alphas = parameters(|activation| activation.alpha);
        let betas = parameters(|activation| activation.beta);
        function(&sys::tailor_recurrence_options {
            bias: handle(self.bias),
            recurrent_bias: handle(self.recurrent_bias),
            initial_h: handle(self.initial_h),
            initial_c: handle(self.initial_c),
            lengths: handle(self.lengths),
            peepholes: handle(self.peepholes),
            reverse: self.reverse.into(),
            linear_before_reset: self.linear_before_reset.into(),
            input_forget: self.input_forget.into(),
            clip: self.clip,
            activations: pointers.as_ptr(),
            alphas: alphas.as_ptr(),
            betas: betas.as_ptr(),
            activation_count: pointers.len(),
            ..Default::default()
        })
    }
}
