//! The C ABI of `tailor/onnx.h`, as far as this crate uses it.
#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_void};

use crate::graph::sys::tailor_graph;
use crate::sys::{tailor_status, tailor_tensor};

#[repr(C)]
pub struct tailor_onnx_symbol {
    pub name: *const c_char,
    pub name_size: usize,
    pub min: i64,
    pub max: i64,
    pub multiple_of: i64,
    pub likely: *const i64,
    pub likely_count: usize,
}

#[repr(C)]
pub struct tailor_onnx_dim {
    pub name: *const c_char,
    pub name_size: usize,
    pub text: *const c_char,
    pub text_size: usize,
}

#[repr(C)]
pub struct tailor_onnx_fixed {
    pub name: *const c_char,
    pub name_size: usize,
    pub tensor: tailor_tensor,
}

#[repr(C)]
pub struct tailor_onnx_options {
    pub struct_size: u64,
    pub symbols: *const tailor_onnx_symbol,
    pub symbol_count: usize,
    pub dims: *const tailor_onnx_dim,
    pub dim_count: usize,
    pub fixed: *const tailor_onnx_fixed,
    pub fixed_count: usize,
    pub needs_fixed: Option<unsafe extern "C" fn(*mut c_void, *const c_char, usize)>,
    pub user: *mut c_void,
    pub directory: *const c_char,
    pub directory_size: usize,
    pub custom_domains: *const *const c_char,
    pub custom_domain_count: usize,
}

#[link(name = "tailor_onnx")]
extern "C" {
    pub fn tailor_onnx_load(
        path: *const c_char,
        path_size: usize,
        options: *const tailor_onnx_options,
        out: *mut *mut tailor_graph,
    ) -> *mut tailor_status;
    pub fn tailor_onnx_load_memory(
        data: *const c_void,
        size: usize,
        released: Option<unsafe extern "C" fn(*mut c_void)>,
        user: *mut c_void,
        options: *const tailor_onnx_options,
        out: *mut *mut tailor_graph,
    ) -> *mut tailor_status;
}
