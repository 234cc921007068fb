package tailor

// Functions that C code calls. A file with exports cannot define C functions.

/*
#include <stddef.h>
#include <stdint.h>
*/
import "C"

import (
	"runtime/cgo"
	"time"
	"unsafe"
)

//export tailorParallelFor
func tailorParallelFor(user C.uintptr_t, task, data unsafe.Pointer, count C.size_t) {
	cgo.Handle(user).Value().(*callbacks).run(task, data, int(count))
}

//export tailorTrace
func tailorTrace(user C.uintptr_t, launch, version C.int32_t, begin, end C.int64_t) {
	cgo.Handle(user).Value().(*callbacks).traced(TraceEvent{int(launch), int(version), time.Duration(begin), time.Duration(end)})
}

//export tailorRuntimeParallelFor
func tailorRuntimeParallelFor(user C.uintptr_t, task, data unsafe.Pointer, count C.size_t) {
	cgo.Handle(user).Value().(*runtimeCallbacks).run(task, data, int(count))
}

//export tailorLog
func tailorLog(user C.uintptr_t, level C.int32_t, message *C.char) {
	cgo.Handle(user).Value().(*runtimeCallbacks).logged(LogLevel(level), C.GoString(message))
}

//export tailorTakeText
func tailorTakeText(user C.uintptr_t, data unsafe.Pointer, size C.size_t) {
	*cgo.Handle(user).Value().(*string) = string(unsafe.Slice((*byte)(data), int(size)))
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

// Of a handle that C code does not use any more.
//
//export tailorReleased
func tailorReleased(handle C.uintptr_t) {
	cgo.Handle(handle).Delete()
}
