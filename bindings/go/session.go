package tailor

/*
#include <stdlib.h>
#include "tailor/runtime.h"

typedef void (*tailor_task)(void*, size_t);
extern void tailorParallelFor(uintptr_t executor, void* task, void* data, size_t count);
extern void tailorTrace(uintptr_t callbacks, int32_t launch, int32_t version, int64_t begin, int64_t end);

static void call_parallel_for(void* user, tailor_task task, void* data, size_t count) {
	tailorParallelFor((uintptr_t)user, (void*)task, data, count);
}
static void call_trace(void* user, const tailor_trace_event* event) {
	tailorTrace((uintptr_t)user, event->launch, event->version, event->begin_ns, event->end_ns);
}

static tailor_status* create_session(const tailor_executable* executable, tailor_session_options options,
                                     uintptr_t callbacks, int32_t parallel, int32_t trace, tailor_session** session) {
	if (parallel) options.parallel_for = call_parallel_for;
	if (trace) options.trace = call_trace;
	options.parallel_user = options.trace_user = (void*)callbacks;
	return tailor_session_create(executable, &options, session);
}

// By void*: cgo's check of a pointer to an incomplete type allocates.
static tailor_status* session_wait(void* session) { return tailor_session_wait((tailor_session*)session); }
*/
import "C"

import (
	"runtime"
	"runtime/cgo"
	"sync"
	"time"
	"unsafe"
)

// SessionOptions are the options of a session.
type SessionOptions struct {
	// Threads, the caller's included; 0: those of RuntimeOptions.
	Threads int
	// ParallelFor runs kernels on the caller's executor: see NewSessionOn.
	ParallelFor func(task func(index int), count int)
	// Timeout of each run, which is then DeadlineExceeded; 0: none.
	Timeout time.Duration
	// IdleSleep: own threads sleep between kernels, and do not spin for about 1 ms first.
	IdleSleep bool
	// Trace is called after each kernel launch, and after each run that has begun, on the goroutine of the run. A panic in it
	// propagates when the run returns.
	Trace func(event TraceEvent)

	// On a GPU: the CUstream for all work, which outlives the session; nil: the session makes one.
	Stream unsafe.Pointer
	// On a GPU: Run returns once the work is enqueued; see Wait and Done.
	Asynchronous bool
	// On a GPU: outputs stay in its memory; see Tensor.DeviceAddress.
	DeviceOutputs bool
	// On a GPU: the kernels of a run are launched as one CUDA graph.
	CUDAGraph bool
}

// TraceEvent is a kernel launch that has ended, or the run that launched it. On a GPU its times are those of enqueueing the kernel.
// Calls of custom operators have no events.
type TraceEvent struct {
	Launch     int           // index of Executable.Launches; -1: the run, after its launches
	Version    int           // of the kernel; -1: data-dependent, or the run
	Begin, End time.Duration // of CLOCK_MONOTONIC
}

func (o *SessionOptions) toC() (C.tailor_session_options, error) {
	var options C.tailor_session_options
	if o.Threads < 0 {
		return options, invalid("Threads is %d, below 0", o.Threads)
	}
	if o.Timeout < 0 {
		return options, invalid("Timeout is %v, below 0", o.Timeout)
	}
	C.tailor_session_options_init(&options)
	options.timeout_ns = C.int64_t(o.Timeout)
	options.threads = C.uint64_t(o.Threads)
	options.idle_sleep = truth(o.IdleSleep)
	options.stream = o.Stream
	options.asynchronous = truth(o.Asynchronous)
	options.host_outputs = truth(!o.DeviceOutputs)
	options.cuda_graph = C.int64_t(truth(o.CUDAGraph))
	return options, nil
}

func truth(value bool) C.int32_t {
	if value {
		return 1
	}
	return 0
}

// Session is the workspace and threads of one stream of runs. One goroutine at a time may use it; concurrent calls are
// FailedPrecondition.
type Session struct {
	memoryOf     []int        // by output: the donated input to whose memory it is written, or -1
	ranks        []C.int32_t  // by output
	callbacks    *callbacks   // nil: none
	pin          cgo.Handle   // of the callbacks
	inputs       tensorArray  // of the run in progress
	results      tensorArray  // likewise
	inFlight     []heldMemory // of runs that were not waited for
	panicked     any          // the value with which the executor of the runtime panicked in the run in progress
	asynchronous bool
	runs         uint64 // so far; outputs are those of the last one

	mutex   sync.Mutex // of what follows
	handle  *C.tailor_session
	busy    bool // a call is in progress
	closing bool // the call in progress releases the session when it ends
}

// heldMemory is kept from the garbage collector.
type heldMemory struct {
	memory []byte
	owner  *Session
}

// NewSession makes a session with `threads` threads, the caller's included; 0: those of RuntimeOptions.
func (e *Executable) NewSession(threads int) (*Session, error) {
	return e.NewSessionWith(SessionOptions{Threads: threads})
}

// NewSessionOn makes a session whose kernels run on the caller's executor, in at most `threads` parts: parallelFor calls
// task(i) for all i below count, in any goroutines, and returns when all calls have returned. A panic in it propagates when
// Run returns. nil: the library's own threads.
func (e *Executable) NewSessionOn(threads int, parallelFor func(task func(index int), count int)) (*Session, error) {
	return e.NewSessionWith(SessionOptions{Threads: threads, ParallelFor: parallelFor})
}

// NewSessionWith makes a session with options.
func (e *Executable) NewSessionWith(options SessionOptions) (*Session, error) {
	created, err := options.toC()
	if err != nil {
		return nil, err
	}
	outputs, err := e.Outputs()
	if err != nil {
		return nil, err
	}
	s := &Session{asynchronous: options.Asynchronous}
	for _, output := range outputs {
		s.memoryOf = append(s.memoryOf, output.MemoryOf)
		s.ranks = append(s.ranks, C.int32_t(len(output.Dims)))
	}
	if options.ParallelFor != nil || options.Trace != nil {
		s.callbacks = &callbacks{parallelFor: options.ParallelFor, trace: options.Trace}
		s.pin = cgo.NewHandle(s.callbacks)
	}
	if err := e.with(func(handle *C.tailor_executable) error {
		return check(C.create_session(handle, created, C.uintptr_t(s.pin), truth(options.ParallelFor != nil),
			truth(options.Trace != nil), &s.handle))
	}); err != nil {
		s.unpin()
		return nil, err
	}
	runtime.SetFinalizer(s, (*Session).Close)
	return s, nil
}

// enter begins a call: until leave no other call begins, and the handle stays live.
func (s *Session) enter() error {
	if s == nil {
		return closed("session")
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.handle == nil || s.closing {
		return closed("session")
	}
	if s.busy {
		return &Error{FailedPrecondition, "the session is in use by another call", ""}
	}
	s.busy = true
	return nil
}

func (s *Session) leave() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.busy = false
	if s.closing {
		s.release()
	}
	runtime.KeepAlive(s)
}

// Close releases the session and the tensors of its last Run; slices of them stay valid. During a Run it does not wait:
// the session is released when the Run ends. It may be called twice.
func (s *Session) Close() {
	if s == nil {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.closing = true
	if !s.busy {
		s.release()
	}
}

// release needs the mutex.
func (s *Session) release() {
	C.tailor_session_release(s.handle) // waits for the device
	runtime.KeepAlive(s.inFlight)
	s.handle, s.inFlight = nil, nil
	s.inputs.free()
	s.results.free()
	s.unpin()
	runtime.SetFinalizer(s, nil)
}

func (s *Session) unpin() {
	if s.pin != 0 {
		s.pin.Delete()
		s.pin = 0
	}
}

// call calls function while no other call is in progress.
func (s *Session) call(function func(handle *C.tailor_session) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return function(s.handle)
}

// SetSeed sets the seed from which random operators of later runs compute, and numbers these runs from 0: equal seeds and
// numbers give equal results. Without a seed it is one that was drawn when the executable was loaded.
func (s *Session) SetSeed(seed uint64) error {
	return s.call(func(handle *C.tailor_session) error {
		return check(C.tailor_session_set_seed(handle, C.uint64_t(seed)))
	})
}

// Reserve grows the workspace to that of a run with inputs of these dims and types, whose data is not read.
func (s *Session) Reserve(inputs ...*Tensor) error {
	return s.call(func(handle *C.tailor_session) error {
		given, err := s.inputs.resize(len(inputs))
		if err != nil {
			return err
		}
		for i, input := range inputs {
			if input == nil || input.raw.dtype == 0 {
				return invalid("input %d: the tensor is nil", i)
			}
			given[i] = input.raw
		}
		return check(C.tailor_session_reserve(handle, s.inputs.first, C.size_t(len(inputs))))
	})
}

// Trim frees the memory that the session keeps for its next run, which allocates again. Outputs of Run are then those of an earlier
// run. It waits for runs first.
func (s *Session) Trim() error {
	return s.call(func(handle *C.tailor_session) error {
		err := check(C.tailor_session_trim(handle))
		if err == nil {
			s.runs++
			s.dropMemory(0)
		}
		return err
	})
}

// Wait returns when all runs are done, with the error of those that were not waited for.
func (s *Session) Wait() error {
	return s.call(func(*C.tailor_session) error { return s.waitForRuns() })
}

// waitForRuns is Wait within a call.
func (s *Session) waitForRuns() error {
	err := check(C.session_wait(unsafe.Pointer(s.handle)))
	s.dropMemory(0)
	return err
}

// dropMemory holds only the first memory from now on.
func (s *Session) dropMemory(kept int) {
	for i := kept; i < len(s.inFlight); i++ {
		s.inFlight[i] = heldMemory{}
	}
	s.inFlight = s.inFlight[:kept]
}

// Done says whether all runs are done, without waiting. If they are, the error is that of Wait.
func (s *Session) Done() (bool, error) {
	var done C.int32_t = 1
	err := s.call(func(handle *C.tailor_session) error {
		err := check(C.tailor_session_poll(handle, &done))
		if done != 0 {
			s.dropMemory(0)
		}
		return err
	})
	return done != 0, err
}

// Stream is the session's CUstream; nil on the CPU, and if the session is closed or in use.
func (s *Session) Stream() (stream unsafe.Pointer) {
	_ = s.call(func(handle *C.tailor_session) error {
		stream = C.tailor_session_stream(handle)
		return nil
	})
	return stream
}
