//! Counters, of the process and of executables.

use crate::sys;

/// Counts of this process, for tests of "no growth".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// The variants that were mapped as code.
    pub images_linked: u64,
    /// How often the memory of a session grew.
    pub workspace_growths: u64,
    /// Runs.
    pub runs: u64,
}

impl Counters {
    /// The counts so far.
    pub fn read() -> Counters {
        let mut raw = sys::tailor_counters::default();
        // SAFETY: the struct is valid.
        unsafe { sys::tailor_counters_read(&mut raw) };
        let sys::tailor_counters { images_linked, workspace_growths, runs, .. } = raw;
        Counters { images_linked, workspace_growths, runs }
    }
}

/// What the runs and sessions of an executable amount to. Each has the name of a Prometheus metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecutableCounters {
    /// `tailor_runs_total`: runs that have begun, or were refused for their arguments.
    pub runs: u64,
    /// `tailor_failed_runs_total`: those that returned an error.
    pub failed_runs: u64,
    /// `tailor_cancelled_runs_total`: those that were cancelled, or took longer than they may.
    pub cancelled_runs: u64,
    /// `tailor_runs_in_progress`.
    pub runs_in_progress: u64,
    /// `tailor_sessions`: sessions that exist.
    pub sessions: u64,
    /// `tailor_pooled_sessions`: idle ones that [`Executable::run_into`](crate::Executable::run_into) keeps.
    pub pooled_sessions: u64,
    /// `tailor_workspace_bytes`: the memory that sessions hold.
    pub workspace_bytes: u64,
    /// `tailor_constants_bytes`.
    pub constants_bytes: u64,
    /// `tailor_shape_cache_misses_total`: runs at other shapes than the session's run before.
    pub shape_cache_misses: u64,
    /// `tailor_workspace_growths_total`: allocations of that memory.
    pub workspace_growths: u64,
}
