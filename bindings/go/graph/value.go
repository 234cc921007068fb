package graph

/*
#include <stdlib.h>
#include "tailor/compiler.h"
*/
import "C"

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"tailor.internal/tailor"
)

// Value is a tensor of a graph. The zero Value is no tensor, for optional operands.
type Value struct {
	graph  *Graph
	handle C.tailor_value
}

// Operand is a Value, or a Number if the op takes numbers.
type Operand interface {
	// operand is the handle in g; a number takes the element type of like.
	operand(g *Graph, like Value) C.tailor_value
}

// Number stands for a scalar of the element type of the operand before it, to which it is rounded.
type Number float64

// DType is the element type; 0 after an error.
func (v Value) DType() tailor.DType {
	dtype, _ := v.graph.typeOf(v)
	return dtype
}

// Dims are the dim sizes, for use in any shape of the same graph; nil after an error.
func (v Value) Dims() []Dim {
	_, dims := v.graph.typeOf(v)
	return dims
}

// String is the type, "f32[B, 4]", or the error if there is none.
func (v Value) String() string {
	dtype, dims := v.graph.typeOf(v)
	if err := v.graph.Err(); err != nil {
		return err.Error()
	}
	texts := make([]string, len(dims))
	for i, dim := range dims {
		texts[i] = dim.String()
	}
	return fmt.Sprintf("%v[%s]", dtype, strings.Join(texts, ", "))
}

// Named names the value, for messages, dumps and traces, and returns it. An input keeps its own name.
func (v Value) Named(name string) Value {
	cName := C.CString(name)
	defer C.free(unsafe.Pointer(cName))
	v.graph.call(func(graph *C.tailor_graph) *C.tailor_status {
		return C.tailor_graph_set_name(graph, v.handle, cName, C.size_t(len(name)))
	})
	return v
}

func (v Value) operand(*Graph, Value) C.tailor_value { return v.handle }

// operandOf is the handle in g of the operand of that name; nil is an error.
func operandOf(operand Operand, name string, g *Graph, like Value) C.tailor_value {
	if isNil(operand) {
		g.fail(invalid("the operand %s is nil", name))
		return 0
	}
	if value, ok := operand.(Value); ok && value.graph != g && value.graph.Err() != nil {
		g.fail(invalid("the operand %s: %v", name, value.graph.Err()))
	}
	return operand.operand(g, like)
}

// isNil says whether an interface is nil or holds a nil pointer.
func isNil(value any) bool {
	if value == nil {
		return true
	}
	pointer := reflect.ValueOf(value)
	return pointer.Kind() == reflect.Pointer && pointer.IsNil()
}

func (n Number) operand(g *Graph, like Value) C.tailor_value {
	dtype, _ := g.typeOf(like)
	return g.Scalar(dtype, float64(n)).handle
}

func (g *Graph) typeOf(v Value) (tailor.DType, []Dim) {
	var dtype, rank C.int32_t
	var handles [C.TAILOR_MAX_RANK]C.tailor_dim
	g.call(func(graph *C.tailor_graph) *C.tailor_status {
		return C.tailor_graph_value_type(graph, v.handle, &dtype, &rank, &handles[0])
	})
	var dims []Dim
	for _, handle := range handles[:rank] {
		dims = append(dims, Dim{g, handle})
	}
	return tailor.DType(dtype), dims
}

// optional is the handle of an operand that may be none; the result of a failed call is not.
func (g *Graph) optional(v Value) C.tailor_value {
	if v.graph != nil && v.handle == 0 {
		g.fail(invalid("an operand is the result of a call that failed: %v", v.graph.Err()))
	}
	return v.handle
}

// handles are the handles of values, for a call.
func handles(values []Value) *C.tailor_value {
	list := make([]C.tailor_value, len(values))
	for i, value := range values {
		list[i] = value.handle
	}
	return first(list)
}
