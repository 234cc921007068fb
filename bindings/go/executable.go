package tailor

/*
#include <stdlib.h>
#include "tailor/runtime.h"
*/
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

// Version is the runtime library's version, "0.1.0".
func Version() string { return C.GoString(C.tailor_version()) }

// CPUFeatures is the level of this machine's CPU, and the CPU features that the runtime library can and cannot use: one line.
func CPUFeatures() string { return C.GoString(C.tailor_cpu_features()) }

// UsableCPUs is the number of CPUs that the calling thread may use: those of its affinity mask, at most the CPU quota of
// the process's control groups, rounded up.
func UsableCPUs() int { return int(C.tailor_usable_cpus()) }

// Executable is a compiled graph. It may be used from many goroutines.
type Executable struct {
	mutex  sync.RWMutex // locked for Close; read-locked while C uses the handle
	handle *C.tailor_executable
}

// with calls function with the handle, which stays live during the call.
func (e *Executable) with(function func(handle *C.tailor_executable) error) error {
	if e == nil {
		return closed("executable")
	}
	defer runtime.KeepAlive(e)
	e.mutex.RLock()
	defer e.mutex.RUnlock()
	if e.handle == nil {
		return closed("executable")
	}
	return function(e.handle)
}

// FromC takes over a tailor_executable* from C code, as package graph does.
func FromC(handle unsafe.Pointer) *Executable {
	e := &Executable{handle: (*C.tailor_executable)(handle)}
	runtime.SetFinalizer(e, (*Executable).Close)
	return e
}

// Close releases the executable; its sessions stay usable. It may be called twice.
func (e *Executable) Close() {
	if e == nil {
		return
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	C.tailor_executable_release(e.handle)
	e.handle = nil
	runtime.SetFinalizer(e, nil)
}

// Save writes the artifact; the bytes equal those loaded.
func (e *Executable) Save(path string) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	return e.with(func(handle *C.tailor_executable) error {
		return check(C.tailor_executable_save(handle, name, C.size_t(len(path))))
	})
}

// SaveBytes is the artifact's bytes, as LoadBytes takes them.
func (e *Executable) SaveBytes() (artifact []byte, err error) {
	err = e.with(func(handle *C.tailor_executable) error {
		var size C.size_t
		if err := check(C.tailor_executable_save_memory(handle, nil, 0, &size)); err != nil {
			return err
		}
		artifact = make([]byte, size)
		return check(C.tailor_executable_save_memory(handle, unsafe.Pointer(&artifact[0]), size, &size))
	})
	if err != nil {
		return nil, err
	}
	return artifact, nil
}
