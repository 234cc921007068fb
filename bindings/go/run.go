package tailor

/*
#include <stdlib.h>
#include "tailor/runtime.h"

static char no_elements[64];
static void* address_without_elements(void) { return no_elements; }
*/
import "C"

import (
	"context"
	"fmt"
	"runtime"
	"unsafe"
)

// tensorArray is in C memory, since cgo passes no Go memory that contains addresses of Go memory. It keeps its memory from run
// to run.
type tensorArray struct {
	first *C.tailor_tensor // nil: no memory yet
	room  int
}

// resize gives `count` elements with arbitrary contents. The address is valid also if there are none.
func (a *tensorArray) resize(count int) ([]C.tailor_tensor, error) {
	if count >= a.room {
		grown := C.realloc(unsafe.Pointer(a.first), C.size_t(count+1)*C.sizeof_tailor_tensor)
		if grown == nil {
			return nil, &Error{ResourceExhausted, fmt.Sprintf("no memory for %d tensors", count), ""}
		}
		a.first, a.room = (*C.tailor_tensor)(grown), count+1
	}
	return unsafe.Slice(a.first, count), nil
}

func (a *tensorArray) free() {
	C.free(unsafe.Pointer(a.first))
	*a = tensorArray{}
}

// Run runs once. The outputs are the session's memory: valid until its next Run or Close, and they may be inputs of that Run,
// which writes its own outputs elsewhere: caches that grow, states of loops. An output that is written to the memory of a donated
// input is that input. In an asynchronous session, inputs must stay open until Wait has returned, and outputs are complete then.
func (s *Session) Run(inputs ...*Tensor) ([]*Tensor, error) {
	return s.RunContext(context.Background(), inputs...)
}

// RunContext is Run that ends early when ctx is done: with an error for which errors.Is(err, ctx.Err()) holds. The session can
// then run again.
func (s *Session) RunContext(ctx context.Context, inputs ...*Tensor) ([]*Tensor, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	err := s.run(ctx, nil, inputs)
	s.propagate()
	if err != nil {
		return nil, err
	}
	outputs := make([]*Tensor, len(s.memoryOf))
	results := unsafe.Slice(s.results.first, len(outputs))
	for i, input := range s.memoryOf {
		if input >= 0 {
			outputs[i] = inputs[input]
		} else {
			outputs[i] = &Tensor{raw: results[i], session: s, run: s.runs}
		}
	}
	return outputs, nil
}

// RunInto runs once and writes the outputs to tensors of the caller, which must have the outputs' element types, and room for
// their elements. They get the dims of the outputs: one tensor with room for the largest serves all sizes. Where outputs[i] is
// nil the output stays in the session's memory. An output that is written to the memory of a donated input is that input or nil.
// Outputs must overlap neither inputs nor each other. In an asynchronous session, inputs and outputs must stay open until Wait has
// returned.
//
// After the first run at the largest dims it allocates nothing. After an error the outputs' dims are unchanged, and their
// elements arbitrary.
func (s *Session) RunInto(outputs, inputs []*Tensor) error {
	return s.RunIntoContext(context.Background(), outputs, inputs)
}

// RunIntoContext is RunInto that ends early when ctx is done, as RunContext does.
func (s *Session) RunIntoContext(ctx context.Context, outputs, inputs []*Tensor) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if len(outputs) != len(s.memoryOf) {
		return invalid("%d outputs are given, but the executable has %d", len(outputs), len(s.memoryOf))
	}
	err := s.run(ctx, outputs, inputs)
	if err == nil {
		s.takeDims(outputs)
	}
	s.propagate()
	return err
}

// takeDims gives the caller's outputs the dims that the run has found.
func (s *Session) takeDims(outputs []*Tensor) {
	for i, result := range unsafe.Slice(s.results.first, len(outputs)) {
		if output := outputs[i]; output != nil {
			output.raw.rank, output.raw.dims = result.rank, result.dims
		}
	}
}

// run runs once, and leaves what the library says of the outputs in s.results, and panics for propagate. The session is in use.
func (s *Session) run(ctx context.Context, outputs, inputs []*Tensor) error {
	if ctx == nil {
		return invalid("the context is nil")
	}
	for i, input := range inputs {
		if input.open() != nil {
			return invalid("input %d: the tensor is nil or closed", i)
		}
	}
	if err := s.enterOwners(inputs); err != nil {
		return err
	}
	defer s.leaveOwners(inputs)
	earlier := len(s.inFlight)
	if err := firstOf(s.setInputs(inputs), s.setOutputs(outputs)); err != nil {
		s.dropMemory(earlier)
		return err
	}
	s.runs++
	err := s.runCancellably(ctx, len(inputs))
	if !s.asynchronous {
		s.dropMemory(0)
	} else if err != nil {
		err = firstOf(err, s.waitForRuns())
	}
	return err
}

// setInputs describes the inputs to the library, and holds their memory until the runs are waited for.
func (s *Session) setInputs(inputs []*Tensor) error {
	given, err := s.inputs.resize(len(inputs))
	if err != nil {
		return err
	}
	for i, input := range inputs {
		given[i] = input.raw
		if memory := input.memory; memory != nil {
			*(*uintptr)(unsafe.Pointer(&given[i].data)) = uintptr(unsafe.Pointer(&memory[0]))
		}
		s.inFlight = append(s.inFlight, heldMemory{input.memory, input.session})
	}
	return nil
}

// setOutputs does so with outputs of the caller, whose dims the library fills in; nil: all stay in the session's memory.
func (s *Session) setOutputs(outputs []*Tensor) error {
	results, err := s.results.resize(len(s.memoryOf))
	if err != nil {
		return err
	}
	for i := range results {
		results[i] = C.tailor_tensor{struct_size: C.sizeof_tailor_tensor}
		if outputs == nil || outputs[i] == nil {
			continue
		}
		output := outputs[i]
		if output.open() != nil {
			return invalid("output %d: the tensor is closed", i)
		}
		if output.session != nil {
			return invalid("output %d is an output of a run: its memory is its session's", i)
		}
		results[i] = output.raw
		results[i].rank = s.ranks[i]
		for d := range results[i].dims {
			results[i].dims[d] = -1
		}
		if memory := output.memory; memory != nil {
			*(*uintptr)(unsafe.Pointer(&results[i].data)) = uintptr(unsafe.Pointer(&memory[0]))
		} else if results[i].data == nil { // NULL would ask for memory of the session
			results[i].data = C.address_without_elements()
		}
		s.inFlight = append(s.inFlight, heldMemory{output.memory, nil})
	}
	return nil
}

// enterOwners begins a call on each session whose output an input is, so that it can neither run nor be released.
func (s *Session) enterOwners(inputs []*Tensor) error {
	for i, input := range inputs {
		owner := input.session
		if owner == nil {
			continue
		}
		if s.entersOwner(inputs, i) {
			if err := owner.enter(); err != nil {
				s.leaveOwners(inputs[:i])
				return &Error{err.(*Error).Code, fmt.Sprintf("input %d is an output: %s", i, err.(*Error).Message), ""}
			}
		}
		if input.run != owner.runs {
			s.leaveOwners(inputs[:i+1])
			return invalid("input %d is an output of an earlier run: its session has run since", i)
		}
	}
	return nil
}

// entersOwner says whether input i is the first output of a session other than s, which is in use already.
func (s *Session) entersOwner(inputs []*Tensor, i int) bool {
	owner := inputs[i].session
	if owner == nil || owner == s {
		return false
	}
	for _, earlier := range inputs[:i] {
		if earlier.session == owner {
			return false
		}
	}
	return true
}

func (s *Session) leaveOwners(inputs []*Tensor) {
	for i := range inputs {
		if s.entersOwner(inputs, i) {
			inputs[i].session.leave()
		}
	}
}

// RunInto runs once with a session that is borrowed from the executable. All outputs must be tensors with room; otherwise it is as
// Session.RunInto. Any number of goroutines may call it.
func (e *Executable) RunInto(outputs, inputs []*Tensor) error {
	for i, output := range outputs {
		if output == nil {
			return invalid("output %d: the tensor is nil", i)
		}
	}
	return e.with(func(handle *C.tailor_executable) error {
		s := &Session{} // holds the arguments alone
		defer s.inputs.free()
		defer s.results.free()
		for i := 0; i < int(C.tailor_executable_output_count(handle)); i++ {
			var info C.tailor_tensor_info
			C.tailor_tensor_info_init(&info)
			if err := check(C.tailor_executable_output(handle, C.size_t(i), &info)); err != nil {
				return err
			}
			s.memoryOf, s.ranks = append(s.memoryOf, int(info.memory_of)), append(s.ranks, info.rank)
		}
		return s.runBorrowed(handle, outputs, inputs)
	})
}

func (s *Session) runBorrowed(handle *C.tailor_executable, outputs, inputs []*Tensor) error {
	if len(outputs) != len(s.memoryOf) {
		return invalid("%d outputs are given, but the executable has %d", len(outputs), len(s.memoryOf))
	}
	for i, input := range inputs {
		if input.open() != nil {
			return invalid("input %d: the tensor is nil or closed", i)
		}
	}
	if err := s.enterOwners(inputs); err != nil {
		return err
	}
	defer s.leaveOwners(inputs)
	if err := firstOf(s.setInputs(inputs), s.setOutputs(outputs)); err != nil {
		return err
	}
	err := s.runGivenOn(handle, len(inputs))
	runtime.KeepAlive(s.inFlight)
	if err == nil {
		s.takeDims(outputs)
	}
	s.propagate()
	return err
}
