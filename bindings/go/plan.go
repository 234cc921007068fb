package tailor

/*
#include <stdlib.h>
#include "tailor/runtime.h"
*/
import "C"

import "unsafe"

// Plan is what a run at given dims needs and gives.
type Plan struct {
	Outputs        [][]int64 // dim sizes; -1: data-dependent
	WorkspaceBytes uint64
	DataDependent  bool  // some dim sizes are, so runs allocate beyond WorkspaceBytes as needed
	Versions       []int // by launch: the version that it takes, -1: data-dependent
	Kernels        int   // distinct ones of the program
	CodeBytes      uint64
	ReadsBack      bool // on a GPU: runs wait midway for values that kernels computed
}

// Plan computes it for the dims of the inputs, and for a session with that many threads. It fails where a run at these dims would
// fail, except for loops, branches and data-dependent dims.
func (e *Executable) Plan(threads int, inputs ...[]int64) (*Plan, error) {
	if threads < 0 {
		return nil, invalid("threads is %d, below 0", threads)
	}
	infos, err := e.Inputs()
	if err != nil {
		return nil, err
	}
	if len(infos) != len(inputs) {
		return nil, invalid("%d inputs are given, but the executable takes %d", len(inputs), len(infos))
	}
	tensors := make([]*Tensor, len(inputs))
	for i, dims := range inputs {
		if tensors[i], err = describe(infos[i].DType, dims); err != nil {
			return nil, invalid("input %q: %s", infos[i].Name, err.(*Error).Message)
		}
	}
	var plan *Plan
	err = e.with(func(handle *C.tailor_executable) error {
		plan, err = planOf(handle, threads, tensors)
		return err
	})
	return plan, err
}

func planOf(handle *C.tailor_executable, threads int, tensors []*Tensor) (*Plan, error) {
	outputs := int(C.tailor_executable_output_count(handle))
	launches := int(C.tailor_executable_launch_count(handle))
	given := make([]C.tailor_tensor, len(tensors)+1)
	for i, tensor := range tensors {
		given[i] = tensor.raw
	}
	results := make([]C.tailor_tensor, outputs+1)
	for i := range results {
		C.tailor_tensor_init(&results[i])
	}
	var info C.tailor_plan_info
	C.tailor_plan_info_init(&info)
	info.threads = C.uint64_t(threads)
	info.chosen = (*C.int32_t)(C.calloc(C.size_t(launches+1), C.sizeof_int32_t))
	defer C.free(unsafe.Pointer(info.chosen))
	if err := check(C.tailor_executable_plan(handle, &given[0], C.size_t(len(tensors)), &results[0], C.size_t(outputs),
		&info)); err != nil {
		return nil, err
	}
	plan := &Plan{WorkspaceBytes: uint64(info.workspace_bytes), DataDependent: info.data_dependent != 0,
		Kernels: int(info.kernels), CodeBytes: uint64(info.code_bytes), ReadsBack: info.reads_back != 0}
	for i := range results[:outputs] {
		plan.Outputs = append(plan.Outputs, (&Tensor{raw: results[i]}).Dims())
	}
	for _, version := range unsafe.Slice(info.chosen, launches) {
		plan.Versions = append(plan.Versions, int(version))
	}
	return plan, nil
}
