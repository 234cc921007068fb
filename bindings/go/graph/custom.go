package graph

/*
#include <stdlib.h>
#include "tailor/compiler.h"

// Go may not pass C structs that point to Go memory. `dims` are those of all results, one after the other.
static tailor_status* custom(tailor_graph* graph, const char* name, size_t name_size, const tailor_value* operands,
                             size_t operand_count, const tailor_dim* dims, const size_t* ranks, const int32_t* dtypes,
                             const int32_t* counted_dims, size_t result_count, const char* attributes,
                             size_t attributes_size, int32_t impure, tailor_value* out) {
	tailor_custom_options options;
	tailor_custom_options_init(&options);
	options.attributes = attributes;
	options.attributes_size = attributes_size;
	options.impure = impure;
	tailor_custom_result* results = (tailor_custom_result*)calloc(result_count + 1, sizeof(tailor_custom_result));
	if (results == NULL) return tailor_status_create(TAILOR_RESOURCE_EXHAUSTED, "no memory", SIZE_MAX, "", SIZE_MAX);
	for (size_t i = 0; i < result_count; ++i) {
		results[i].dims = dims;
		results[i].rank = ranks[i];
		results[i].dtype = dtypes[i];
		results[i].counted_dim = counted_dims[i];
		dims += ranks[i];
	}
	tailor_status* status = tailor_graph_custom(graph, name, name_size, operands, operand_count, results, result_count,
	                                            &options, out);
	free(results);
	return status;
}
*/
import "C"

import (
	"fmt"
	"math"
	"unsafe"

	"tailor.internal/tailor"
)

// CustomResult is the type of a result of a custom operator.
type CustomResult struct {
	DType tailor.DType
	Dims  Dims
	// CountedDim, if it is not nil, is the dim whose size is a bound: the function counts how much of it is used, and the value
	// has only that much.
	CountedDim *int
}

// CustomOptions are the options of a call of a custom operator.
type CustomOptions struct {
	// Attributes is a text for the function, by convention a JSON object.
	Attributes string
	// Impure: calls have effects, or results that differ within a run: equal ones are not merged, unused ones not dropped.
	Impure bool
}

// Custom is the results of the custom operator of that name, which the runtime that loads the executable must have
// (tailor.Runtime.Register). Its function gets results of these dim sizes, and after them an i64 [] for each counted one, in
// order, which it sets to a number from 0 to the bound. The dim size of that value is then a new symbol.
func (g *Graph) Custom(name string, operands []Value, results []CustomResult, options *CustomOptions) []Value {
	given := orDefault(options, CustomOptions{})
	cName, attributes := C.CString(name), C.CString(given.Attributes)
	defer C.free(unsafe.Pointer(cName))
	defer C.free(unsafe.Pointer(attributes))
	var dims Dims
	var ranks []C.size_t
	var dtypes, counted []C.int32_t
	for _, result := range results {
		dims = append(dims, result.Dims...)
		ranks = append(ranks, C.size_t(len(result.Dims)))
		dtypes = append(dtypes, C.int32_t(result.DType))
		counted = append(counted, result.countedDim())
	}
	for i, operand := range operands {
		operandOf(operand, fmt.Sprint(i), g, operand)
	}
	// With one place more, since it must not be NULL.
	values := g.appendAll(len(results)+1, func(graph *C.tailor_graph, out []C.tailor_value) *C.tailor_status {
		return C.custom(graph, cName, C.size_t(len(name)), handles(operands), C.size_t(len(operands)), g.dims(dims),
			first(ranks), first(dtypes), first(counted), C.size_t(len(results)), attributes,
			C.size_t(len(given.Attributes)), flag(given.Impure), &out[0])
	})
	return values[:len(results)]
}

// countedDim is -1 for none. A dim that is no int32 is no dim of any result: the library says so.
func (r CustomResult) countedDim() C.int32_t {
	if r.CountedDim == nil {
		return -1
	}
	if *r.CountedDim < 0 || *r.CountedDim > math.MaxInt32 {
		return math.MaxInt32
	}
	return C.int32_t(*r.CountedDim)
}
