package tailor

/*
#include "tailor/runtime.h"
*/
import "C"

// Counters count in the whole process.
type Counters struct {
	ImagesLinked     uint64 // variants mapped as executable code
	WorkspaceGrowths uint64 // times that the memory of a session grew
	Runs             uint64
}

// ReadCounters reads the counters of the process.
func ReadCounters() Counters {
	var counters C.tailor_counters
	C.tailor_counters_init(&counters)
	C.tailor_counters_read(&counters)
	return Counters{uint64(counters.images_linked), uint64(counters.workspace_growths), uint64(counters.runs)}
}

// ExecutableCounters are those of one executable, summed over its sessions, including those that ended. The comments name the
// Prometheus metric.
type ExecutableCounters struct {
	Runs             uint64 // tailor_runs_total: begun, or refused for their arguments
	FailedRuns       uint64 // tailor_failed_runs_total: cancelled ones included
	CancelledRuns    uint64 // tailor_cancelled_runs_total: cancelled, or beyond their deadline
	RunsInProgress   uint64 // tailor_runs_in_progress: asynchronous ones only until they return
	Sessions         uint64 // tailor_sessions: those that exist, pooled ones included
	PooledSessions   uint64 // tailor_pooled_sessions: idle ones, kept for RunInto
	WorkspaceBytes   uint64 // tailor_workspace_bytes: memory that the sessions hold now
	ConstantsBytes   uint64 // tailor_constants_bytes
	ShapeCacheMisses uint64 // tailor_shape_cache_misses_total: runs at other dims than the session's previous ones
	WorkspaceGrowths uint64 // tailor_workspace_growths_total: allocations of the memory in WorkspaceBytes
}

// Counters reads the counters of the executable. It does not wait for runs in progress.
func (e *Executable) Counters() (counters ExecutableCounters, err error) {
	err = e.with(func(handle *C.tailor_executable) error {
		var counts C.tailor_executable_counts
		C.tailor_executable_counts_init(&counts)
		if err := check(C.tailor_executable_counters(handle, &counts)); err != nil {
			return err
		}
		counters = ExecutableCounters{uint64(counts.runs), uint64(counts.failed_runs), uint64(counts.cancelled_runs),
			uint64(counts.runs_in_progress), uint64(counts.sessions), uint64(counts.pooled_sessions),
			uint64(counts.workspace_bytes), uint64(counts.constants_bytes), uint64(counts.shape_cache_misses),
			uint64(counts.workspace_growths)}
		return nil
	})
	return counters, err
}

// Trim frees the idle sessions that are kept for RunInto.
func (e *Executable) Trim() error {
	return e.with(func(handle *C.tailor_executable) error { return check(C.tailor_executable_trim(handle)) })
}
