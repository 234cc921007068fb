//! The C ABI of `tailor/compiler.h`, as far as this crate uses it; `ops.rs` has that of `tailor/ops.h`.
#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_void};

use crate::sys::{tailor_executable, tailor_runtime, tailor_status};

#[repr(C)]
pub struct tailor_graph {
    _private: [u8; 0],
}

#[repr(C)]
pub struct tailor_symbol_options {
    pub struct_size: u64,
    pub min: i64,
    pub max: i64,
    pub multiple_of: i64,
    pub likely: *const i64,
    pub likely_count: usize,
}

#[repr(C)]
pub struct tailor_spatial_options {
    pub struct_size: u64,
    pub rank: usize,
    pub strides: *const i64,
    pub dilations: *const i64,
    pub low: *const u64,
    pub high: *const u64,
}

#[repr(C)]
pub struct tailor_recurrence_options {
    pub struct_size: u64,
    pub bias: u64,
    pub recurrent_bias: u64,
    pub initial_h: u64,
    pub initial_c: u64,
    pub lengths: u64,
    pub peepholes: u64,
    pub reverse: i32,
    pub linear_before_reset: i32,
    pub input_forget: i32,
    pub reserved: i32,
    pub clip: f64,
    pub activations: *const *const c_char,
    pub alphas: *const f64,
    pub betas: *const f64,
    pub activation_count: usize,
}

#[repr(C)]
pub struct tailor_custom_result {
    pub dims: *const u64,
    pub rank: usize,
    pub dtype: i32,
    pub counted_dim: i32,
}

#[repr(C)]
pub struct tailor_custom_options {
    pub struct_size: u64,
    pub attributes: *const c_char,
    pub attributes_size: usize,
    pub impure: i32,
    pub reserved: i32,
}

#[repr(C)]
pub struct tailor_compile_options {
    pub struct_size: u64,
    pub targets: *const *const c_char,
    pub target_count: usize,
    pub progress: Option<unsafe extern "C" fn(*mut c_void, *const c_char, f64) -> i32>,
    pub progress_user: *mut c_void,
    pub threads: u64,
    pub secret_key: *const u8,
    pub max_versions: u64,
    pub max_code_bytes: u64,
    pub donated: *const *const c_char,
    pub donated_count: usize,
    pub device: i32,
    pub device_ordinal: i32,
    pub offer_products: i32,
    pub direct_convolutions: i32,
    pub allow_tf32: i64,
    pub memory_limit: u64,
    pub isolated: i64,
    pub worker: *const c_char,
}

/// Relations of `tailor_dim_compare`.
pub const DIM_EQUAL: i32 = 0;
pub const DIM_LESS: i32 = 1;
pub const DIM_AT_MOST: i32 = 2;

/// One of `tailor_dim_add` to `tailor_dim_equal`.
pub type DimFunction = unsafe extern "C" fn(*mut tailor_graph, u64, u64, *mut u64) -> *mut tailor_status;

#[link(name = "tailor")]
extern "C" {
    pub fn tailor_graph_create(name: *const c_char, size: usize, out: *mut *mut tailor_graph) -> *mut tailor_status;
    pub fn tailor_graph_parse(text: *const c_char, size: usize, out: *mut *mut tailor_graph) -> *mut tailor_status;
    pub fn tailor_graph_release(graph: *mut tailor_graph);

    pub fn tailor_graph_symbol(
        graph: *mut tailor_graph,
        name: *const c_char,
        name_size: usize,
        options: *const tailor_symbol_options,
        out: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_dim(graph: *mut tailor_graph, dim_size: i64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_dim_add(graph: *mut tailor_graph, lhs: u64, rhs: u64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_dim_sub(graph: *mut tailor_graph, lhs: u64, rhs: u64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_dim_mul(graph: *mut tailor_graph, lhs: u64, rhs: u64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_dim_floordiv(graph: *mut tailor_graph, lhs: u64, rhs: u64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_dim_mod(graph: *mut tailor_graph, lhs: u64, rhs: u64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_dim_min(graph: *mut tailor_graph, lhs: u64, rhs: u64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_dim_max(graph: *mut tailor_graph, lhs: u64, rhs: u64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_dim_ceildiv(graph: *mut tailor_graph, lhs: u64, rhs: u64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_dim_truncdiv(graph: *mut tailor_graph, lhs: u64, rhs: u64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_dim_truncmod(graph: *mut tailor_graph, lhs: u64, rhs: u64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_dim_less(graph: *mut tailor_graph, lhs: u64, rhs: u64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_dim_equal(graph: *mut tailor_graph, lhs: u64, rhs: u64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_dim_select(
        graph: *mut tailor_graph,
        condition: u64,
        lhs: u64,
        rhs: u64,
        out: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_assume_equal(graph: *mut tailor_graph, lhs: u64, rhs: u64) -> *mut tailor_status;
    pub fn tailor_graph_assume_at_least(
        graph: *mut tailor_graph,
        lhs: u64,
        rhs: u64,
        what: *const c_char,
        size: usize,
    ) -> *mut tailor_status;
    pub fn tailor_dim_range(graph: *mut tailor_graph, dim: u64, min: *mut i64, max: *mut i64) -> *mut tailor_status;
    pub fn tailor_dim_compare(
        graph: *mut tailor_graph,
        lhs: u64,
        rhs: u64,
        relation: i32,
        result: *mut i32,
    ) -> *mut tailor_status;

    pub fn tailor_graph_input(
        graph: *mut tailor_graph,
        name: *const c_char,
        name_size: usize,
        dtype: i32,
        dims: *const u64,
        rank: usize,
        out: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_output(
        graph: *mut tailor_graph,
        name: *const c_char,
        name_size: usize,
        value: u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_constant(
        graph: *mut tailor_graph,
        name: *const c_char,
        name_size: usize,
        dtype: i32,
        dims: *const i64,
        rank: usize,
        data: *const c_void,
        size: usize,
        released: Option<unsafe extern "C" fn(*mut c_void)>,
        user: *mut c_void,
        out: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_scalar(graph: *mut tailor_graph, dtype: i32, value: f64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_graph_set_name(
        graph: *mut tailor_graph,
        value: u64,
        name: *const c_char,
        name_size: usize,
    ) -> *mut tailor_status;
    pub fn tailor_graph_value_type(
        graph: *mut tailor_graph,
        value: u64,
        dtype: *mut i32,
        rank: *mut i32,
        dims: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_text(graph: *mut tailor_graph, text: *mut *const c_char) -> *mut tailor_status;
    pub fn tailor_dim_text(graph: *mut tailor_graph, dim: u64, text: *mut *const c_char) -> *mut tailor_status;
    pub fn tailor_graph_facts_text(graph: *mut tailor_graph, text: *mut *const c_char) -> *mut tailor_status;

    pub fn tailor_graph_softmax(graph: *mut tailor_graph, x: u64, axis: i64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_graph_log_softmax(graph: *mut tailor_graph, x: u64, axis: i64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_graph_layer_norm(
        graph: *mut tailor_graph,
        x: u64,
        scale: u64,
        bias: u64,
        epsilon: f64,
        out: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_gelu(graph: *mut tailor_graph, x: u64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_graph_gelu_tanh(graph: *mut tailor_graph, x: u64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_graph_l2_normalize(
        graph: *mut tailor_graph,
        x: u64,
        axis: i64,
        epsilon: f64,
        out: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_attention(
        graph: *mut tailor_graph,
        query: u64,
        key: u64,
        value: u64,
        mask: u64,
        scale: f64,
        out: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_conv(
        graph: *mut tailor_graph,
        x: u64,
        weights: u64,
        bias: u64,
        groups: i64,
        options: *const tailor_spatial_options,
        out: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_max_pool(
        graph: *mut tailor_graph,
        x: u64,
        sizes: *const u64,
        size_count: usize,
        options: *const tailor_spatial_options,
        out: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_average_pool(
        graph: *mut tailor_graph,
        x: u64,
        sizes: *const u64,
        size_count: usize,
        count_include_pad: i32,
        options: *const tailor_spatial_options,
        out: *mut u64,
    ) -> *mut tailor_status;

    pub fn tailor_graph_rnn(
        graph: *mut tailor_graph,
        x: u64,
        w: u64,
        r: u64,
        options: *const tailor_recurrence_options,
        y: *mut u64,
        h: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_gru(
        graph: *mut tailor_graph,
        x: u64,
        w: u64,
        r: u64,
        options: *const tailor_recurrence_options,
        y: *mut u64,
        h: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_lstm(
        graph: *mut tailor_graph,
        x: u64,
        w: u64,
        r: u64,
        options: *const tailor_recurrence_options,
        y: *mut u64,
        h: *mut u64,
        c: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_sort(
        graph: *mut tailor_graph,
        x: u64,
        axis: i64,
        descending: i32,
        values: *mut u64,
        indices: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_top_k(
        graph: *mut tailor_graph,
        x: u64,
        k: u64,
        axis: i64,
        largest: i32,
        values: *mut u64,
        indices: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_compact(graph: *mut tailor_graph, x: u64, mask: u64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_graph_nonzero(graph: *mut tailor_graph, x: u64, out: *mut u64) -> *mut tailor_status;
    pub fn tailor_graph_unique(
        graph: *mut tailor_graph,
        x: u64,
        axis: *const i64,
        sorted: i32,
        values: *mut u64,
        indices: *mut u64,
        inverse: *mut u64,
        counts: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_output_count(graph: *const tailor_graph) -> usize;
    pub fn tailor_graph_while(
        graph: *mut tailor_graph,
        values: *const u64,
        count: usize,
        condition: *const tailor_graph,
        body: *const tailor_graph,
        shapes: *const u64,
        shape_count: usize,
        results: *mut u64,
    ) -> *mut tailor_status;
    pub fn tailor_graph_if(
        graph: *mut tailor_graph,
        condition: u64,
        values: *const u64,
        count: usize,
        then_branch: *const tailor_graph,
        else_branch: *const tailor_graph,
        shapes: *const u64,
        shape_count: usize,
        results: *mut u64,
        result_count: usize,
    ) -> *mut tailor_status;
    pub fn tailor_graph_custom(
        graph: *mut tailor_graph,
        name: *const c_char,
        name_size: usize,
        operands: *const u64,
        operand_count: usize,
        results: *const tailor_custom_result,
        result_count: usize,
        options: *const tailor_custom_options,
        out: *mut u64,
    ) -> *mut tailor_status;

    pub fn tailor_graph_compile(
        graph: *const tailor_graph,
        runtime: *const tailor_runtime,
        options: *const tailor_compile_options,
        out: *mut *mut tailor_executable,
    ) -> *mut tailor_status;
    pub fn tailor_graph_compile_artifact(
        graph: *const tailor_graph,
        options: *const tailor_compile_options,
        take: unsafe extern "C" fn(*mut c_void, *const c_void, usize),
        user: *mut c_void,
    ) -> *mut tailor_status;
}
