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
