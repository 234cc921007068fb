//! Compound operations: they append primitives. A negative axis counts from the end.

use std::ptr;

use super::{DimSize, Value};
use crate::{invalid, sys, Result};

/// Windows over the spatial dims of x `[N, C, D...]`, those after the second. Each list has an entry for each of them, or
/// none: strides and dilations 1, no padding.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spatial<'a> {
    /// The steps between windows.
    pub strides: &'a [i64],
    /// The steps between elements of a window.
    pub dilations: &'a [i64],
    /// Elements of padding before the first; negative ones crop.
    pub low: &'a [DimSize],
    /// And after the last.
    pub high: &'a [DimSize],
}

impl<'g> Value<'g> {
    /// e^x / sum(e^x) along `axis`.
    pub fn softmax(self, axis: i64) -> Result<Value<'g>> {
        // SAFETY, here and below: the graph is live, and so are arrays and options for the call.
        self.graph.append(|graph, out| unsafe { sys::tailor_graph_softmax(graph, self.handle, axis, out) })
    }

    /// The logarithm of softmax.
    pub fn log_softmax(self, axis: i64) -> Result<Value<'g>> {
        self.graph.append(|graph, out| unsafe { sys::tailor_graph_log_softmax(graph, self.handle, axis, out) })
    }

    /// (x - mean) / sqrt(variance + epsilon) * scale + bias over the last axis, whose dim size `scale` and `bias` have.
    pub fn layer_norm(
        self,
        scale: Option<Value<'_>>,
        bias: Option<Value<'_>>,
        epsilon: f64,
    ) -> Result<Value<'g>> {
        let (scale, bias) = (handle(scale), handle(bias));
        self.graph.append(|graph, out| unsafe {
            sys::tailor_graph_layer_norm(graph, self.handle, scale, bias, epsilon, out)
        })
    }

    /// x / 2 * (1 + erf(x / sqrt(2))).
    pub fn gelu(self) -> Result<Value<'g>> {
        self.graph.append(|graph, out| unsafe { sys::tailor_graph_gelu(graph, self.handle, out) })
    }

    /// The approximation of gelu by tanh.
    pub fn gelu_tanh(self) -> Result<Value<'g>> {
        self.graph.append(|graph, out| unsafe { sys::tailor_graph_gelu_tanh(graph, self.handle, out) })
    }

    /// x / max(||x||, epsilon) along `axis`.
    pub fn l2_normalize(self, axis: i64, epsilon: f64) -> Result<Value<'g>> {
        self.graph
            .append(|graph, out| unsafe { sys::tailor_graph_l2_normalize(graph, self.handle, axis, epsilon, out) })
    }

    /// softmax(query key^T * scale + mask) value, the query being self.
    ///
    /// Shapes: query `[B..., M, D]`, key `[B..., N, D]`, value `[B..., N, E]` -> `[B..., M, E]`; mask broadcasts to
    /// `[B..., M, N]`. Without a scale it is 1/sqrt(D), which must then be constant.
    pub fn attention(
        self,
        key: Value<'_>,
        value: Value<'_>,
        mask: Option<Value<'_>>,
        scale: Option<f64>,
    ) -> Result<Value<'g>> {
        let (mask, scale) = (handle(mask), scale.unwrap_or(0.0));
        self.graph.append(|graph, out| unsafe {
            sys::tailor_graph_attention(graph, self.handle, key.handle, value.handle, mask, scale, out)
        })
    }

    /// The convolution of x `[N, C, D...]` with weights `[M, C / groups, K...]`, plus bias `[M]`.
    pub fn conv(
        self,
        weights: Value<'_>,
        bias: Option<Value<'_>>,
        groups: i64,
        spatial: Spatial<'_>,
    ) -> Result<Value<'g>> {
        let (weights, bias) = (weights.handle, handle(bias));
        self.windows(spatial, |graph, options, out| unsafe {
            sys::tailor_graph_conv(graph, self.handle, weights, bias, groups, options, out)
        })
    }

    /// The largest element of each window of `sizes`, one per spatial dim. Padding is below every element.
    pub fn max_pool(self, sizes: &[DimSize], spatial: Spatial<'_>) -> Result<Value<'g>> {
        let sizes = self.graph.dims(sizes)?;
        self.windows(spatial, |graph, options, out| unsafe {
            sys::tailor_graph_max_pool(graph, self.handle, sizes.as_ptr(), sizes.len(), options, out)
        })
    }

    /// The mean of each window of `sizes`: over the elements of x in it, with `count_include_pad` also over its padding,
    /// zeros.
    pub fn average_pool(
        self,
        sizes: &[DimSize],
        count_include_pad: bool,
        spatial: Spatial<'_>,
    ) -> Result<Value<'g>> {
        let sizes = self.graph.dims(sizes)?;
        let padded = count_include_pad.into();
        self.windows(spatial, |graph, options, out| unsafe {
            sys::tailor_graph_average_pool(graph, self.handle, sizes.as_ptr(), sizes.len(), padded, options, out)
        })
    }

    fn windows(self, spatial: Spatial<'_>, function: impl FnOnce(Raw, Options, Out) -> Status) -> Result<Value<'g>> {
        let lists = [spatial.strides.len(), spatial.dilations.len(), spatial.low.len(), spatial.high.len()];
        let rank = lists.into_iter().max().unwrap_or(0);
        if lists.iter().any(|&count| count != 0 && count != rank) {
            let [strides, dilations, low, high] = lists;
            return Err(invalid(format!(
                "there are {} strides, {} dilations, {} low and {} high: each needs one for each spatial dim, or none",
                strides, dilations, low, high
            )));
        }
        let (low, high) = (self.graph.dims(spatial.low)?, self.graph.dims(spatial.high)?);
        let options = sys::tailor_spatial_options {
            rank,
            strides: array(spatial.strides),
            dilations: array(spatial.dilations),
            low: array(&low),
            high: array(&high),
            ..Default::default()
        };
        let options = if rank == 0 { ptr::null() } else { &options as Options };
        self.graph.append(|graph, out| function(graph, options, out))
    }
}

type Raw = *mut sys::tailor_graph;
type Options = *const sys::tailor_spatial_options;
type Out = *mut u64;
type Status = *mut sys::tailor_status;

/// NULL stands for the defaults.
fn array<T>(list: &[T]) -> *const T {
    if list.is_empty() {
        ptr::null()
    } else {
        list.as_ptr()
    }
}

/// 0 stands for no operand.
pub(super) fn handle(value: Option<Value<'_>>) -> u64 {
    value.map_or(0, |value| value.handle)
}
