package tailor

// What C code calls. A file with exports has no C functions of its own.

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
