// Package tailor loads and runs artifacts that the Tailor compiler saved. It needs libtailor_runtime.so and
// its C header; name their folders in CGO_LDFLAGS and CGO_CFLAGS. Package tailor/graph builds and compiles graphs.
//
// Tensors live in Go memory: fill them in place through slices, which keep that memory alive. Outputs are in their session's
// memory, and slices of them are copies. C code gets addresses of Go memory in structs while runs use it: that memory is kept
// alive, and Go does not move it, since it is on the heap.
package tailor

/*
#cgo LDFLAGS: -ltailor_runtime
#include <stdlib.h>
#include "tailor/runtime.h"

typedef void (*tailor_task)(void*, size_t);
extern void tailorParallelFor(uintptr_t executor, void* task, void* data, size_t count);

static void call_parallel_for(void* user, tailor_task task, void* data, size_t count) {
	tailorParallelFor((uintptr_t)user, (void*)task, data, count);
}
static void call_task(void* task, void* data, size_t index) { ((tailor_task)task)(data, index); }

static tailor_status* create_session(const tailor_executable* executable, tailor_session_options options,
                                     uintptr_t executor, tailor_session** session) {
	if (executor != 0) options.parallel_for = call_parallel_for;
	options.parallel_user = (void*)executor;
	return tailor_session_create(executable, &options, session);
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"sync"
	"unsafe"
)

// Code is the kind of an error; the numbers are those of tailor/runtime.h.
type Code int32

const (
	Cancelled          Code = C.TAILOR_CANCELLED
	InvalidArgument    Code = C.TAILOR_INVALID_ARGUMENT
	NotFound           Code = C.TAILOR_NOT_FOUND
	ResourceExhausted  Code = C.TAILOR_RESOURCE_EXHAUSTED
	FailedPrecondition Code = C.TAILOR_FAILED_PRECONDITION
	OutOfRange         Code = C.TAILOR_OUT_OF_RANGE
	Unimplemented      Code = C.TAILOR_UNIMPLEMENTED
	Internal           Code = C.TAILOR_INTERNAL
	DataLoss           Code = C.TAILOR_DATA_LOSS
)

// Error is a failed call. Node is the user's name of the graph node at fault, or empty.
type Error struct {
	Code    Code
	Message string
	Node    string
}

func (c Code) String() string {
	names := map[Code]string{Cancelled: "CANCELLED", InvalidArgument: "INVALID_ARGUMENT", NotFound: "NOT_FOUND",
		ResourceExhausted: "RESOURCE_EXHAUSTED", FailedPrecondition: "FAILED_PRECONDITION", OutOfRange: "OUT_OF_RANGE",
		Unimplemented: "UNIMPLEMENTED", Internal: "INTERNAL", DataLoss: "DATA_LOSS"}
	if name, known := names[c]; known {
		return name
	}
	return fmt.Sprintf("code %d", int32(c))
}

func (e *Error) Error() string {
	text := fmt.Sprintf("tailor: %v: %s", e.Code, e.Message)
	if e.Node == "" {
		return text
	}
	return fmt.Sprintf("%s (node %q)", text, e.Node)
}

func check(status *C.tailor_status) error {
	if status == nil {
		return nil
	}
	defer C.tailor_status_release(status)
	return &Error{Code(C.tailor_status_code(status)), C.GoString(C.tailor_status_message(status)),
		C.GoString(C.tailor_status_node(status))}
}

func closed(what string) error { return &Error{InvalidArgument, "the " + what + " is closed", ""} }

// Version is the runtime library's version, "0.1.0".
func Version() string { return C.GoString(C.tailor_version()) }

// CPUFeatures is the level of this machine's CPU, and the CPU features that the runtime library can and cannot use: one line.
func CPUFeatures() string { return C.GoString(C.tailor_cpu_features()) }

// TensorInfo describes an input or output; Dims are the dim sizes as text ("B", "4*S + 1", "384"). Runs write the memory of
// an input that is Donated; an output with MemoryOf >= 0 is written to the memory of the input of that number.
type TensorInfo struct {
	Name     string
	DType    DType
	Dims     []string
	Donated  bool
	MemoryOf int
}

// Executable is a compiled graph. It may be used from many goroutines.
type Executable struct {
	mutex  sync.RWMutex // locked for Close; read-locked while C uses the handle
	handle *C.tailor_executable
}

// with calls function with the handle, which stays live during the call.
func (e *Executable) with(function func(handle *C.tailor_executable) error) error {
	if e == nil {
		return closed("executable")
	}
	defer runtime.KeepAlive(e)
	e.mutex.RLock()
	defer e.mutex.RUnlock()
	if e.handle == nil {
		return closed("executable")
	}
	return function(e.handle)
}

// FromC takes over a tailor_executable* from C code, as package graph does.
func FromC(handle unsafe.Pointer) *Executable {
	e := &Executable{handle: (*C.tailor_executable)(handle)}
	runtime.SetFinalizer(e, (*Executable).Close)
	return e
}

// Close releases the executable; its sessions stay usable. It may be called twice.
func (e *Executable) Close() {
	if e == nil {
		return
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	C.tailor_executable_release(e.handle)
	e.handle = nil
	runtime.SetFinalizer(e, nil)
}

// Save writes the artifact; the bytes equal those loaded.
func (e *Executable) Save(path string) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	return e.with(func(handle *C.tailor_executable) error {
		return check(C.tailor_executable_save(handle, name, C.size_t(len(path))))
	})
}

// Inputs describes the inputs in order.
func (e *Executable) Inputs() (all []TensorInfo, err error) {
	err = e.with(func(handle *C.tailor_executable) error {
		all, err = infos(int(C.tailor_executable_input_count(handle)), func(i int, out *C.tailor_tensor_info) error {
			return check(C.tailor_executable_input(handle, C.size_t(i), out))
		})
		return err
	})
	return all, err
}

// Outputs describes the outputs in order.
func (e *Executable) Outputs() (all []TensorInfo, err error) {
	err = e.with(func(handle *C.tailor_executable) error {
		all, err = infos(int(C.tailor_executable_output_count(handle)), func(i int, out *C.tailor_tensor_info) error {
			return check(C.tailor_executable_output(handle, C.size_t(i), out))
		})
		return err
	})
	return all, err
}

func infos(count int, read func(int, *C.tailor_tensor_info) error) ([]TensorInfo, error) {
	all := make([]TensorInfo, count)
	for i := range all {
		var info C.tailor_tensor_info
		C.tailor_tensor_info_init(&info)
		if err := read(i, &info); err != nil {
			return nil, err
		}
		all[i] = TensorInfo{Name: C.GoString(info.name), DType: DType(info.dtype), Donated: info.donated != 0,
			MemoryOf: int(info.memory_of)}
		for d := 0; d < int(info.rank); d++ {
			all[i].Dims = append(all[i].Dims, C.GoString(info.dim_texts[d]))
		}
	}
	return all, nil
}

// Session is the workspace and threads of one stream of runs. One goroutine at a time may use it; concurrent calls are
// FailedPrecondition.
type Session struct {
	memoryOf     []int     // by output: the donated input to whose memory it is written, or -1
	executor     *executor // nil: the library's own threads
	pin          cgo.Handle
	inFlight     []any // owners of the memory of inputs of runs that were not waited for
	asynchronous bool
	runs         uint64 // so far; outputs are those of the last one

	mutex   sync.Mutex // of what follows
	handle  *C.tailor_session
	busy    bool // a call is in progress
	closing bool // the call in progress releases the session when it ends
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
}

// executor is the caller's parallel-for, and the value that it panicked with.
type executor struct {
	parallelFor func(task func(index int), count int)
	panicked    any
}

// run lets no call of the task outlive it, and no panic through C code.
func (x *executor) run(task, data unsafe.Pointer, count int) {
	var gate sync.RWMutex
	closed := false
	defer func() {
		if panicked := recover(); panicked != nil {
			x.panicked = panicked
		}
		gate.Lock() // until the calls in progress have returned
		closed = true
		gate.Unlock()
	}()
	x.parallelFor(func(index int) {
		gate.RLock()
		defer gate.RUnlock()
		if !closed {
			C.call_task(task, data, C.size_t(index))
		}
	}, count)
}

// NewSession makes a session with `threads` threads, the caller's included.
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
	}
	if options.ParallelFor != nil {
		s.executor = &executor{parallelFor: options.ParallelFor}
		s.pin = cgo.NewHandle(s.executor)
	}
	if err := e.with(func(handle *C.tailor_executable) error {
		return check(C.create_session(handle, created, C.uintptr_t(s.pin), &s.handle))
	}); err != nil {
		s.unpin()
		return nil, err
	}
	runtime.SetFinalizer(s, (*Session).Close)
	return s, nil
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
	s.unpin()
	runtime.SetFinalizer(s, nil)
}

func (s *Session) unpin() {
	if s.pin != 0 {
		s.pin.Delete()
		s.pin = 0
	}
}

// Run runs once. The outputs are the session's memory: valid until its next Run or Close. An output that is written to the
// memory of a donated input is that input. In an asynchronous session, inputs must stay open until Wait has returned, and
// outputs are complete then.
func (s *Session) Run(inputs ...*Tensor) ([]*Tensor, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(s)
	defer s.leave()
	for i, input := range inputs {
		if err := input.open(); err != nil {
			return nil, &Error{InvalidArgument, fmt.Sprintf("input %d: the tensor is nil or closed", i), ""}
		}
	}
	var outputs []*Tensor
	err := readAll(s, inputs, func() (err error) {
		outputs, err = s.run(inputs)
		return err
	})
	return outputs, err
}

// SetSeed sets the seed from which random operators of later runs compute, and numbers these runs from 0: equal seeds and
// numbers give equal results. Without a seed it is one that was drawn when the executable was loaded.
func (s *Session) SetSeed(seed uint64) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer runtime.KeepAlive(s)
	defer s.leave()
	return check(C.tailor_session_set_seed(s.handle, C.uint64_t(seed)))
}

// readAll calls function while the sessions of tensors can neither run nor be released. s itself is in use already.
func readAll(s *Session, tensors []*Tensor, function func() error) error {
	entered := map[*Session]bool{s: true}
	for i, tensor := range tensors {
		owner := tensor.session
		if owner == nil {
			continue
		}
		if !entered[owner] {
			if err := owner.enter(); err != nil {
				return &Error{err.(*Error).Code, fmt.Sprintf("input %d is an output: %s", i, err.(*Error).Message), ""}
			}
			entered[owner] = true
			defer owner.leave()
		}
		if tensor.run != owner.runs {
			return &Error{InvalidArgument, fmt.Sprintf("input %d is an output of an earlier run: its session has run since", i), ""}
		}
	}
	return function()
}

func (s *Session) run(inputs []*Tensor) ([]*Tensor, error) {
	// In C memory, since cgo passes no Go memory that contains addresses of Go memory.
	list := C.calloc(C.size_t(len(inputs)+1), C.sizeof_tailor_tensor)
	defer C.free(list)
	given := unsafe.Slice((*C.tailor_tensor)(list), len(inputs)+1)
	var owners []any
	for i, input := range inputs {
		given[i] = input.raw
		if memory := input.memory; memory != nil {
			*(*uintptr)(unsafe.Pointer(&given[i].data)) = uintptr(unsafe.Pointer(&memory[0]))
			owners = append(owners, memory)
		}
		owners = append(owners, input.session)
	}
	defer runtime.KeepAlive(owners)
	results := make([]C.tailor_tensor, len(s.memoryOf)+1)
	for i := range results {
		C.tailor_tensor_init(&results[i])
	}
	s.runs++
	s.inFlight = append(s.inFlight, owners...)
	err := check(C.tailor_session_run(s.handle, &given[0], C.size_t(len(inputs)), &results[0], C.size_t(len(s.memoryOf))))
	if s.executor != nil && s.executor.panicked != nil {
		panicked := s.executor.panicked
		s.executor.panicked = nil
		panic(panicked)
	}
	if !s.asynchronous || err != nil {
		err = firstOf(err, s.waitForRuns())
	}
	if err != nil {
		return nil, err
	}
	outputs := make([]*Tensor, len(s.memoryOf))
	for i, input := range s.memoryOf {
		if input >= 0 {
			outputs[i] = inputs[input]
		} else {
			outputs[i] = &Tensor{raw: results[i], session: s, run: s.runs}
		}
	}
	return outputs, nil
}
