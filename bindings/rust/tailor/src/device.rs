//! Devices of executables.

use crate::sys;

/// The device that an executable runs on. No other device is taken in its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The CPU of this machine.
    #[default]
    Cpu,
    /// The GPU of this number.
    Cuda(i32),
}

impl Device {
    /// Kind and ordinal, as in the C options.
    pub(crate) fn numbers(self) -> (i32, i32) {
        match self {
            Device::Cpu => (sys::TAILOR_DEVICE_CPU, 0),
            Device::Cuda(ordinal) => (sys::TAILOR_DEVICE_CUDA, ordinal),
        }
    }
}
