package onnx

// Functions that C code calls. A file with exports cannot define C functions.

/*
#include <stddef.h>
#include <stdint.h>
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

//export tailorOnnxNeedsFixed
func tailorOnnxNeedsFixed(load C.uintptr_t, input *C.char, size C.size_t) {
	inputs := cgo.Handle(load).Value().(*[]string)
	*inputs = append(*inputs, string(unsafe.Slice((*byte)(unsafe.Pointer(input)), int(size))))
}
