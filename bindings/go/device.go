package tailor

/*
#include "tailor/runtime.h"
*/
import "C"

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"
)

// Device is the device that an executable runs on. No other device is taken in its place.
type Device struct {
	kind    int32
	ordinal int
}

// CPU is the host itself.
var CPU = Device{kind: C.TAILOR_DEVICE_CPU}

// CUDA is the GPU of that number.
func CUDA(ordinal int) Device { return Device{C.TAILOR_DEVICE_CUDA, ordinal} }

// Numbers are the device's kind and ordinal, as in the C options, for package graph. An error if the ordinal is negative or
// no int32.
func (d Device) Numbers() (kind, ordinal int32, err error) {
	if d.ordinal < 0 || d.ordinal > math.MaxInt32 {
		return 0, 0, &Error{InvalidArgument, fmt.Sprintf("Device: the ordinal %d is not from 0 to %d", d.ordinal, math.MaxInt32), ""}
	}
	return d.kind, int32(d.ordinal), nil
}

// SessionOptions are the options of a session.
type SessionOptions struct {
	// Threads, the caller's included; 0: only the caller's.
	Threads int
	// ParallelFor runs kernels on the caller's executor: see NewSessionOn.
	ParallelFor func(task func(index int), count int)

	// On a GPU: the CUstream for all work, which outlives the session; nil: the session makes one.
	Stream unsafe.Pointer
	// On a GPU: Run returns once the work is enqueued; see Wait and Done.
	Asynchronous bool
	// On a GPU: outputs stay in its memory; see Tensor.DeviceAddress.
	DeviceOutputs bool
	// On a GPU: the kernels of a run are launched as one CUDA graph.
	CUDAGraph bool
}

func (o *SessionOptions) toC() (C.tailor_session_options, error) {
	var options C.tailor_session_options
	if o.Threads < 0 {
		return options, &Error{InvalidArgument, fmt.Sprintf("Threads is %d, below 0", o.Threads), ""}
	}
	C.tailor_session_options_init(&options)
	options.threads = C.uint64_t(o.Threads)
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

func firstOf(errors ...error) error {
	for _, err := range errors {
		if err != nil {
			return err
		}
	}
	return nil
}

// Wait returns when all runs are done, with the error of those that were not waited for.
func (s *Session) Wait() error {
	if err := s.enter(); err != nil {
		return err
	}
	defer runtime.KeepAlive(s)
	defer s.leave()
	return s.waitForRuns()
}

// waitForRuns is Wait within a call.
func (s *Session) waitForRuns() error {
	err := check(C.tailor_session_wait(s.handle))
	runtime.KeepAlive(s.inFlight)
	s.inFlight = nil
	return err
}

// Done says whether all runs are done, without waiting. If they are, the error is that of Wait.
func (s *Session) Done() (bool, error) {
	if err := s.enter(); err != nil {
		return true, err
	}
	defer runtime.KeepAlive(s)
	defer s.leave()
	var done C.int32_t
	err := check(C.tailor_session_poll(s.handle, &done))
	if done != 0 {
		s.inFlight = nil
	}
	return done != 0, err
}

// Stream is the session's CUstream; nil on the CPU, and if the session is closed or in use.
func (s *Session) Stream() unsafe.Pointer {
	if s.enter() != nil {
		return nil
	}
	defer runtime.KeepAlive(s)
	defer s.leave()
	return C.tailor_session_stream(s.handle)
}

// OnDevice is a dense tensor in the caller's GPU memory, which must not change while runs use it.
func OnDevice(address unsafe.Pointer, dtype DType, dims ...int64) (*Tensor, error) {
	t, err := describe(dtype, dims)
	if err != nil {
		return nil, err
	}
	t.raw.data, t.raw.device = address, 1
	return t, nil
}

// DeviceAddress is the tensor's address in GPU memory; nil if it is in host memory.
func (t *Tensor) DeviceAddress() unsafe.Pointer {
	if t.raw.device == 0 {
		return nil
	}
	return t.raw.data
}
