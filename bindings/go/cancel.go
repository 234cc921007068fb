package tailor

/*
#include "tailor/runtime.h"
*/
import "C"

import (
	"context"
)

// runCancellably runs with the arguments that were set.
func (s *Session) runCancellably(ctx context.Context, inputs int) error {
	if err := ctx.Err(); err != nil {
		return cancelled(err)
	}
	return check(C.tailor_session_run(s.handle, s.inputs.first, C.size_t(inputs), s.results.first, C.size_t(len(s.memoryOf))))
}

// cancelled is the error of a run whose context is done.
func cancelled(reason error) error {
	if reason == context.DeadlineExceeded {
		return &Error{DeadlineExceeded, "the context's deadline has passed", ""}
	}
	return &Error{Cancelled, "the context is cancelled", ""}
}
