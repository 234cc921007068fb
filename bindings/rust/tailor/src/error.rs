//! Errors: their codes, and how statuses of the library become them.

use std::ffi::CStr;
use std::fmt;
use std::os::raw::c_char;

use crate::sys;

/// The kind of a failure. More may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// A callback or another thread ended the call.
    Cancelled,
    /// An argument is wrong: the message names it.
    InvalidArgument,
    /// The call took longer than it was allowed to.
    DeadlineExceeded,
    /// There is no such file.
    NotFound,
    /// Memory is exhausted, or a limit is reached.
    ResourceExhausted,
    /// The call cannot be made now, or not on this machine.
    FailedPrecondition,
    /// A number is not in its range.
    OutOfRange,
    /// Valid, but not supported.
    Unimplemented,
    /// A fault of the library, or of a function of the host.
    Internal,
    /// A damaged artifact.
    DataLoss,
    /// A code that this crate does not know.
    Other(i32),
}

use ErrorCode::*;

const CODES: [(ErrorCode, i32, &str); 10] = [
    (Cancelled, sys::TAILOR_CANCELLED, "CANCELLED"),
    (InvalidArgument, sys::TAILOR_INVALID_ARGUMENT, "INVALID_ARGUMENT"),
    (DeadlineExceeded, sys::TAILOR_DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED"),
    (NotFound, sys::TAILOR_NOT_FOUND, "NOT_FOUND"),
    (ResourceExhausted, sys::TAILOR_RESOURCE_EXHAUSTED, "RESOURCE_EXHAUSTED"),
    (FailedPrecondition, sys::TAILOR_FAILED_PRECONDITION, "FAILED_PRECONDITION"),
    (OutOfRange, sys::TAILOR_OUT_OF_RANGE, "OUT_OF_RANGE"),
    (Unimplemented, sys::TAILOR_UNIMPLEMENTED, "UNIMPLEMENTED"),
    (Internal, sys::TAILOR_INTERNAL, "INTERNAL"),
    (DataLoss, sys::TAILOR_DATA_LOSS, "DATA_LOSS"),
];

impl ErrorCode {
    /// The code of this number in `tailor/runtime.h`.
    pub fn from_raw(number: i32) -> ErrorCode {
        CODES.iter().find(|code| code.1 == number).map_or(Other(number), |code| code.0)
    }

    /// Its number in `tailor/runtime.h`.
    pub fn raw(self) -> i32 {
        match self {
            Other(number) => number,
            known => CODES.iter().find(|code| code.0 == known).map_or(0, |code| code.1),
        }
    }

    /// Its name in `tailor/runtime.h`, `INVALID_ARGUMENT`; `None` for [`Other`](ErrorCode::Other).
    pub fn name(self) -> Option<&'static str> {
        CODES.iter().find(|code| code.0 == self).map(|code| code.2)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "code {}", self.raw()),
        }
    }
}

/// A failed call. It prints as `INVALID_ARGUMENT: the message (node "name")`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    /// The kind of failure.
    pub code: ErrorCode,
    /// What is wrong, with the names of inputs, symbols and nodes.
    pub message: String,
    /// The user's name of the graph node at fault; may be empty.
    pub node: String,
}

/// What fallible functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of a function of the host.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), node: String::new() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        if self.node.is_empty() {
            return Ok(());
        }
        write!(f, " (node \"{}\")", self.node)
    }
}

impl std::error::Error for Error {}

/// A failure of a function of the host, [`ErrorCode::Internal`]: `Err("the table is full")?`.
impl From<String> for Error {
    fn from(message: String) -> Error {
        Error::new(Internal, message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Error {
        Error::new(Internal, message)
    }
}

/// # Safety
/// `data` is null or a NUL-terminated text.
pub(crate) unsafe fn text(data: *const c_char) -> String {
    if data.is_null() {
        return String::new();
    }
    CStr::from_ptr(data).to_string_lossy().into_owned()
}

pub(crate) fn check(status: *mut sys::tailor_status) -> Result<()> {
    if status.is_null() {
        return Ok(());
    }
    // SAFETY: a status that is not null is live and ours until released.
    unsafe {
        let error = Error {
            code: ErrorCode::from_raw(sys::tailor_status_code(status)),
            message: text(sys::tailor_status_message(status)),
            node: text(sys::tailor_status_node(status)),
        };
        sys::tailor_status_release(status);
        Err(error)
    }
}

pub(crate) fn invalid(message: String) -> Error {
    Error::new(InvalidArgument, message)
}
