package tailor

/*
#include <stdlib.h>
#include "tailor/runtime.h"
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"sync"
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

// Size is the bytes of an element; 0 if there is no such type.
func (d DType) Size() int64 { return sizes[d] }

func (d DType) String() string {
	names := [...]string{Bool: "bool", I8: "i8", I16: "i16", I32: "i32", I64: "i64", U8: "u8", U16: "u16", U32: "u32",
		U64: "u64", F16: "f16", BF16: "bf16", F32: "f32", F64: "f64"}
	if d < Bool || int(d) >= len(names) {
		return fmt.Sprintf("element type %d", int32(d))
	}
	return names[d]
}

// Tensor is a dense row-major tensor: in Go memory, in its session's memory for an output, or in a GPU's.
type Tensor struct {
	raw     C.tailor_tensor // its data is NULL for a tensor in Go memory
	memory  []byte          // nil for other tensors, closed ones and those without bytes
	session *Session        // whose output it is; nil for other tensors
	run     uint64          // of session: the run that it is an output of
}

// alignment is that of the memory of a tensor, in bytes.
const alignment = 64

// allocate gives zeroed Go memory, or nil if there is not enough. Go ends the process when memory runs out, so a large size
// is first tried in C.
func allocate(bytes int64) []byte {
	const maxBytes, large = 1 << 46, 1 << 20
	if bytes > maxBytes {
		return nil
	}
	if bytes > large {
		tried := C.malloc(C.size_t(bytes))
		if tried == nil {
			return nil
		}
		C.free(tried)
	}
	memory := make([]byte, bytes+alignment-1)
	start := -uintptr(unsafe.Pointer(&memory[0])) & (alignment - 1)
	return memory[start : int64(start)+bytes]
}

// NewTensor makes a tensor of zeros in Go memory, which the garbage collector frees when neither the tensor nor a slice of it
// is left. Close drops the tensor's reference earlier.
func NewTensor(dtype DType, dims ...int64) (*Tensor, error) {
	t, err := describe(dtype, dims)
	if err != nil {
		return nil, err
	}
	if bytes := t.raw.data_bytes; bytes > 0 {
		if t.memory = allocate(int64(bytes)); t.memory == nil {
			return nil, &Error{ResourceExhausted, fmt.Sprintf("no memory for a tensor with dims %v", dims), ""}
		}
	}
	return t, nil
}

// FromSlice makes a tensor over the caller's memory, without a copy: as an input, or with RunInto as an output. The length of the
// slice is the product of the dims; with no dims given, it is the only dim.
func FromSlice[T Element](data []T, dims ...int64) (*Tensor, error) {
	if len(dims) == 0 {
		dims = []int64{int64(len(data))}
	}
	t, err := describe(DTypeOf[T](), dims)
	if err != nil {
		return nil, err
	}
	size := int64(t.raw.data_bytes)
	if have := int64(len(data)) * sizes[t.DType()]; have != size {
		return nil, invalid("dims %v have %d elements, but the slice has %d", dims, size/sizes[t.DType()], len(data))
	}
	if size > 0 {
		t.memory = unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), size)
	}
	return t, nil
}

// FromBytes is FromSlice of elements of any type, as bytes in the machine's order. An error if they are not aligned to the element
// type.
func FromBytes(dtype DType, data []byte, dims ...int64) (*Tensor, error) {
	t, err := describe(dtype, dims)
	if err != nil {
		return nil, err
	}
	if size := int64(t.raw.data_bytes); int64(len(data)) != size {
		return nil, invalid("dims %v of %v take %d bytes, but the slice has %d", dims, dtype, size, len(data))
	}
	if len(data) > 0 {
		if uintptr(unsafe.Pointer(&data[0]))%uintptr(dtype.Size()) != 0 {
			return nil, invalid("the bytes are not aligned to %v", dtype)
		}
		t.memory = data
	}
	return t, nil
}

// Scalar is a tensor of rank 0.
func Scalar[T Element](value T) *Tensor {
	t, _ := FromSlice([]T{value})
	t.raw.rank, t.raw.dims[0] = 0, 0
	return t
}

// describe makes a tensor without memory.
func describe(dtype DType, dims []int64) (*Tensor, error) {
	bytes, err := bytesOf(dtype, dims)
	if err != nil {
		return nil, err
	}
	t := &Tensor{}
	C.tailor_tensor_init(&t.raw)
	t.raw.dtype, t.raw.data_bytes = C.int32_t(dtype), C.uint64_t(bytes)
	t.setDims(dims)
	return t, nil
}

// bytesOf is the size of a dense tensor.
func bytesOf(dtype DType, dims []int64) (int64, error) {
	bytes := dtype.Size()
	if bytes == 0 || len(dims) > C.TAILOR_MAX_RANK {
		return 0, &Error{InvalidArgument, fmt.Sprintf("no tensor of %v and rank %d", dtype, len(dims)), ""}
	}
	for _, dim := range dims {
		if dim < 0 || (dim > 0 && bytes > (1<<62)/dim) {
			return 0, &Error{InvalidArgument, fmt.Sprintf("no tensor with dims %v", dims), ""}
		}
		bytes *= dim
	}
	return bytes, nil
}

// Close drops the reference to the memory. Results of Slice and Pin stay valid. It may be called twice.
func (t *Tensor) Close() {
	if t == nil {
		return
	}
	t.memory, t.raw.data = nil, nil
}

// open is an error for a tensor without memory to read: nil or closed.
func (t *Tensor) open() error {
	if t == nil || t.raw.dtype == 0 || (t.memory == nil && t.raw.data == nil && t.raw.data_bytes > 0) {
		return closed("tensor")
	}
	return nil
}

// Pin keeps the tensor's memory, also after Close, until unpin is called, once and on any goroutine: for C code that
// uses it after the call that it is given to. Outputs cannot be pinned, since their session writes to them.
func (t *Tensor) Pin() (data unsafe.Pointer, size int64, unpin func(), err error) {
	if err := t.open(); err != nil {
		return nil, 0, nil, err
	}
	if t.session != nil {
		return nil, 0, nil, &Error{InvalidArgument, "an output cannot be pinned: its memory is its session's", ""}
	}
	if t.raw.device != 0 {
		return nil, 0, nil, &Error{InvalidArgument, "a tensor in a device's memory cannot be pinned", ""}
	}
	if t.memory == nil {
		return nil, 0, func() {}, nil
	}
	pinned := cgo.NewHandle(t.memory)
	var once sync.Once
	return unsafe.Pointer(&t.memory[0]), int64(len(t.memory)), func() { once.Do(pinned.Delete) }, nil
}

// Resize sets the dims of a tensor in Go memory, within the memory that it has: elements keep their places in it. No memory is
// allocated.
func (t *Tensor) Resize(dims ...int64) error {
	if err := t.open(); err != nil {
		return err
	}
	if t.session != nil || t.raw.device != 0 {
		return invalid("the tensor has memory of a session or of a device, whose dims stay")
	}
	bytes, err := bytesOf(t.DType(), dims)
	if err != nil {
		return err
	}
	if bytes > int64(len(t.memory)) {
		return invalid("dims %v take %d bytes, but the tensor has %d", dims, bytes, len(t.memory))
	}
	t.setDims(dims)
	return nil
}

func (t *Tensor) setDims(dims []int64) {
	t.raw.rank = C.int32_t(len(dims))
	for i, dim := range dims {
		t.raw.dims[i] = C.int64_t(dim)
	}
}

// DType is the element type; 0 if the tensor is nil.
func (t *Tensor) DType() DType {
	if t == nil {
		return 0
	}
	return DType(t.raw.dtype)
}

// Dims are the dim sizes; nil if the tensor is.
func (t *Tensor) Dims() []int64 {
	if t == nil {
		return nil
	}
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

// Slice is the memory of a tensor made by NewTensor or FromSlice, which runs read. It keeps that memory alive, also after Close.
// For an output of Run it is a copy, since the session writes its memory again; it waits for the runs of an asynchronous session.
//
// An error if the element type is not T, the tensor is closed, or the session of an output is closed or has run since.
func Slice[T Element](t *Tensor) ([]T, error) {
	if err := t.has(DTypeOf[T]()); err != nil {
		return nil, err
	}
	return elements[T](t)
}

// Bytes is the memory of a tensor of any element type, as Slice gives it.
func (t *Tensor) Bytes() ([]byte, error) {
	if err := t.open(); err != nil {
		return nil, err
	}
	return elements[byte](t)
}

// Copy copies the elements of a tensor, an output too, and gives their number. It allocates nothing. Errors are those of Slice, and
// InvalidArgument if `to` has fewer elements; then nothing is copied.
func Copy[T Element](to []T, from *Tensor) (int, error) {
	if err := from.has(DTypeOf[T]()); err != nil {
		return 0, err
	}
	if count := from.Count(); count > int64(len(to)) {
		return 0, invalid("the tensor has %d elements, but there is room for %d", count, len(to))
	}
	if from.session == nil {
		values, err := elements[T](from)
		return copy(to, values), err
	}
	if err := from.beginRead(); err != nil {
		return 0, err
	}
	defer from.session.leave()
	return copy(to, outputElements[T](from)), nil
}

// Count is the number of elements.
func (t *Tensor) Count() int64 {
	if t == nil {
		return 0
	}
	count := int64(1)
	for _, dim := range t.raw.dims[:t.raw.rank] {
		count *= int64(dim)
	}
	return count
}

// has is an error if the tensor is closed or has another element type.
func (t *Tensor) has(dtype DType) error {
	if err := t.open(); err != nil {
		return err
	}
	if t.DType() != dtype {
		return invalid("the tensor is %v, not %v", t.DType(), dtype)
	}
	return nil
}

// elements are those of an open tensor, as T or bytes.
func elements[T Element](t *Tensor) ([]T, error) {
	if t.session != nil {
		if err := t.beginRead(); err != nil {
			return nil, err
		}
		defer t.session.leave()
		return append([]T(nil), outputElements[T](t)...), nil
	}
	if t.raw.device != 0 {
		return nil, onDevice()
	}
	count := t.Count() * sizes[t.DType()] / int64(unsafe.Sizeof(*new(T)))
	if count == 0 {
		return nil, nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&t.memory[0])), count), nil
}

// outputElements are those of an output, in its session's memory.
func outputElements[T Element](t *Tensor) []T {
	count := t.Count() * sizes[t.DType()] / int64(unsafe.Sizeof(*new(T)))
	if count == 0 {
		return nil
	}
	return unsafe.Slice((*T)(t.raw.data), count)
}

func onDevice() error { return invalid("the tensor is in the device's memory: see DeviceAddress") }

// beginRead begins a call on the session of an output, which may then neither run nor be released, and whose runs are done.
func (t *Tensor) beginRead() error {
	s := t.session
	if err := s.enter(); err != nil {
		return err
	}
	err := t.readable()
	if err != nil {
		s.leave()
	}
	return err
}

func (t *Tensor) readable() error {
	if t.run != t.session.runs {
		return invalid("the tensor is an output of an earlier run: its session has run since")
	}
	if t.raw.device != 0 {
		return onDevice()
	}
	return t.session.waitForRuns()
}
