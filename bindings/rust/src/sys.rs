//! The C ABI of `tailor/runtime.h`, as far as this crate uses it.
#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_void};

pub const MAX_RANK: usize = 8;

#[repr(C)]
pub struct tailor_status {
    _private: [u8; 0],
}
#[repr(C)]
pub struct tailor_executable {
    _private: [u8; 0],
}
#[repr(C)]
pub struct tailor_session {
    _private: [u8; 0],
}
#[repr(C)]
pub struct tailor_runtime {
    _private: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tailor_tensor {
    pub struct_size: u64,
    pub data: *mut c_void,
    pub data_bytes: u64,
    pub dtype: i32,
    pub rank: i32,
    pub dims: [i64; MAX_RANK],
    pub strides: *const i64,
    pub device: i64,
}

/// Of `tailor_tensor::device`.
pub const HOST_MEMORY: i64 = 0;
pub const DEVICE_MEMORY: i64 = 1;

#[repr(C)]
pub struct tailor_load_options {
    pub struct_size: u64,
    pub verify_constants: i32,
    pub copy_constants: i32,
    pub target: *const c_char,
    pub public_key: *const u8,
    pub cost_profile: *const c_char,
    pub cost_profile_size: u64,
    pub device: i32,
    pub device_ordinal: i32,
}

#[repr(C)]
pub struct tailor_tensor_info {
    pub struct_size: u64,
    pub name: *const c_char,
    pub dtype: i32,
    pub rank: i32,
    pub extents: [i64; MAX_RANK],
    pub dim_texts: [*const c_char; MAX_RANK],
    pub donated: i64,
    pub memory_of: i64,
}

#[repr(C)]
pub struct tailor_custom_tensor {
    pub data: *mut c_void,
    pub dims: *const i64,
    pub dtype: i32,
    pub rank: i32,
}

#[repr(C)]
pub struct tailor_custom_call {
    pub struct_size: u64,
    pub name: *const c_char,
    pub node: *const c_char,
    pub attributes: *const c_char,
    pub attributes_size: u64,
    pub operands: *const tailor_custom_tensor,
    pub operand_count: u64,
    pub results: *const tailor_custom_tensor,
    pub result_count: u64,
    pub workspace: *mut c_void,
    pub workspace_bytes: u64,
    pub stream: *mut c_void,
    pub message: *mut c_char,
    pub message_capacity: u64,
}

#[repr(C)]
pub struct tailor_custom_operator {
    pub struct_size: u64,
    pub name: *const c_char,
    pub name_size: usize,
    pub device: i32,
    pub reserved: i32,
    pub function: unsafe extern "C" fn(*mut c_void, *const tailor_custom_call) -> i32,
    pub workspace: Option<unsafe extern "C" fn(*mut c_void, *const tailor_custom_call, *mut u64) -> i32>,
    pub user: *mut c_void,
    pub released: Option<unsafe extern "C" fn(*mut c_void)>,
}

pub type Task = unsafe extern "C" fn(*mut c_void, usize);
pub type ParallelFor = unsafe extern "C" fn(*mut c_void, Task, *mut c_void, usize);

#[repr(C)]
pub struct tailor_session_options {
    pub struct_size: u64,
    pub threads: u64,
    pub parallel_for: Option<ParallelFor>,
    pub parallel_user: *mut c_void,
    pub copy_strided: i32,
    pub idle_sleep: i32,
    pub trace: *const c_void,
    pub trace_user: *mut c_void,
    pub stream: *mut c_void,
    pub asynchronous: i32,
    pub host_outputs: i32,
    pub cuda_graph: i64,
}

#[link(name = "tailor_runtime")]
extern "C" {
    pub fn tailor_status_code(status: *const tailor_status) -> i32;
    pub fn tailor_status_message(status: *const tailor_status) -> *const c_char;
    pub fn tailor_status_node(status: *const tailor_status) -> *const c_char;
    pub fn tailor_status_release(status: *mut tailor_status);
    pub fn tailor_version() -> *const c_char;
    pub fn tailor_cpu_features() -> *const c_char;
    pub fn tailor_runtime_create(options: *const c_void, out: *mut *mut tailor_runtime) -> *mut tailor_status;
    pub fn tailor_runtime_release(runtime: *mut tailor_runtime);
    pub fn tailor_runtime_register(
        runtime: *mut tailor_runtime,
        op: *const tailor_custom_operator,
    ) -> *mut tailor_status;
    pub fn tailor_executable_load(
        runtime: *const tailor_runtime,
        path: *const c_char,
        path_size: usize,
        options: *const tailor_load_options,
        out: *mut *mut tailor_executable,
    ) -> *mut tailor_status;
    pub fn tailor_executable_load_memory(
        runtime: *const tailor_runtime,
        data: *const c_void,
        size: usize,
        options: *const tailor_load_options,
        released: Option<unsafe extern "C" fn(*mut c_void)>,
        user: *mut c_void,
        out: *mut *mut tailor_executable,
    ) -> *mut tailor_status;
    pub fn tailor_executable_retain(executable: *const tailor_executable);
    pub fn tailor_executable_release(executable: *mut tailor_executable);
    pub fn tailor_executable_save(
        executable: *const tailor_executable,
        path: *const c_char,
        path_size: usize,
    ) -> *mut tailor_status;
    pub fn tailor_executable_input_count(executable: *const tailor_executable) -> usize;
    pub fn tailor_executable_output_count(executable: *const tailor_executable) -> usize;
    pub fn tailor_executable_input(
        executable: *const tailor_executable,
        index: usize,
        out: *mut tailor_tensor_info,
    ) -> *mut tailor_status;
    pub fn tailor_executable_output(
        executable: *const tailor_executable,
        index: usize,
        out: *mut tailor_tensor_info,
    ) -> *mut tailor_status;
    pub fn tailor_session_create(
        executable: *const tailor_executable,
        options: *const tailor_session_options,
        out: *mut *mut tailor_session,
    ) -> *mut tailor_status;
    pub fn tailor_session_release(session: *mut tailor_session);
    pub fn tailor_session_run(
        session: *mut tailor_session,
        inputs: *const tailor_tensor,
        input_count: usize,
        outputs: *mut tailor_tensor,
        output_count: usize,
    ) -> *mut tailor_status;
    pub fn tailor_session_wait(session: *mut tailor_session) -> *mut tailor_status;
    pub fn tailor_session_poll(session: *mut tailor_session, done: *mut i32) -> *mut tailor_status;
    pub fn tailor_session_set_seed(session: *mut tailor_session, seed: u64) -> *mut tailor_status;
    pub fn tailor_session_stream(session: *const tailor_session) -> *mut c_void;
}
