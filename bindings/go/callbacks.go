package tailor

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

//export tailorParallelFor
func tailorParallelFor(user C.uintptr_t, task, data unsafe.Pointer, count C.size_t) {
	cgo.Handle(user).Value().(*executor).run(task, data, int(count))
}

//export tailorCustomFunction
func tailorCustomFunction(op C.uintptr_t, call unsafe.Pointer) C.int32_t {
	return C.int32_t(cgo.Handle(op).Value().(*customOperator).compute(call))
}

//export tailorCustomWorkspace
func tailorCustomWorkspace(op C.uintptr_t, call unsafe.Pointer, bytes *C.uint64_t) C.int32_t {
	var size int64
	code := cgo.Handle(op).Value().(*customOperator).size(call, &size)
	if code == 0 {
		*bytes = C.uint64_t(size)
	}
	return C.int32_t(code)
}

//export tailorCustomReleased
func tailorCustomReleased(op C.uintptr_t) {
	cgo.Handle(op).Delete()
}
