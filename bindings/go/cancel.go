package tailor

/*
#include "tailor/runtime.h"

// By void*: cgo's check of a pointer to an incomplete type allocates.
static tailor_status* session_run(void* session, const tailor_tensor* inputs, size_t input_count, tailor_tensor* outputs,
                                  size_t output_count) {
	return tailor_session_run((tailor_session*)session, inputs, input_count, outputs, output_count);
}
*/
import "C"

import (
	"context"
	"unsafe"
)

// runCancellably runs with the arguments that were set.
func (s *Session) runCancellably(ctx context.Context, inputs int) error {
	if err := ctx.Err(); err != nil {
		return cancelled(err)
	}
	return check(C.session_run(unsafe.Pointer(s.handle), s.inputs.first, C.size_t(inputs), s.results.first,
		C.size_t(len(s.memoryOf))))
}

// cancelled is the error of a run whose context is done.
func cancelled(reason error) error {
	if reason == context.DeadlineExceeded {
		return &Error{DeadlineExceeded, "the context's deadline has passed", ""}
	}
	return &Error{Cancelled, "the context is cancelled", ""}
}
