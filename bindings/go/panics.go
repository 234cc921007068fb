package tailor

/*
#include "tailor/runtime.h"

// The cgo.Handle of the first panic of a runtime's executor during the run that this thread is inside of, or 0. A run and the calls
// of its executor stay on one thread.
static _Thread_local uintptr_t kept_panic;

static uintptr_t exchange_panic(uintptr_t panic) {
	uintptr_t earlier = kept_panic;
	kept_panic = panic;
	return earlier;
}

typedef struct run_result {
	tailor_status* status;
	uintptr_t panic;
} run_result;

// By void*: cgo's check of a pointer to an incomplete type allocates.
static run_result run_session(void* session, const tailor_tensor* inputs, size_t input_count, tailor_tensor* outputs,
                              size_t output_count) {
	uintptr_t outer = exchange_panic(0);
	run_result result;
	result.status = tailor_session_run((tailor_session*)session, inputs, input_count, outputs, output_count);
	result.panic = exchange_panic(outer);
	return result;
}

static run_result run_executable(const tailor_executable* executable, const tailor_tensor* inputs, size_t input_count,
                                 tailor_tensor* outputs, size_t output_count) {
	uintptr_t outer = exchange_panic(0);
	run_result result;
	result.status = tailor_executable_run(executable, inputs, input_count, outputs, output_count);
	result.panic = exchange_panic(outer);
	return result;
}
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// run runs a task on the executor of a runtime. Its first panic is kept for the run.
func (c *runtimeCallbacks) run(task, data unsafe.Pointer, count int) {
	kept := C.exchange_panic(0) // not of runs that the executor makes
	panicked := runOn(c.parallelFor, task, data, count)
	if panicked != nil && kept == 0 {
		kept = C.uintptr_t(cgo.NewHandle(panicked))
	}
	C.exchange_panic(kept)
}

// ended is the result of a run with the arguments that were set, whose panic is kept for propagate.
func (s *Session) ended(result C.run_result) error {
	if result.panic != 0 {
		handle := cgo.Handle(result.panic)
		s.panicked = handle.Value()
		handle.Delete()
	}
	return check(result.status)
}

func (s *Session) runGiven(inputs int) error {
	return s.ended(C.run_session(unsafe.Pointer(s.handle), s.inputs.first, C.size_t(inputs), s.results.first,
		C.size_t(len(s.memoryOf))))
}

// runGivenOn is runGiven with a session of the library.
func (s *Session) runGivenOn(executable *C.tailor_executable, inputs int) error {
	return s.ended(C.run_executable(executable, s.inputs.first, C.size_t(inputs), s.results.first, C.size_t(len(s.memoryOf))))
}

// propagate raises a panic of a callback, once the run has returned.
func (s *Session) propagate() {
	panicked := s.panicked
	s.panicked = nil
	if c := s.callbacks; c != nil && c.panicked != nil {
		panicked, c.panicked = c.panicked, nil
	}
	if panicked != nil {
		panic(panicked)
	}
}
