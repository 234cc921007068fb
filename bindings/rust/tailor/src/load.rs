//! Loading artifacts.

use std::ffi::{c_void, CString};
use std::os::raw::c_char;
use std::path::Path;
use std::ptr;

use crate::executable::utf8;
use crate::{check, invalid, sys, Device, Executable, Result, Runtime};

/// The options of loading an artifact: `LoadOptions { device: Device::Cuda(0), ..Default::default() }`.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions<'a> {
    /// The runtime that loads it, for its custom operators; none: one of its own.
    pub runtime: Option<&'a Runtime>,
    /// The device to run on; FAILED_PRECONDITION if the machine lacks it.
    pub device: Device,
    /// Forces a variant by its name, `x86-64-v2`, instead of the best that this machine runs.
    pub target: Option<&'a str>,
    /// Hashes the constants too.
    pub verify_constants: bool,
    /// Reads constants into memory instead of mapping the file.
    pub copy_constants: bool,
    /// An Ed25519 key: artifacts must be signed with its secret key; constants are then verified and copied.
    pub public_key: Option<&'a [u8; 32]>,
    /// The text of a profile of this machine, by which matmuls then choose their tiling.
    pub cost_profile: Option<&'a str>,
}

type Status = *mut sys::tailor_status;

/// A null runtime is one with default options.
pub(crate) fn raw_of(runtime: Option<&Runtime>) -> *const sys::tailor_runtime {
    runtime.map_or(ptr::null(), |runtime| runtime.handle.raw)
}

impl LoadOptions<'_> {
    /// Calls `load` with these options in C's form.
    fn with<F>(&self, load: F) -> Result<Executable>
    where
        F: FnOnce(*const sys::tailor_runtime, &sys::tailor_load_options, &mut *mut sys::tailor_executable) -> Status,
    {
        let target = CString::new(self.target.unwrap_or("")).map_err(|_| invalid("the target holds a NUL".into()))?;
        let (device, device_ordinal) = self.device.numbers();
        let profile = self.cost_profile.unwrap_or("");
        let options = sys::tailor_load_options {
            verify_constants: self.verify_constants.into(),
            copy_constants: self.copy_constants.into(),
            target: self.target.map_or(ptr::null(), |_| target.as_ptr()),
            public_key: self.public_key.map_or(ptr::null(), |key| key.as_ptr()),
            cost_profile: self.cost_profile.map_or(ptr::null(), |_| profile.as_ptr() as *const c_char),
            cost_profile_size: profile.len() as u64,
            device,
            device_ordinal,
            ..Default::default()
        };
        let mut raw = ptr::null_mut();
        check(load(raw_of(self.runtime), &options, &mut raw))?;
        // SAFETY: loading gave a live executable.
        unsafe { Executable::of(raw) }
    }
}

impl Executable {
    /// Loads an artifact for the CPU. Artifacts are native code: load only artifacts that you trust.
    pub fn load<P: AsRef<Path>>(path: P) -> Result<Executable> {
        Executable::load_with(path, &LoadOptions::default())
    }

    /// The same with options.
    pub fn load_with<P: AsRef<Path>>(path: P, options: &LoadOptions) -> Result<Executable> {
        let path = utf8(path.as_ref())?;
        options.with(|runtime, options, raw| {
            // SAFETY: runtime, path and options are valid for the call.
            unsafe { sys::tailor_executable_load(runtime, path.as_ptr() as *const c_char, path.len(), options, raw) }
        })
    }

    /// Loads an artifact's bytes, as [`load`](Executable::load) does a file's. They are copied.
    pub fn from_bytes(bytes: &[u8]) -> Result<Executable> {
        Executable::from_bytes_with(bytes, &LoadOptions::default())
    }

    /// The same with options.
    pub fn from_bytes_with(bytes: &[u8], options: &LoadOptions) -> Result<Executable> {
        options.with(|runtime, options, raw| {
            let (data, user) = (bytes.as_ptr() as *const c_void, ptr::null_mut());
            // SAFETY: the bytes are valid for the call, after which nothing points to them.
            unsafe { sys::tailor_executable_load_memory(runtime, data, bytes.len(), options, None, user, raw) }
        })
    }
}
