package graph

/*
#include "tailor/compiler.h"

// Go may not pass C a struct that points to Go memory.
static tailor_spatial_options windows(size_t rank, const int64_t* strides, const int64_t* dilations,
                                      const tailor_dim* low, const tailor_dim* high) {
	tailor_spatial_options options;
	tailor_spatial_options_init(&options);
	options.rank = rank;
	options.strides = strides;
	options.dilations = dilations;
	options.low = low;
	options.high = high;
	return options;
}

static tailor_status* conv(tailor_graph* graph, tailor_value x, tailor_value weights, tailor_value bias, int64_t groups,
                           size_t rank, const int64_t* strides, const int64_t* dilations, const tailor_dim* low,
                           const tailor_dim* high, tailor_value* out) {
	tailor_spatial_options options = windows(rank, strides, dilations, low, high);
	return tailor_graph_conv(graph, x, weights, bias, groups, rank == 0 ? NULL : &options, out);
}

static tailor_status* max_pool(tailor_graph* graph, tailor_value x, const tailor_dim* sizes, size_t size_count,
                               size_t rank, const int64_t* strides, const int64_t* dilations, const tailor_dim* low,
                               const tailor_dim* high, tailor_value* out) {
	tailor_spatial_options options = windows(rank, strides, dilations, low, high);
	return tailor_graph_max_pool(graph, x, sizes, size_count, rank == 0 ? NULL : &options, out);
}

static tailor_status* average_pool(tailor_graph* graph, tailor_value x, const tailor_dim* sizes, size_t size_count,
                                   int32_t count_include_pad, size_t rank, const int64_t* strides,
                                   const int64_t* dilations, const tailor_dim* low, const tailor_dim* high,
                                   tailor_value* out) {
	tailor_spatial_options options = windows(rank, strides, dilations, low, high);
	return tailor_graph_average_pool(graph, x, sizes, size_count, count_include_pad, rank == 0 ? NULL : &options, out);
}
*/
import "C"

import (
	"fmt"

	"tailor.internal/tailor"
)

// Compound operations append primitives. A negative axis counts from the end.

// Softmax is e^x / sum(e^x) along axis.
func (x Value) Softmax(axis int64) Value {
	return x.graph.append(func(graph *C.tailor_graph, out *C.tailor_value) *C.tailor_status {
		return C.tailor_graph_softmax(graph, x.handle, C.int64_t(axis), out)
	})
}

// LogSoftmax is the logarithm of Softmax.
func (x Value) LogSoftmax(axis int64) Value {
	return x.graph.append(func(graph *C.tailor_graph, out *C.tailor_value) *C.tailor_status {
		return C.tailor_graph_log_softmax(graph, x.handle, C.int64_t(axis), out)
	})
}

// LayerNorm is (x - mean) / sqrt(variance + epsilon) * scale + bias over the last axis, whose dim size scale and bias
// have; each may be the zero Value.
func (x Value) LayerNorm(scale, bias Value, epsilon float64) Value {
	cScale, cBias := x.graph.optional(scale), x.graph.optional(bias)
	return x.graph.append(func(graph *C.tailor_graph, out *C.tailor_value) *C.tailor_status {
		return C.tailor_graph_layer_norm(graph, x.handle, cScale, cBias, C.double(epsilon), out)
	})
}

// Gelu is x / 2 * (1 + erf(x / sqrt(2))).
func (x Value) Gelu() Value {
	return x.graph.append(func(graph *C.tailor_graph, out *C.tailor_value) *C.tailor_status {
		return C.tailor_graph_gelu(graph, x.handle, out)
	})
}

// GeluTanh is the approximation of Gelu by tanh.
func (x Value) GeluTanh() Value {
	return x.graph.append(func(graph *C.tailor_graph, out *C.tailor_value) *C.tailor_status {
		return C.tailor_graph_gelu_tanh(graph, x.handle, out)
	})
}

// L2Normalize is x / max(||x||, epsilon) along axis.
func (x Value) L2Normalize(axis int64, epsilon float64) Value {
	return x.graph.append(func(graph *C.tailor_graph, out *C.tailor_value) *C.tailor_status {
		return C.tailor_graph_l2_normalize(graph, x.handle, C.int64_t(axis), C.double(epsilon), out)
	})
}

// Attention is softmax(query key^T * scale + mask) value.
//
// Shapes: query [B..., M, D], key [B..., N, D], value [B..., N, E] -> [B..., M, E]; mask broadcasts to [B..., M, N] and
// may be the zero Value. Scale 0 means 1/sqrt(D), which must then be constant.
func (query Value) Attention(key, value, mask Value, scale float64) Value {
	cMask := query.graph.optional(mask)
	return query.graph.append(func(graph *C.tailor_graph, out *C.tailor_value) *C.tailor_status {
		return C.tailor_graph_attention(graph, query.handle, key.handle, value.handle, cMask, C.double(scale), out)
	})
}

// Spatial places windows over the spatial dims of x [N, C, D...], those after the second. Each list has an entry for each
// of them, or none: strides and dilations 1, no padding.
type Spatial struct {
	Strides   []int64
	Dilations []int64
	Low       Dims // elements of padding before the first; negative ones crop
	High      Dims // and after the last
}

// rank is the number of entries of each list that has any.
func (s *Spatial) rank(g *Graph) C.size_t {
	counts := [4]int{len(s.Strides), len(s.Dilations), len(s.Low), len(s.High)}
	rank := 0
	for _, count := range counts {
		if count > rank {
			rank = count
		}
	}
	for _, count := range counts {
		if count != 0 && count != rank {
			g.fail(&tailor.Error{Code: tailor.InvalidArgument, Message: fmt.Sprintf("there are %d strides, %d dilations, "+
				"%d low and %d high: each needs one for each spatial dim, or none", counts[0], counts[1], counts[2], counts[3])})
		}
	}
	return C.size_t(rank)
}

// Conv is the convolution of x [N, C, D...] with weights [M, C / groups, K...], plus bias [M], which may be the zero
// Value. Nil is the zero Spatial.
func (x Value) Conv(weights, bias Value, groups int64, spatial *Spatial) Value {
	s := orDefault(spatial, Spatial{})
	cBias, rank := x.graph.optional(bias), s.rank(x.graph)
	return x.graph.append(func(graph *C.tailor_graph, out *C.tailor_value) *C.tailor_status {
		return C.conv(graph, x.handle, weights.handle, cBias, C.int64_t(groups), rank, i64s(s.Strides), i64s(s.Dilations),
			x.graph.dims(s.Low), x.graph.dims(s.High), out)
	})
}

// MaxPool is the largest element of each window of sizes, one per spatial dim. Padding is below every element.
func (x Value) MaxPool(sizes Dims, spatial *Spatial) Value {
	s := orDefault(spatial, Spatial{})
	rank := s.rank(x.graph)
	return x.graph.append(func(graph *C.tailor_graph, out *C.tailor_value) *C.tailor_status {
		return C.max_pool(graph, x.handle, x.graph.dims(sizes), C.size_t(len(sizes)), rank, i64s(s.Strides),
			i64s(s.Dilations), x.graph.dims(s.Low), x.graph.dims(s.High), out)
	})
}

// AveragePool is the mean of each window of sizes: over the elements of x in it, with countIncludePad also over its padding,
// zeros.
func (x Value) AveragePool(sizes Dims, countIncludePad bool, spatial *Spatial) Value {
	s := orDefault(spatial, Spatial{})
	rank, padded := s.rank(x.graph), C.int32_t(0)
	if countIncludePad {
		padded = 1
	}
	return x.graph.append(func(graph *C.tailor_graph, out *C.tailor_value) *C.tailor_status {
		return C.average_pool(graph, x.handle, x.graph.dims(sizes), C.size_t(len(sizes)), padded, rank, i64s(s.Strides),
			i64s(s.Dilations), x.graph.dims(s.Low), x.graph.dims(s.High), out)
	})
}
