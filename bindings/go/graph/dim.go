package graph

/*
#include <stdlib.h>
#include "tailor/compiler.h"

static tailor_status* symbol_with(tailor_graph* graph, const char* name, size_t name_size, int64_t min, int64_t max,
                                  int64_t multiple_of, const int64_t* likely, size_t likely_count, tailor_dim* out) {
	tailor_symbol_options options;
	tailor_symbol_options_init(&options);
	options.min = min;
	if (max != 0) options.max = max;
	if (multiple_of != 0) options.multiple_of = multiple_of;
	options.likely = likely;
	options.likely_count = likely_count;
	return tailor_graph_symbol(graph, name, name_size, &options, out);
}
*/
import "C"

import (
	"fmt"
	"math"
	"unsafe"
)

// SymbolOptions are the facts of a symbol beyond its name. Every run checks it; results never depend on Likely.
type SymbolOptions struct {
	Min        int64
	Max        int64   // 0: 2^31 - 1
	MultipleOf int64   // 0: 1
	Likely     []int64 // values to specialise for
}

// DimSize is one dim size of a shape: a Dim or an Int.
type DimSize interface {
	// dimSize is its handle in g.
	dimSize(g *Graph) C.tailor_dim
}

// Int is a constant dim size; in arithmetic it may be negative.
type Int int64

// Dims is a shape: Dims{batch, Int(4)}.
type Dims []DimSize

// Dim is a symbol of a graph, or an expression over symbols.
type Dim struct {
	graph  *Graph
	handle C.tailor_dim
}

// Symbol declares a symbol; nil options are the defaults.
func (g *Graph) Symbol(name string, options *SymbolOptions) Dim {
	given := orDefault(options, SymbolOptions{})
	cName := C.CString(name)
	defer C.free(unsafe.Pointer(cName))
	return g.newDim(func(graph *C.tailor_graph, out *C.tailor_dim) *C.tailor_status {
		return C.symbol_with(graph, cName, C.size_t(len(name)), C.int64_t(given.Min), C.int64_t(given.Max),
			C.int64_t(given.MultipleOf), i64s(given.Likely), C.size_t(len(given.Likely)), out)
	})
}

// Dim is a constant, to start arithmetic from.
func (g *Graph) Dim(dimSize int64) Dim {
	return g.newDim(func(graph *C.tailor_graph, out *C.tailor_dim) *C.tailor_status {
		return C.tailor_graph_dim(graph, C.int64_t(dimSize), out)
	})
}

// AssumeEqual states that two dim sizes are equal: compilation uses it, every run checks it.
func (g *Graph) AssumeEqual(lhs, rhs DimSize) {
	g.call(func(graph *C.tailor_graph) *C.tailor_status {
		return C.tailor_graph_assume_equal(graph, g.dimSizeOf(lhs, "lhs"), g.dimSizeOf(rhs, "rhs"))
	})
}

// AssumeAtLeast states that lhs >= rhs: compilation uses it, every run checks it. Messages name the reason `what`, if
// it is not empty: "<what>: height + 2 is 2, but must be at least 3".
func (g *Graph) AssumeAtLeast(lhs, rhs DimSize, what string) {
	cWhat := C.CString(what)
	defer C.free(unsafe.Pointer(cWhat))
	g.call(func(graph *C.tailor_graph) *C.tailor_status {
		return C.tailor_graph_assume_at_least(graph, g.dimSizeOf(lhs, "lhs"), g.dimSizeOf(rhs, "rhs"), cWhat, C.size_t(len(what)))
	})
}

// Add is d + rhs.
func (d Dim) Add(rhs DimSize) Dim {
	return d.graph.newDim(func(graph *C.tailor_graph, out *C.tailor_dim) *C.tailor_status {
		return C.tailor_dim_add(graph, d.handle, d.graph.dimSizeOf(rhs, "rhs"), out)
	})
}

// Sub is d - rhs.
func (d Dim) Sub(rhs DimSize) Dim {
	return d.graph.newDim(func(graph *C.tailor_graph, out *C.tailor_dim) *C.tailor_status {
		return C.tailor_dim_sub(graph, d.handle, d.graph.dimSizeOf(rhs, "rhs"), out)
	})
}

// Mul is d * rhs.
func (d Dim) Mul(rhs DimSize) Dim {
	return d.graph.newDim(func(graph *C.tailor_graph, out *C.tailor_dim) *C.tailor_status {
		return C.tailor_dim_mul(graph, d.handle, d.graph.dimSizeOf(rhs, "rhs"), out)
	})
}

// FloorDiv is d / rhs, rounded down; rhs is checked to be above 0.
func (d Dim) FloorDiv(rhs DimSize) Dim {
	return d.graph.newDim(func(graph *C.tailor_graph, out *C.tailor_dim) *C.tailor_status {
		return C.tailor_dim_floordiv(graph, d.handle, d.graph.dimSizeOf(rhs, "rhs"), out)
	})
}

// Mod is the remainder of FloorDiv, never negative.
func (d Dim) Mod(rhs DimSize) Dim {
	return d.graph.newDim(func(graph *C.tailor_graph, out *C.tailor_dim) *C.tailor_status {
		return C.tailor_dim_mod(graph, d.handle, d.graph.dimSizeOf(rhs, "rhs"), out)
	})
}

// Min is the smaller of d and rhs.
func (d Dim) Min(rhs DimSize) Dim {
	return d.graph.newDim(func(graph *C.tailor_graph, out *C.tailor_dim) *C.tailor_status {
		return C.tailor_dim_min(graph, d.handle, d.graph.dimSizeOf(rhs, "rhs"), out)
	})
}

// Max is the larger of d and rhs.
func (d Dim) Max(rhs DimSize) Dim {
	return d.graph.newDim(func(graph *C.tailor_graph, out *C.tailor_dim) *C.tailor_status {
		return C.tailor_dim_max(graph, d.handle, d.graph.dimSizeOf(rhs, "rhs"), out)
	})
}

// CeilDiv is d / rhs, rounded up; rhs is checked to be above 0.
func (d Dim) CeilDiv(rhs DimSize) Dim {
	return d.graph.newDim(func(graph *C.tailor_graph, out *C.tailor_dim) *C.tailor_status {
		return C.tailor_dim_ceildiv(graph, d.handle, d.graph.dimSizeOf(rhs, "rhs"), out)
	})
}

// TruncDiv is d / rhs, rounded towards 0; rhs is checked to be above 0.
func (d Dim) TruncDiv(rhs DimSize) Dim {
	return d.graph.newDim(func(graph *C.tailor_graph, out *C.tailor_dim) *C.tailor_status {
		return C.tailor_dim_truncdiv(graph, d.handle, d.graph.dimSizeOf(rhs, "rhs"), out)
	})
}

// TruncMod is the remainder of TruncDiv; it has the sign of d.
func (d Dim) TruncMod(rhs DimSize) Dim {
	return d.graph.newDim(func(graph *C.tailor_graph, out *C.tailor_dim) *C.tailor_status {
		return C.tailor_dim_truncmod(graph, d.handle, d.graph.dimSizeOf(rhs, "rhs"), out)
	})
}

// Less is 1 if d < rhs, else 0.
func (d Dim) Less(rhs DimSize) Dim {
	return d.graph.newDim(func(graph *C.tailor_graph, out *C.tailor_dim) *C.tailor_status {
		return C.tailor_dim_less(graph, d.handle, d.graph.dimSizeOf(rhs, "rhs"), out)
	})
}

// Equal is 1 if d and rhs are equal, else 0.
func (d Dim) Equal(rhs DimSize) Dim {
	return d.graph.newDim(func(graph *C.tailor_graph, out *C.tailor_dim) *C.tailor_status {
		return C.tailor_dim_equal(graph, d.handle, d.graph.dimSizeOf(rhs, "rhs"), out)
	})
}

// Select is lhs if d is 1, and rhs if it is 0; in every run d is 0 or 1.
func (d Dim) Select(lhs, rhs DimSize) Dim {
	return d.graph.newDim(func(graph *C.tailor_graph, out *C.tailor_dim) *C.tailor_status {
		return C.tailor_dim_select(graph, d.handle, d.graph.dimSizeOf(lhs, "lhs"), d.graph.dimSizeOf(rhs, "rhs"), out)
	})
}

// Range is the least and the greatest value in runs that the graph's checks accept, as far as is known from declarations,
// inputs and assumptions; math.MinInt64 and math.MaxInt64: no bound.
func (d Dim) Range() (min, max int64) {
	cMin, cMax := C.int64_t(math.MinInt64), C.int64_t(math.MaxInt64)
	d.graph.call(func(graph *C.tailor_graph) *C.tailor_status {
		return C.tailor_dim_range(graph, d.handle, &cMin, &cMax)
	})
	return int64(cMin), int64(cMax)
}

// IsEqual says whether d and rhs are equal in every such run (holds) or in none; not known: unknown, or different from run
// to run. Equal is a dim that says so in each run.
func (d Dim) IsEqual(rhs DimSize) (holds, known bool) { return d.compare(rhs, C.TAILOR_DIM_EQUAL) }

// IsLess says the same of d < rhs.
func (d Dim) IsLess(rhs DimSize) (holds, known bool) { return d.compare(rhs, C.TAILOR_DIM_LESS) }

// IsAtMost says the same of d <= rhs.
func (d Dim) IsAtMost(rhs DimSize) (holds, known bool) { return d.compare(rhs, C.TAILOR_DIM_AT_MOST) }

func (d Dim) compare(rhs DimSize, relation C.int32_t) (holds, known bool) {
	result := C.int32_t(-1)
	d.graph.call(func(graph *C.tailor_graph) *C.tailor_status {
		return C.tailor_dim_compare(graph, d.handle, d.graph.dimSizeOf(rhs, "rhs"), relation, &result)
	})
	return result == 1, result >= 0
}

// String is the canonical text, "4*S + 1", or the error if there is none.
func (d Dim) String() string {
	text, err := d.graph.text(func(graph *C.tailor_graph, text **C.char) *C.tailor_status {
		return C.tailor_dim_text(graph, d.handle, text)
	})
	if err != nil {
		return err.Error()
	}
	return text
}

func (d Dim) dimSize(*Graph) C.tailor_dim   { return d.handle }
func (i Int) dimSize(g *Graph) C.tailor_dim { return g.Dim(int64(i)).handle }

func (g *Graph) newDim(function func(*C.tailor_graph, *C.tailor_dim) *C.tailor_status) Dim {
	var handle C.tailor_dim
	g.call(func(graph *C.tailor_graph) *C.tailor_status { return function(graph, &handle) })
	return Dim{g.orOrphan(), handle}
}

// dims are the handles of dim sizes, for a call.
func (g *Graph) dims(dimSizes []DimSize) *C.tailor_dim {
	list := make([]C.tailor_dim, len(dimSizes))
	for i, dimSize := range dimSizes {
		list[i] = g.dimSizeOf(dimSize, fmt.Sprint("at index ", i, " of a list"))
	}
	return first(list)
}

// dimSizeOf is the handle in g of the dim size of that name; nil is an error.
func (g *Graph) dimSizeOf(dimSize DimSize, name string) C.tailor_dim {
	if isNil(dimSize) {
		g.fail(invalid("the dim size %s is nil", name))
		return 0
	}
	if dim, ok := dimSize.(Dim); ok && dim.graph != g && dim.graph.Err() != nil {
		g.fail(invalid("the dim size %s: %v", name, dim.graph.Err()))
	}
	return dimSize.dimSize(g)
}
