//! Runs that may be in progress: those of asynchronous sessions.

use std::fmt;

use crate::tensor::InUse;
use crate::{sys, Outputs, Result, Session};

/// A run that may be in progress. Dropping it waits for its end.
pub struct Running<'a> {
    pub(crate) session: Option<&'a mut Session>, // none once it has been waited for
    pub(crate) outputs: Vec<sys::tailor_tensor>,
    pub(crate) _in_use: InUse<'a>,
}

impl fmt::Debug for Running<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("session", &self.session).finish_non_exhaustive()
    }
}

impl<'a> Running<'a> {
    /// Whether it has ended. Its error is reported once.
    pub fn poll(&mut self) -> Result<bool> {
        self.session.as_mut().map_or(Ok(true), |session| session.poll())
    }

    /// Returns when it has ended.
    pub fn wait(mut self) -> Result<Outputs<'a>> {
        let session = self.session.take().expect("only this takes the session");
        session.wait()?;
        Ok(session.outputs(std::mem::take(&mut self.outputs)))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            let _ = session.wait(); // callers that want its error call wait or poll
        }
    }
}

/// A run that may be in progress, while a closure works: see [`Session::run_while`].
#[derive(Debug)]
pub struct InProgress<'a> {
    pub(crate) session: &'a mut Session,
}

impl InProgress<'_> {
    /// Whether it has ended. Its error is reported once.
    pub fn poll(&mut self) -> Result<bool> {
        self.session.poll()
    }
}

pub(crate) struct WaitOnDrop<'a>(pub(crate) &'a mut Session);

impl Drop for WaitOnDrop<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.0.wait();
        }
    }
}
