package tailor

/*
#include "tailor/runtime.h"
*/
import "C"

import (
	"math"
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
		return 0, 0, invalid("Device: the ordinal %d is not from 0 to %d", d.ordinal, math.MaxInt32)
	}
	return d.kind, int32(d.ordinal), nil
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
	if t == nil || t.raw.device == 0 {
		return nil
	}
	return t.raw.data
}
