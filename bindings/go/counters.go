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
