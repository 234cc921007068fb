//! Devices of executables.

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
            Device::Cpu => (0, 0),
            Device::Cuda(ordinal) => (1, ordinal),
        }
    }
}
