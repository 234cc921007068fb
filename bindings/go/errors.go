package tailor

/*
#include "tailor/runtime.h"
*/
import "C"

import (
	"context"
	"fmt"
)

// Code is the kind of an error; the numbers are those of tailor/runtime.h. A Code is an error itself, for errors.Is:
//
//	if errors.Is(err, tailor.NotFound) { ... }
type Code int32

const (
	Cancelled          Code = C.TAILOR_CANCELLED
	InvalidArgument    Code = C.TAILOR_INVALID_ARGUMENT
	DeadlineExceeded   Code = C.TAILOR_DEADLINE_EXCEEDED
	NotFound           Code = C.TAILOR_NOT_FOUND
	ResourceExhausted  Code = C.TAILOR_RESOURCE_EXHAUSTED
	FailedPrecondition Code = C.TAILOR_FAILED_PRECONDITION
	OutOfRange         Code = C.TAILOR_OUT_OF_RANGE
	Unimplemented      Code = C.TAILOR_UNIMPLEMENTED
	Internal           Code = C.TAILOR_INTERNAL
	DataLoss           Code = C.TAILOR_DATA_LOSS
)

var codeNames = map[Code]string{Cancelled: "CANCELLED", InvalidArgument: "INVALID_ARGUMENT",
	DeadlineExceeded: "DEADLINE_EXCEEDED", NotFound: "NOT_FOUND", ResourceExhausted: "RESOURCE_EXHAUSTED",
	FailedPrecondition: "FAILED_PRECONDITION", OutOfRange: "OUT_OF_RANGE", Unimplemented: "UNIMPLEMENTED",
	Internal: "INTERNAL", DataLoss: "DATA_LOSS"}

func (c Code) String() string {
	if name, known := codeNames[c]; known {
		return name
	}
	return fmt.Sprintf("code %d", int32(c))
}

func (c Code) Error() string { return c.String() }

// Error is a failed call. Node is the user's name of the graph node at fault, or empty.
type Error struct {
	Code    Code
	Message string
	Node    string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("tailor: %v: %s", e.Code, e.Message)
	if e.Node == "" {
		return text
	}
	return fmt.Sprintf("%s (node %q)", text, e.Node)
}

// Is makes errors.Is(err, code) hold for the error's own code, errors.Is(err, context.Canceled) for Cancelled, and
// errors.Is(err, context.DeadlineExceeded) for DeadlineExceeded.
func (e *Error) Is(target error) bool {
	switch target {
	case context.Canceled:
		return e.Code == Cancelled
	case context.DeadlineExceeded:
		return e.Code == DeadlineExceeded
	}
	code, ok := target.(Code)
	return ok && code == e.Code
}

func check(status *C.tailor_status) error {
	if status == nil {
		return nil
	}
	defer C.tailor_status_release(status)
	return &Error{Code(C.tailor_status_code(status)), C.GoString(C.tailor_status_message(status)),
		C.GoString(C.tailor_status_node(status))}
}

func invalid(format string, arguments ...any) error {
	return &Error{InvalidArgument, fmt.Sprintf(format, arguments...), ""}
}

func closed(what string) error { return &Error{InvalidArgument, "the " + what + " is closed", ""} }

func firstOf(errors ...error) error {
	for _, err := range errors {
		if err != nil {
			return err
		}
	}
	return nil
}
