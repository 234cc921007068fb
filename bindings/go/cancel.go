package tailor

/*
#include "tailor/runtime.h"
*/
import "C"

import (
	"context"
	"errors"
	"time"
)

// runCancellably runs with the arguments that were set, and cancels the run when ctx is done.
func (s *Session) runCancellably(ctx context.Context, inputs int) error {
	if err := ctx.Err(); err != nil {
		return cancelled(err)
	}
	if ctx.Done() == nil {
		return s.runGiven(inputs)
	}
	ended, watched := make(chan bool), make(chan bool, 1)
	go func() {
		select {
		case <-ctx.Done():
			_ = check(C.tailor_session_cancel(s.handle))
			watched <- true
		case <-ended:
			watched <- false
		}
	}()
	err := s.runGiven(inputs)
	close(ended)
	if <-watched { // perhaps too late for this run: the next one must not find it
		_ = check(C.tailor_session_uncancel(s.handle))
	}
	if errors.Is(err, Cancelled) && ctx.Err() != nil {
		return cancelled(ctx.Err())
	}
	return err
}

// cancelled is the error of a run whose context is done.
func cancelled(reason error) error {
	if reason == context.DeadlineExceeded {
		return &Error{DeadlineExceeded, "the run has passed the deadline of its context", ""}
	}
	return &Error{Cancelled, "the context of the run is cancelled", ""}
}

// Cancel ends the run in progress, or else the next one, which is then Cancelled. Any goroutine may call it. RunContext calls it
// when its context is done.
func (s *Session) Cancel() error {
	return s.whileOpen(func() error { return check(C.tailor_session_cancel(s.handle)) })
}

// Uncancel takes back a Cancel that has found no run.
func (s *Session) Uncancel() error {
	return s.whileOpen(func() error { return check(C.tailor_session_uncancel(s.handle)) })
}

// whileOpen calls function while the session is not released; a call may be in progress.
func (s *Session) whileOpen(function func() error) error {
	if s == nil {
		return closed("session")
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.handle == nil {
		return closed("session")
	}
	return function()
}

// SetTimeout makes later runs that take longer DeadlineExceeded; 0: no limit.
func (s *Session) SetTimeout(timeout time.Duration) error {
	return s.call(func(handle *C.tailor_session) error {
		if timeout < 0 {
			return invalid("the timeout is %v, below 0", timeout)
		}
		return check(C.tailor_session_set_timeout(handle, C.int64_t(timeout)))
	})
}
