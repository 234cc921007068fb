package tailor

/*
#include <stdlib.h>
#include "tailor/runtime.h"

extern void tailorTakeText(uintptr_t text, void* data, size_t size);
static void call_take_text(void* text, const char* data, size_t size) {
	tailorTakeText((uintptr_t)text, (void*)data, size);
}
static tailor_status* describe_artifact(const char* path, size_t size, uintptr_t text) {
	return tailor_artifact_describe(path, size, call_take_text, (void*)text);
}
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// TensorInfo describes an input or output. Dims are the dim sizes as text ("B", "4*S + 1", "384"), Sizes those that are constant,
// else -1. Runs write the memory of an input that is Donated; an output with MemoryOf >= 0 is written to the memory of the input
// of that number.
type TensorInfo struct {
	Name     string
	DType    DType
	Dims     []string
	Sizes    []int64
	Donated  bool
	MemoryOf int
}

// SymbolInfo is the declared range of a symbol.
type SymbolInfo struct {
	Name                 string
	Min, Max, MultipleOf int64
}

// LaunchInfo is one kernel launch of the program in use: of a trace, and of Plan.Versions.
type LaunchInfo struct {
	Kernel    string
	Versions  int    // of the kernel; a run uses one
	Dropped   int    // versions left out due to bounds on code
	Code      int    // index of the kernel: launches of equal kernels share machine code
	CodeBytes uint64 // of all versions; 0 if the artifact does not record it
}

// Inputs describes the inputs in order.
func (e *Executable) Inputs() (all []TensorInfo, err error) {
	err = e.with(func(handle *C.tailor_executable) error {
		all, err = infos(int(C.tailor_executable_input_count(handle)), func(i int, out *C.tailor_tensor_info) error {
			return check(C.tailor_executable_input(handle, C.size_t(i), out))
		})
		return err
	})
	return all, err
}

// Outputs describes the outputs in order.
func (e *Executable) Outputs() (all []TensorInfo, err error) {
	err = e.with(func(handle *C.tailor_executable) error {
		all, err = infos(int(C.tailor_executable_output_count(handle)), func(i int, out *C.tailor_tensor_info) error {
			return check(C.tailor_executable_output(handle, C.size_t(i), out))
		})
		return err
	})
	return all, err
}

func infos(count int, read func(int, *C.tailor_tensor_info) error) ([]TensorInfo, error) {
	all := make([]TensorInfo, count)
	for i := range all {
		var info C.tailor_tensor_info
		C.tailor_tensor_info_init(&info)
		if err := read(i, &info); err != nil {
			return nil, err
		}
		all[i] = TensorInfo{Name: C.GoString(info.name), DType: DType(info.dtype), Donated: info.donated != 0,
			MemoryOf: int(info.memory_of)}
		for d := 0; d < int(info.rank); d++ {
			all[i].Dims = append(all[i].Dims, C.GoString(info.dim_texts[d]))
			all[i].Sizes = append(all[i].Sizes, int64(info.extents[d]))
		}
	}
	return all, nil
}

// Symbols are the symbols of the inputs' dims.
func (e *Executable) Symbols() (all []SymbolInfo, err error) {
	err = e.with(func(handle *C.tailor_executable) error {
		all = make([]SymbolInfo, C.tailor_executable_symbol_count(handle))
		for i := range all {
			var info C.tailor_symbol_info
			C.tailor_symbol_info_init(&info)
			if err := check(C.tailor_executable_symbol(handle, C.size_t(i), &info)); err != nil {
				return err
			}
			all[i] = SymbolInfo{C.GoString(info.name), int64(info.min), int64(info.max), int64(info.multiple_of)}
		}
		return nil
	})
	return all, err
}

// Launches are the kernel launches in the order of a run.
func (e *Executable) Launches() (all []LaunchInfo, err error) {
	err = e.with(func(handle *C.tailor_executable) error {
		all = make([]LaunchInfo, C.tailor_executable_launch_count(handle))
		for i := range all {
			var info C.tailor_launch_info
			C.tailor_launch_info_init(&info)
			if err := check(C.tailor_executable_launch(handle, C.size_t(i), &info)); err != nil {
				return err
			}
			all[i] = LaunchInfo{C.GoString(info.kernel), int(info.versions), int(info.dropped), int(info.code),
				uint64(info.code_bytes)}
		}
		return nil
	})
	return all, err
}

// Describe is the program as JSON: symbols, signature, facts, checks, launches, variants, provenance, sizes.
func (e *Executable) Describe() (json string, err error) {
	err = e.with(func(handle *C.tailor_executable) error {
		var text *C.char
		err := check(C.tailor_executable_describe(handle, &text))
		if err == nil {
			json = C.GoString(text)
		}
		return err
	})
	return json, err
}

// DescribeArtifact is Describe of a file that is not loaded, on any machine.
func DescribeArtifact(path string) (json string, err error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	taken := cgo.NewHandle(&json)
	defer taken.Delete()
	err = check(C.describe_artifact(name, C.size_t(len(path)), C.uintptr_t(taken)))
	return json, err
}
