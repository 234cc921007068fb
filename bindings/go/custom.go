package tailor

/*
#include "tailor/runtime.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// CustomCall is one call of a custom operator (Runtime.Register). Operands and results are dense and row-major. After the
// results there is one of type I64 and rank 0 for each counted result, in order.
//
// It is valid until the function returns, and so is all memory that it gives; its methods are then those of a closed handle.
type CustomCall struct {
	raw  *C.tailor_custom_call // nil after the call
	data dataOfCall
}

type dataOfCall int

const (
	dataInSlices dataOfCall = iota
	dataOnDevice
	dataMissing // the workspace is being sized
)

func (c *CustomCall) ended() bool { return c == nil || c.raw == nil }

// Name is the operator's name; empty after the call, as are Node and Attributes.
func (c *CustomCall) Name() string {
	if c.ended() {
		return ""
	}
	return C.GoString(c.raw.name)
}

// Node is the user's name of the graph node; may be empty.
func (c *CustomCall) Node() string {
	if c.ended() {
		return ""
	}
	return C.GoString(c.raw.node)
}

// Attributes are those of the graph node.
func (c *CustomCall) Attributes() string {
	if c.ended() {
		return ""
	}
	return C.GoStringN(c.raw.attributes, C.int(c.raw.attributes_size))
}

func (c *CustomCall) OperandCount() int { return len(c.operands()) }

// ResultCount includes the counts.
func (c *CustomCall) ResultCount() int { return len(c.results()) }

// OperandType is the element type and the dim sizes of an operand.
func (c *CustomCall) OperandType(index int) (dtype DType, dims []int64, err error) {
	return c.typeOf("operand", c.operands(), index)
}

// ResultType is the element type and the dim sizes of a result; of a counted one, those of the bound.
func (c *CustomCall) ResultType(index int) (dtype DType, dims []int64, err error) {
	return c.typeOf("result", c.results(), index)
}

// OperandSlice is the elements of an operand, which must only be read. An error if the element type is not T, if there is no
// such operand, on a GPU, and while the workspace is sized.
func OperandSlice[T Element](call *CustomCall, index int) ([]T, error) {
	return sliceOf[T](call, "operand", call.operands(), index)
}

// ResultSlice is the elements of a result, to be written: arbitrary at first. Errors are as for OperandSlice.
func ResultSlice[T Element](call *CustomCall, index int) ([]T, error) {
	return sliceOf[T](call, "result", call.results(), index)
}

// OperandAddress is where the data of an operand is: on a GPU, in its memory. An error while the workspace is sized.
func (c *CustomCall) OperandAddress(index int) (unsafe.Pointer, error) {
	return c.address("operand", c.operands(), index)
}

// ResultAddress is where the data of a result is to be written.
func (c *CustomCall) ResultAddress(index int) (unsafe.Pointer, error) {
	return c.address("result", c.results(), index)
}

// Workspace is the memory that the operator asked for, rounded up to 64 bytes: arbitrary at first, and empty if it asked for
// none. An error on a GPU, and while the workspace is sized.
func (c *CustomCall) Workspace() ([]byte, error) {
	if err := c.readable("the workspace"); err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(c.raw.workspace), int(c.raw.workspace_bytes)), nil
}

// WorkspaceAddress is nil if the operator asked for none.
func (c *CustomCall) WorkspaceAddress() unsafe.Pointer {
	if c.ended() {
		return nil
	}
	return c.raw.workspace
}

// Stream is on a GPU the CUstream that all work belongs in; nil on the CPU.
func (c *CustomCall) Stream() unsafe.Pointer {
	if c.ended() {
		return nil
	}
	return c.raw.stream
}

func (c *CustomCall) operands() []C.tailor_custom_tensor {
	if c.ended() {
		return nil
	}
	return unsafe.Slice(c.raw.operands, int(c.raw.operand_count))
}

func (c *CustomCall) results() []C.tailor_custom_tensor {
	if c.ended() {
		return nil
	}
	return unsafe.Slice(c.raw.results, int(c.raw.result_count))
}

func (c *CustomCall) find(kind string, tensors []C.tailor_custom_tensor, index int) (*C.tailor_custom_tensor, error) {
	if c.ended() {
		return nil, closed("call")
	}
	if index < 0 || index >= len(tensors) {
		return nil, &Error{InvalidArgument, fmt.Sprintf("there is no %s %d, only %d", kind, index, len(tensors)), ""}
	}
	return &tensors[index], nil
}

func (c *CustomCall) typeOf(kind string, tensors []C.tailor_custom_tensor, index int) (DType, []int64, error) {
	tensor, err := c.find(kind, tensors, index)
	if err != nil {
		return 0, nil, err
	}
	return DType(tensor.dtype), append([]int64{}, dimsOf(tensor)...), nil
}

func dimsOf(tensor *C.tailor_custom_tensor) []int64 {
	return unsafe.Slice((*int64)(tensor.dims), int(tensor.rank))
}

func sliceOf[T Element](c *CustomCall, kind string, tensors []C.tailor_custom_tensor, index int) ([]T, error) {
	tensor, err := c.find(kind, tensors, index)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprint(kind, " ", index)
	if err := c.readable(what); err != nil {
		return nil, err
	}
	if DType(tensor.dtype) != DTypeOf[T]() {
		return nil, &Error{InvalidArgument, fmt.Sprintf("%s is %v, not %v", what, DType(tensor.dtype), DTypeOf[T]()), ""}
	}
	count := int64(1)
	for _, dim := range dimsOf(tensor) {
		count *= dim
	}
	if count == 0 { // the address is arbitrary
		return nil, nil
	}
	return unsafe.Slice((*T)(tensor.data), count), nil
}

func (c *CustomCall) address(kind string, tensors []C.tailor_custom_tensor, index int) (unsafe.Pointer, error) {
	tensor, err := c.find(kind, tensors, index)
	if err != nil {
		return nil, err
	}
	if c.data == dataMissing {
		return nil, c.readable(fmt.Sprint(kind, " ", index))
	}
	return tensor.data, nil
}

// readable is an error if the data cannot be a slice.
func (c *CustomCall) readable(what string) error {
	if c.ended() {
		return closed("call")
	}
	switch c.data {
	case dataOnDevice:
		return &Error{InvalidArgument, what + " is in the device's memory: see its address", ""}
	case dataMissing:
		return &Error{InvalidArgument, what + " has no data while the workspace is sized", ""}
	}
	return nil
}

// customOperator is what is registered.
type customOperator struct {
	onDevice  bool
	function  func(*CustomCall) error
	workspace func(*CustomCall) (int64, error) // nil: none
}

// compute gives the code of the function's error; 0 is success.
func (o *customOperator) compute(raw unsafe.Pointer) int32 {
	call := &CustomCall{raw: (*C.tailor_custom_call)(raw)}
	if o.onDevice {
		call.data = dataOnDevice
	}
	return call.run(func() error { return o.function(call) })
}

func (o *customOperator) size(raw unsafe.Pointer, bytes *int64) int32 {
	call := &CustomCall{raw: (*C.tailor_custom_call)(raw), data: dataMissing}
	return call.run(func() (err error) {
		*bytes, err = o.workspace(call)
		if err == nil && *bytes < 0 {
			return &Error{InvalidArgument, fmt.Sprintf("it asks for a workspace of %d bytes", *bytes), ""}
		}
		return err
	})
}

// run calls the function and ends the call. No panic leaves it, since it would unwind C code.
func (c *CustomCall) run(function func() error) (code int32) {
	returned := false
	defer func() {
		if !returned { // recover gives nil for panic(nil)
			code = c.fail(fmt.Errorf("it panicked: %v", recover()))
		}
		c.raw = nil
	}()
	code = c.fail(function())
	returned = true
	return code
}

// fail puts the text of an error into the call, and gives its code.
func (c *CustomCall) fail(err error) int32 {
	if err == nil {
		return 0
	}
	text, code := err.Error(), Internal
	var e *Error
	if errors.As(err, &e) && e != nil && e.Code != 0 { // code 0 would be success
		code = e.Code
	}
	if direct, ok := err.(*Error); ok && direct != nil {
		text = direct.Message
	}
	c.setMessage(strings.ReplaceAll(text, "\x00", "\uFFFD"))
	return int32(code)
}

// setMessage cuts the text to the room that there is.
func (c *CustomCall) setMessage(text string) {
	room := unsafe.Slice((*byte)(unsafe.Pointer(c.raw.message)), int(c.raw.message_capacity))
	size := len(text)
	if size >= len(room) {
		for size = len(room) - 1; size > 0 && !utf8.RuneStart(text[size]); size-- {
		}
	}
	copy(room, text[:size])
	room[size] = 0
}
