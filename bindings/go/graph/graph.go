// Package graph builds graphs over symbolic shapes and compiles them. It needs libtailor.so besides what package tailor
// needs.
//
//	g, err := graph.New("scale")
//	if err != nil {
//		return err
//	}
//	defer g.Close()
//	batch := g.Symbol("batch", nil)
//	x := g.Input("x", tailor.F32, batch, graph.Int(4))
//	g.Output("y", x.Mul(graph.Number(2)).Softmax(-1))
//	executable, err := g.Compile(nil) // once, for every batch
//
// Errors stick: after a call has failed, later ones on that graph do nothing, and Err and Compile return that first
// error. So a graph can be written without a check after each op.
package graph

/*
#include <stdlib.h>
#include "tailor/compiler.h"

extern void tailorGraphReleased(uintptr_t unpin);
static void call_released(void* unpin) { tailorGraphReleased((uintptr_t)unpin); }

static tailor_status* borrowed_constant(tailor_graph* graph, const char* name, size_t name_size, int32_t dtype,
                                        const int64_t* dims, size_t rank, const void* data, size_t size,
                                        uintptr_t unpin, tailor_value* out) {
	return tailor_graph_constant(graph, name, name_size, dtype, dims, rank, data, size, call_released, (void*)unpin,
	                             out);
}
*/
import "C"

import (
	"runtime"
	"runtime/cgo"
	"unsafe"

	"tailor.internal/tailor"
)

// Graph is a tensor graph under construction; one goroutine at a time may use it.
type Graph struct {
	handle    *C.tailor_graph
	err       error
	outputs   int // asked for, also after an error
	compiling bool
}

// New makes an empty graph. Its name appears in messages and artifacts.
func New(name string) (*Graph, error) {
	return create(name, func(text *C.char, size C.size_t, out **C.tailor_graph) *C.tailor_status {
		return C.tailor_graph_create(text, size, out)
	})
}

// Parse reads a graph's canonical text. Constants whose bytes the text leaves out are zeros.
func Parse(text string) (*Graph, error) {
	return create(text, func(text *C.char, size C.size_t, out **C.tailor_graph) *C.tailor_status {
		return C.tailor_graph_parse(text, size, out)
	})
}

func create(text string, function func(*C.char, C.size_t, **C.tailor_graph) *C.tailor_status) (*Graph, error) {
	cText := C.CString(text)
	defer C.free(unsafe.Pointer(cText))
	var handle *C.tailor_graph
	if err := check(function(cText, C.size_t(len(text)), &handle)); err != nil {
		return nil, err
	}
	return FromC(unsafe.Pointer(handle)), nil
}

// FromC takes over a tailor_graph* from C code: for front ends, as package onnx is one.
func FromC(handle unsafe.Pointer) *Graph {
	g := &Graph{handle: (*C.tailor_graph)(handle)}
	g.outputs = int(C.tailor_graph_output_count(g.handle))
	runtime.SetFinalizer(g, (*Graph).Close)
	return g
}

// Close releases the graph; executables compiled from it stay usable. It may be called twice. It panics if called while the graph
// is being compiled, as from Progress.
func (g *Graph) Close() {
	if g == nil {
		return
	}
	if g.compiling {
		panic("graph: closed while it is being compiled")
	}
	C.tailor_graph_release(g.handle)
	g.handle = nil
	runtime.SetFinalizer(g, nil)
}

// Err is the first error of the calls so far, or nil.
func (g *Graph) Err() error {
	if g == nil {
		return errNoGraph
	}
	return g.err
}

// errNoGraph is the error of operations on the zero Value and the zero Dim.
var errNoGraph = invalid("the zero Value, Dim or a nil Graph belongs to no graph")

// orOrphan is g, or if that is nil a graph that nothing can be added to: it holds the results of operations on the zero
// Value, which are therefore an error in the graph where they are used.
func (g *Graph) orOrphan() *Graph {
	if g == nil {
		return &Graph{err: errNoGraph}
	}
	return g
}

// Input appends an input; runs take inputs in the order of these calls.
func (g *Graph) Input(name string, dtype tailor.DType, dims ...DimSize) Value {
	cName := C.CString(name)
	defer C.free(unsafe.Pointer(cName))
	return g.append(func(graph *C.tailor_graph, out *C.tailor_value) *C.tailor_status {
		return C.tailor_graph_input(graph, cName, C.size_t(len(name)), C.int32_t(dtype), g.dims(dims),
			C.size_t(len(dims)), out)
	})
}

// Output makes value an output; runs give outputs in the order of these calls.
func (g *Graph) Output(name string, value Value) {
	if g == nil {
		return
	}
	g.outputs++
	operandOf(value, "value of the output "+name, g, value)
	cName := C.CString(name)
	defer C.free(unsafe.Pointer(cName))
	g.call(func(graph *C.tailor_graph) *C.tailor_status {
		return C.tailor_graph_output(graph, cName, C.size_t(len(name)), value.handle)
	})
}

// Constant appends a constant with a copy of data; its name may be empty.
func Constant[T tailor.Element](g *Graph, name string, data []T, dims ...int64) Value {
	cName := C.CString(name)
	defer C.free(unsafe.Pointer(cName))
	var zero T
	bytes := C.size_t(len(data)) * C.size_t(unsafe.Sizeof(zero))
	return g.append(func(graph *C.tailor_graph, out *C.tailor_value) *C.tailor_status {
		return C.tailor_graph_constant(graph, cName, C.size_t(len(name)), C.int32_t(tailor.DTypeOf[T]()), i64s(dims),
			C.size_t(len(dims)), unsafe.Pointer(first(data)), bytes, nil, nil, out)
	})
}

// ConstantOf appends a constant over the memory of a tensor, which must not change from then on. The tensor may be closed:
// its memory is freed when the graph and every compilation of it are gone.
func (g *Graph) ConstantOf(name string, tensor *tailor.Tensor) Value {
	cName := C.CString(name)
	defer C.free(unsafe.Pointer(cName))
	if tensor == nil {
		g.fail(invalid("the tensor of the constant %q is nil", name))
		return Value{g.orOrphan(), 0}
	}
	dims := tensor.Dims()
	return g.append(func(graph *C.tailor_graph, out *C.tailor_value) *C.tailor_status {
		data, size, unpin, err := tensor.Pin()
		if err != nil {
			g.fail(err)
			return nil
		}
		return C.borrowed_constant(graph, cName, C.size_t(len(name)), C.int32_t(tensor.DType()), i64s(dims),
			C.size_t(len(dims)), data, C.size_t(size), C.uintptr_t(cgo.NewHandle(unpin)), out)
	})
}

// Scalar appends a constant of rank 0: value, rounded to dtype.
func (g *Graph) Scalar(dtype tailor.DType, value float64) Value {
	return g.append(func(graph *C.tailor_graph, out *C.tailor_value) *C.tailor_status {
		return C.tailor_graph_scalar(graph, C.int32_t(dtype), C.double(value), out)
	})
}

// Text is the canonical text, which Parse reads. It needs no graph free of errors.
func (g *Graph) Text() (string, error) {
	return g.text(func(graph *C.tailor_graph, text **C.char) *C.tailor_status {
		return C.tailor_graph_text(graph, text)
	})
}

// Facts are the facts known of the shapes, as text: symbols, ranges, equalities and where each came from, compiled checks.
func (g *Graph) Facts() (string, error) {
	return g.text(func(graph *C.tailor_graph, text **C.char) *C.tailor_status {
		return C.tailor_graph_facts_text(graph, text)
	})
}

func (g *Graph) text(function func(*C.tailor_graph, **C.char) *C.tailor_status) (string, error) {
	defer runtime.KeepAlive(g)
	if err := g.usable(); err != nil {
		return "", err
	}
	var text *C.char
	if err := check(function(g.handle, &text)); err != nil {
		return "", err
	}
	return C.GoString(text), nil
}

// append makes the value of a call; after an error an invalid one.
func (g *Graph) append(function func(*C.tailor_graph, *C.tailor_value) *C.tailor_status) Value {
	var handle C.tailor_value
	g.call(func(graph *C.tailor_graph) *C.tailor_status { return function(graph, &handle) })
	return Value{g.orOrphan(), handle}
}

// call makes a call, unless one has failed, and keeps its error.
func (g *Graph) call(function func(*C.tailor_graph) *C.tailor_status) {
	if g == nil {
		return
	}
	defer runtime.KeepAlive(g)
	g.fail(g.usable())
	if g.err == nil {
		g.fail(check(function(g.handle)))
	}
}

// fail keeps the first error.
func (g *Graph) fail(err error) {
	if g != nil && g.err == nil {
		g.err = err
	}
}

// usable is an error if the graph is closed, or in use by the call that this one comes from.
func (g *Graph) usable() error {
	if g == nil {
		return errNoGraph
	}
	if g.handle == nil {
		if g.err == errNoGraph {
			return errNoGraph
		}
		return &tailor.Error{Code: tailor.InvalidArgument, Message: "the graph is closed"}
	}
	if g.compiling {
		return &tailor.Error{Code: tailor.FailedPrecondition, Message: "the graph is being compiled"}
	}
	return nil
}

func check(status *C.tailor_status) error {
	if status == nil {
		return nil
	}
	defer C.tailor_status_release(status)
	return &tailor.Error{Code: tailor.Code(C.tailor_status_code(status)),
		Message: C.GoString(C.tailor_status_message(status)), Node: C.GoString(C.tailor_status_node(status))}
}

// orDefault are the caller's options; nil stands for the defaults.
func orDefault[T any](options *T, defaults T) T {
	if options == nil {
		return defaults
	}
	return *options
}

// first points to the elements of a list; NULL if there are none.
func first[T any](list []T) *T {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

func i64s(list []int64) *C.int64_t { return (*C.int64_t)(first(list)) }
