package graph

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

//export tailorGraphReleased
func tailorGraphReleased(unpin C.uintptr_t) {
	handle := cgo.Handle(unpin)
	handle.Value().(func())()
	handle.Delete()
}

// A panic must not unwind C code: it cancels, and propagates when compile returns.
//
//export tailorGraphProgress
func tailorGraphProgress(user C.uintptr_t, phase *C.char, done C.double) (goOn C.int32_t) {
	state := cgo.Handle(user).Value().(*compilation)
	defer func() {
		if panicked := recover(); panicked != nil {
			state.panicked = panicked
			goOn = 0
		}
	}()
	if state.progress(C.GoString(phase), float64(done)) {
		return 1
	}
	return 0
}

//export tailorGraphTake
func tailorGraphTake(user C.uintptr_t, data unsafe.Pointer, size C.size_t) {
	state := cgo.Handle(user).Value().(*compilation)
	state.artifact = append(state.artifact, unsafe.Slice((*byte)(data), int(size))...)
}
