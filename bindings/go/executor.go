package tailor

/*
#include <stddef.h>

static void call_task(void* task, void* data, size_t index) { ((void (*)(void*, size_t))task)(data, index); }
*/
import "C"

import (
	"sync"
	"unsafe"
)

// callbacks are the caller's functions of a session. They refer to no session, which could then not be collected.
type callbacks struct {
	parallelFor func(task func(index int), count int)
	trace       func(TraceEvent)
	panicked    any // the first value that one of them panicked with, to be raised again after C code
}

func (c *callbacks) run(task, data unsafe.Pointer, count int) {
	if panicked := runOn(c.parallelFor, task, data, count); panicked != nil && c.panicked == nil {
		c.panicked = panicked
	}
}

// runOn runs a task on an executor of the caller. It lets no call of the task outlive it, and no panic through C code: it gives the
// value of a panic.
func runOn(parallelFor func(task func(index int), count int), task, data unsafe.Pointer, count int) (panicked any) {
	var gate sync.RWMutex
	closed := false
	defer func() {
		panicked = recover()
		gate.Lock() // until the calls in progress have returned
		closed = true
		gate.Unlock()
	}()
	parallelFor(func(index int) {
		gate.RLock()
		defer gate.RUnlock()
		if !closed {
			C.call_task(task, data, C.size_t(index))
		}
	}, count)
	return nil
}

// traced calls trace, until it panics.
func (c *callbacks) traced(event TraceEvent) {
	if c.panicked != nil {
		return
	}
	defer func() {
		if panicked := recover(); panicked != nil {
			c.panicked = panicked
		}
	}()
	c.trace(event)
}
