// Package onnx makes graphs from ONNX models. It needs libtailor_onnx.so besides what package graph needs.
//
//	g, err := onnx.Load("model.onnx", nil) // its dim_params are symbols
//	if err != nil {
//		return err
//	}
//	defer g.Close()
//	executable, err := g.Compile(nil) // once, for all shapes
package onnx

/*
#include <stdlib.h>
#include "tailor/onnx.h"

extern void tailorOnnxNeedsFixed(uintptr_t load, char* input, size_t size);
static void call_needs_fixed(void* load, const char* input, size_t size) {
	tailorOnnxNeedsFixed((uintptr_t)load, (char*)input, size);
}

// From `data`, or if that is NULL from the file `path`.
static tailor_status* load(const char* path, size_t path_size, const void* data, size_t size,
                           tailor_onnx_options options, uintptr_t load, tailor_graph** out) {
	options.struct_size = sizeof(options);
	options.needs_fixed = call_needs_fixed;
	options.user = (void*)load;
	if (data == NULL) return tailor_onnx_load(path, path_size, &options, out);
	return tailor_onnx_load_memory(data, size, NULL, NULL, &options, out);
}
*/
import "C"

import (
	"runtime/cgo"
	"strings"
	"unsafe"

	"tailor.internal/tailor"
	"tailor.internal/tailor/graph"
)

// Options are the options of loading a model.
type Options struct {
	// Symbols are ranges of symbols by name; others have the default range.
	Symbols map[string]graph.SymbolOptions
	// Dims are what stands for a dim_param, or for "<input>_dim<i>", a dim without one. Others are symbols of these names.
	// "4", "2*S + 1": integers, symbols, + - *, parentheses, and floordiv(a, b), mod, min, max, ceildiv.
	Dims map[string]string
	// Fixed are inputs that always have these elements: axes, shapes and the like that compilation has to know. They are
	// copied, and the graph does not have these inputs. Outputs of a session are refused.
	Fixed map[string]*tailor.Tensor
	// Directory of the external data of a model in memory; empty: it has none.
	Directory string
	// CustomDomains are domains whose nodes are custom operators: Op of domain "d" is operator "d::Op".
	CustomDomains []string
}

// NeedsFixedError is a model that depends on data which compilation has to know. Inputs are those which, if they are among
// Options.Fixed, might avoid that. It wraps a *tailor.Error.
type NeedsFixedError struct {
	Err    *tailor.Error
	Inputs []string
}

func (e *NeedsFixedError) Error() string { return e.Err.Error() }
func (e *NeedsFixedError) Unwrap() error { return e.Err }

// Load makes the graph of the model file `path`; nil options are the defaults. Weights stay in the mapped file: it and the
// files of its external data must not change until the graph and every compilation of it are gone.
//
// Errors are a *tailor.Error whose Node is the node, input or initializer at fault, or a *NeedsFixedError.
func Load(path string, options *Options) (*graph.Graph, error) {
	return load(path, nil, options)
}

// LoadBytes makes the graph of a model in memory, which is copied.
func LoadBytes(model []byte, options *Options) (*graph.Graph, error) {
	if len(model) == 0 {
		return nil, invalid("the model has no bytes")
	}
	return load("", model, options)
}

func load(path string, model []byte, options *Options) (*graph.Graph, error) {
	if options == nil {
		options = &Options{}
	}
	if strings.IndexByte(path, 0) >= 0 {
		return nil, invalid("the path holds a NUL")
	}
	var memory cMemory
	defer memory.free()
	given, err := options.toC(&memory)
	if err != nil {
		return nil, err
	}
	cPath, pathSize := memory.text(path)
	var data unsafe.Pointer
	if len(model) > 0 {
		data = unsafe.Pointer(&model[0])
	}
	var inputs []string
	pinned := cgo.NewHandle(&inputs)
	defer pinned.Delete()
	var handle *C.tailor_graph
	status := C.load(cPath, pathSize, data, C.size_t(len(model)), given, C.uintptr_t(pinned), &handle)
	if err := check(status); err != nil {
		if len(inputs) > 0 {
			return nil, &NeedsFixedError{err, inputs}
		}
		return nil, err
	}
	return graph.FromC(unsafe.Pointer(handle)), nil
}

func check(status *C.tailor_status) *tailor.Error {
	if status == nil {
		return nil
	}
	defer C.tailor_status_release(status)
	return &tailor.Error{Code: tailor.Code(C.tailor_status_code(status)),
		Message: C.GoString(C.tailor_status_message(status)), Node: C.GoString(C.tailor_status_node(status))}
}

func invalid(message string) error {
	return &tailor.Error{Code: tailor.InvalidArgument, Message: message}
}
