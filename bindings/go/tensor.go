package tailor

/*
#include <stdlib.h>
#include "tailor/runtime.h"
*/
import "C"

import (
	"fmt"
	"runtime"
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

// Tensor is a dense row-major tensor in C memory: its own, or a session's for outputs.
type Tensor struct {
	raw     C.tailor_tensor
	session *Session // keeps an output's memory alive
}

// NewTensor makes a tensor of zeros. Close it, or leave that to the garbage collector.
func NewTensor(dtype DType, dims ...int64) (*Tensor, error) {
	bytes, known := sizes[dtype]
	if !known || len(dims) > C.TAILOR_MAX_RANK {
		return nil, &Error{InvalidArgument, fmt.Sprintf("no tensor of element type %d and rank %d", dtype, len(dims)), ""}
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
	if bytes > 0 {
		t.raw.data = C.calloc(1, C.size_t(bytes))
		if t.raw.data == nil {
			return nil, &Error{ResourceExhausted, fmt.Sprintf("no memory for a tensor with dims %v", dims), ""}
		}
		runtime.SetFinalizer(t, (*Tensor).Close)
	}
	return t, nil
}

// Close frees the memory of a tensor made by NewTensor. It may be called twice.
func (t *Tensor) Close() {
	if t.session == nil {
		C.free(t.raw.data)
		runtime.SetFinalizer(t, nil)
	}
	t.raw.data = nil
}

func (t *Tensor) DType() DType { return DType(t.raw.dtype) }

func (t *Tensor) Dims() []int64 {
	dims := make([]int64, t.raw.rank)
	for i := range dims {
		dims[i] = int64(t.raw.dims[i])
	}
	return dims
}

// Element lists the Go types that are element types.
type Element interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

func dtypeOf[T Element]() DType {
	var zero T
	switch any(zero).(type) {
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
	if t.DType() != dtypeOf[T]() {
		return nil, &Error{InvalidArgument, fmt.Sprintf("the tensor has element type %d, not %d", t.DType(), dtypeOf[T]()), ""}
	}
	if t.session != nil && t.session.handle == nil {
		return nil, closed("session")
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
