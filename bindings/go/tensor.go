package tailor

/*
#include <stdlib.h>
#include "tailor/runtime.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// DType is an element type; the numbers are those of tailor/runtime.h.
type DType int32

const (
	Bool DType = C.TAILOR_BOOL
	I8   DType = C.TAILOR_I8
	I16  DType = C.TAILOR_I16
	I32  DType = C.TAILOR_I32
	I64  DType = C.TAILOR_I64
	U8   DType = C.TAILOR_U8
	U16  DType = C.TAILOR_U16
	U32  DType = C.TAILOR_U32
	U64  DType = C.TAILOR_U64
	F16  DType = C.TAILOR_F16
	BF16 DType = C.TAILOR_BF16
	F32  DType = C.TAILOR_F32
	F64  DType = C.TAILOR_F64
)

var sizes = map[DType]int64{Bool: 1, I8: 1, I16: 2, I32: 4, I64: 8, U8: 1, U16: 2, U32: 4, U64: 8, F16: 2, BF16: 2,
	F32: 4, F64: 8}

func (d DType) String() string {
	names := [...]string{Bool: "bool", I8: "i8", I16: "i16", I32: "i32", I64: "i64", U8: "u8", U16: "u16", U32: "u32",
		U64: "u64", F16: "f16", BF16: "bf16", F32: "f32", F64: "f64"}
	if d < Bool || int(d) >= len(names) {
		return fmt.Sprintf("element type %d", int32(d))
	}
	return names[d]
}

// Tensor is a dense row-major tensor in C memory: its own, or a session's for outputs.
type Tensor struct {
	raw     C.tailor_tensor
	memory  *memory  // its own, while it is open; nil where there are no bytes
	session *Session // keeps an output's memory alive
}

// memory is C memory, freed with its last user.
type memory struct {
	data  unsafe.Pointer
	users atomic.Int32
}

func (m *memory) release() {
	if m.users.Add(-1) == 0 {
		C.free(m.data)
	}
}

// NewTensor makes a tensor of zeros. Close it, or leave that to the garbage collector.
func NewTensor(dtype DType, dims ...int64) (*Tensor, error) {
	t, err := describe(dtype, dims)
	if err != nil {
		return nil, err
	}
	if bytes := t.raw.data_bytes; bytes > 0 {
		t.raw.data = C.calloc(1, C.size_t(bytes))
		if t.raw.data == nil {
			return nil, &Error{ResourceExhausted, fmt.Sprintf("no memory for a tensor with dims %v", dims), ""}
		}
		t.memory = &memory{data: t.raw.data}
		t.memory.users.Store(1)
		runtime.SetFinalizer(t, (*Tensor).Close)
	}
	return t, nil
}

// describe makes a tensor without memory.
func describe(dtype DType, dims []int64) (*Tensor, error) {
	bytes, known := sizes[dtype]
	if !known || len(dims) > C.TAILOR_MAX_RANK {
		return nil, &Error{InvalidArgument, fmt.Sprintf("no tensor of %v and rank %d", dtype, len(dims)), ""}
	}
	t := &Tensor{}
	C.tailor_tensor_init(&t.raw)
	t.raw.dtype, t.raw.rank = C.int32_t(dtype), C.int32_t(len(dims))
	for i, dim := range dims {
		if dim < 0 || (dim > 0 && bytes > (1<<62)/dim) {
			return nil, &Error{InvalidArgument, fmt.Sprintf("no tensor with dims %v", dims), ""}
		}
		t.raw.dims[i] = C.int64_t(dim)
		bytes *= dim
	}
	t.raw.data_bytes = C.uint64_t(bytes)
	return t, nil
}

// Close frees the memory of a tensor made by NewTensor, unless it is pinned. It may be called twice.
func (t *Tensor) Close() {
	if t.memory != nil {
		t.memory.release()
		t.memory = nil
		runtime.SetFinalizer(t, nil)
	}
	t.raw.data = nil
}

// Pin keeps the tensor's memory, also after Close, until unpin is called, once and on any goroutine: for C code that
// uses it beyond the call that it is given to. Outputs cannot be pinned, for their session writes to them.
func (t *Tensor) Pin() (data unsafe.Pointer, size int64, unpin func(), err error) {
	if t.session != nil {
		return nil, 0, nil, &Error{InvalidArgument, "an output cannot be pinned: its memory is its session's", ""}
	}
	if t.raw.device != 0 {
		return nil, 0, nil, &Error{InvalidArgument, "a tensor in a device's memory cannot be pinned", ""}
	}
	if t.memory == nil && t.raw.data_bytes > 0 {
		return nil, 0, nil, closed("tensor")
	}
	if t.memory == nil {
		return nil, 0, func() {}, nil
	}
	t.memory.users.Add(1)
	return t.memory.data, int64(t.raw.data_bytes), t.memory.release, nil
}

func (t *Tensor) DType() DType { return DType(t.raw.dtype) }

func (t *Tensor) Dims() []int64 {
	dims := make([]int64, t.raw.rank)
	for i := range dims {
		dims[i] = int64(t.raw.dims[i])
	}
	return dims
}

// Bool8 is a bool as tensors hold it: 0 or 1.
type Bool8 uint8

// Float16 is the bits of a half-precision number.
type Float16 uint16

// BFloat16 is the bits of a bfloat16: the upper half of a float32's.
type BFloat16 uint16

// Element lists the Go types that are element types.
type Element interface {
	Bool8 | Float16 | BFloat16 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// DTypeOf is the element type of T.
func DTypeOf[T Element]() DType {
	var zero T
	switch any(zero).(type) {
	case Bool8:
		return Bool
	case Float16:
		return F16
	case BFloat16:
		return BF16
	case int8:
		return I8
	case int16:
		return I16
	case int32:
		return I32
	case int64:
		return I64
	case uint8:
		return U8
	case uint16:
		return U16
	case uint32:
		return U32
	case uint64:
		return U64
	case float32:
		return F32
	}
	return F64
}

// Slice is the tensor's memory; it is valid as long as the tensor is. An error if the element type is not T.
func Slice[T Element](t *Tensor) ([]T, error) {
	if t.DType() != DTypeOf[T]() {
		return nil, &Error{InvalidArgument, fmt.Sprintf("the tensor is %v, not %v", t.DType(), DTypeOf[T]()), ""}
	}
	if t.session != nil && t.session.handle == nil {
		return nil, closed("session")
	}
	if t.raw.device != 0 {
		return nil, &Error{InvalidArgument, "the tensor is in the device's memory: see DeviceAddress", ""}
	}
	count := int64(1)
	for _, dim := range t.Dims() {
		count *= dim
	}
	if count == 0 {
		return nil, nil
	}
	if t.raw.data == nil {
		return nil, closed("tensor")
	}
	return unsafe.Slice((*T)(t.raw.data), count), nil
}
