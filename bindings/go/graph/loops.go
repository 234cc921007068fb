package graph

// What appends loops: recurrent layers, sorting, what keeps some of the elements; and loops and branches themselves.

/*
#include <stdlib.h>
#include "tailor/compiler.h"

enum { RNN, GRU, LSTM };

// Go may not pass C a struct that points to Go memory. `values` are the members of that name, in order.
static tailor_status* recurrence(int32_t layer, tailor_graph* graph, tailor_value x, tailor_value w, tailor_value r,
                                 const tailor_value* values, int32_t reverse, int32_t linear_before_reset,
                                 int32_t input_forget, double clip, const char* const* activations,
                                 const double* alphas, const double* betas, size_t activation_count, tailor_value* y,
                                 tailor_value* h, tailor_value* c) {
	tailor_recurrence_options options;
	tailor_recurrence_options_init(&options);
	options.bias = values[0];
	options.recurrent_bias = values[1];
	options.initial_h = values[2];
	options.initial_c = values[3];
	options.lengths = values[4];
	options.peepholes = values[5];
	options.reverse = reverse;
	options.linear_before_reset = linear_before_reset;
	options.input_forget = input_forget;
	options.clip = clip;
	options.activations = activations;
	options.alphas = alphas;
	options.betas = betas;
	options.activation_count = activation_count;
	if (layer == RNN) return tailor_graph_rnn(graph, x, w, r, &options, y, h);
	if (layer == GRU) return tailor_graph_gru(graph, x, w, r, &options, y, h);
	return tailor_graph_lstm(graph, x, w, r, &options, y, h, c);
}
*/
import "C"

import "math"

// Recurrence is what a recurrent layer takes besides x, w and r. Its zero value: zeros, all steps, sigmoid and tanh.
type Recurrence struct {
	Bias              Value        // [G * H], added to x w^T
	RecurrentBias     Value        // [G * H], added to h r^T
	InitialH          Value        // [B, H]
	InitialC          Value        // [B, H]; only LSTM
	Lengths           Value        // i32 or i64 [B]: what lies beyond keeps the state and gives 0
	Peepholes         Value        // [3 * H], weights of c in the gates i, o, f; only LSTM
	Reverse           bool         // from the last step to the first
	LinearBeforeReset bool         // the reset gate of a GRU multiplies h r_n^T, not h
	InputForget       bool         // the forget gate of an LSTM is 1 - i
	Clip              float64      // functions of the gates get arguments within [-Clip, Clip]; 0: any
	Activations       []Activation // the functions f, g, k, as many as the layer has
}

// Activation is a function of gates by its name in tailor_recurrence_options, and its parameters; nil: the usual ones.
type Activation struct {
	Name        string
	Alpha, Beta *float64
}

// RNN is (y, h) of h' = f(x w^T + h r^T) over the steps of x [T, B, I]: y [T, B, H] holds the state after each step, h
// [B, H] is the last one. w is [G * H, I] and r [G * H, H]: G blocks of rows, one a gate; here one. f is tanh.
func (x Value) RNN(w, r Value, options *Recurrence) (y, h Value) {
	y, h, _ = x.recurrence(C.RNN, w, r, options)
	return y, h
}

// GRU is (y, h) of gates z, r, n, in this order, as RNN: h' = (1 - z) n + z h with z, r = f(x w^T + h r^T) and
// n = g(x w_n^T + (r h) r_n^T), or with LinearBeforeReset g(x w_n^T + r (h r_n^T)).
func (x Value) GRU(w, r Value, options *Recurrence) (y, h Value) {
	y, h, _ = x.recurrence(C.GRU, w, r, options)
	return y, h
}

// LSTM is (y, h, c) of gates i, o, f, n, in this order, as RNN: c' = f c + i n, h' = o k(c') with i, o, f =
// f(x w^T + h r^T + p c), where o sees c', and n = g(x w_n^T + h r_n^T).
func (x Value) LSTM(w, r Value, options *Recurrence) (y, h, c Value) {
	return x.recurrence(C.LSTM, w, r, options)
}

func (x Value) recurrence(layer C.int32_t, w, r Value, options *Recurrence) (y, h, c Value) {
	g, o := x.graph, orDefault(options, Recurrence{})
	values := []C.tailor_value{g.optional(o.Bias), g.optional(o.RecurrentBias), g.optional(o.InitialH),
		g.optional(o.InitialC), g.optional(o.Lengths), g.optional(o.Peepholes)}
	var names []string
	var alphas, betas []C.double
	for _, activation := range o.Activations {
		names = append(names, activation.Name)
		alphas = append(alphas, C.double(orDefault(activation.Alpha, math.NaN())))
		betas = append(betas, C.double(orDefault(activation.Beta, math.NaN())))
	}
	activations, err := newStrings(names)
	g.fail(err)
	defer activations.free()
	results := g.appendAll(3, func(graph *C.tailor_graph, out []C.tailor_value) *C.tailor_status {
		return C.recurrence(layer, graph, x.handle, w.handle, r.handle, first(values), flag(o.Reverse),
			flag(o.LinearBeforeReset), flag(o.InputForget), C.double(o.Clip), activations.first, first(alphas),
			first(betas), C.size_t(len(names)), &out[0], &out[1], &out[2])
	})
	return results[0], results[1], results[2]
}

// Sort is the elements along axis and the index that each had. NaN is above all numbers; equal elements keep their
// order.
func (x Value) Sort(axis int64, descending bool) (values, indices Value) {
	results := x.graph.appendAll(2, func(graph *C.tailor_graph, out []C.tailor_value) *C.tailor_status {
		return C.tailor_graph_sort(graph, x.handle, C.int64_t(axis), flag(descending), &out[0], &out[1])
	})
	return results[0], results[1]
}

// TopK is the k largest elements along axis, descending, or the smallest, ascending, and their indices.
func (x Value) TopK(k DimSize, axis int64, largest bool) (values, indices Value) {
	results := x.graph.appendAll(2, func(graph *C.tailor_graph, out []C.tailor_value) *C.tailor_status {
		return C.tailor_graph_top_k(graph, x.handle, x.graph.dimSizeOf(k, "k"), C.int64_t(axis), flag(largest), &out[0], &out[1])
	})
	return results[0], results[1]
}

// Compact is the rows of x [N, ...] that mask, bool [N], keeps: [M, ...], M being a new symbol.
func (x Value) Compact(mask Value) Value {
	return x.graph.append(func(graph *C.tailor_graph, out *C.tailor_value) *C.tailor_status {
		return C.tailor_graph_compact(graph, x.handle, mask.handle, out)
	})
}

// NonZero is the indices of the elements that are not 0, in row-major order: i64 [rank, M], M being a new symbol.
func (x Value) NonZero() Value {
	return x.graph.append(func(graph *C.tailor_graph, out *C.tailor_value) *C.tailor_status {
		return C.tailor_graph_nonzero(graph, x.handle, out)
	})
}

// Unique is the elements, or with an axis the slices along it, without repeats: U of them, a new symbol, in ascending
// order, or that in which they occur. indices, i64 [U], is where each occurs first; inverse, i64 [N], the place among
// them of each element or slice of x; counts, i64 [U], how often each occurs.
func (x Value) Unique(axis *int64, sorted bool) (values, indices, inverse, counts Value) {
	results := x.graph.appendAll(4, func(graph *C.tailor_graph, out []C.tailor_value) *C.tailor_status {
		return C.tailor_graph_unique(graph, x.handle, (*C.int64_t)(axis), flag(sorted), &out[0], &out[1], &out[2], &out[3])
	})
	return results[0], results[1], results[2], results[3]
}

// While is the values after running body (values -> values) as long as condition (values -> bool []) of them is true.
//
// Both are regions: graphs of their own, whose inputs take the values and whose outputs are the results. A region has
// symbols of its own, which are bound from the dim sizes that it gets, and is copied; its error becomes this graph's.
//
// shapes lists the dim sizes of all results, one after the other; nil infers them. It is needed where a dim size is known
// only when the operation has run: such a dim size is a symbol that nothing before uses.
func (g *Graph) While(values []Value, condition, body *Graph, shapes Dims) []Value {
	g.takes(condition, body)
	return g.appendAll(len(values), func(graph *C.tailor_graph, out []C.tailor_value) *C.tailor_status {
		return C.tailor_graph_while(graph, handles(values), C.size_t(len(values)), condition.handle, body.handle,
			g.dims(shapes), C.size_t(len(shapes)), first(out))
	})
}

// If is what thenBranch (values -> results) returns where condition, a bool [], is true, else what elseBranch returns.
// The branches are regions, as for While.
func (g *Graph) If(condition Value, values []Value, thenBranch, elseBranch *Graph, shapes Dims) []Value {
	g.takes(thenBranch, elseBranch)
	count := 0
	if thenBranch != nil {
		count = thenBranch.outputs
	}
	return g.appendAll(count, func(graph *C.tailor_graph, out []C.tailor_value) *C.tailor_status {
		return C.tailor_graph_if(graph, condition.handle, handles(values), C.size_t(len(values)), thenBranch.handle,
			elseBranch.handle, g.dims(shapes), C.size_t(len(shapes)), first(out), C.size_t(len(out)))
	})
}

// takes keeps the error of a region that cannot be taken.
func (g *Graph) takes(regions ...*Graph) {
	for _, region := range regions {
		if region == nil {
			g.fail(invalid("a region is nil"))
			continue
		}
		if region.err != nil {
			g.fail(region.err)
		}
		if region != g {
			g.fail(region.usable())
		}
	}
}

// appendAll makes the values that a call with several results gives; after an error ones that stand for nothing.
func (g *Graph) appendAll(count int, function func(*C.tailor_graph, []C.tailor_value) *C.tailor_status) []Value {
	out := make([]C.tailor_value, count)
	g.call(func(graph *C.tailor_graph) *C.tailor_status { return function(graph, out) })
	values := make([]Value, count)
	for i, handle := range out {
		values[i] = Value{g.orOrphan(), handle}
	}
	return values
}

func flag(set bool) C.int32_t {
	if set {
		return 1
	}
	return 0
}
