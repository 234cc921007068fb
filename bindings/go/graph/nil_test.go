package graph_test

import (
	"strings"
	"testing"

	"tailor.internal/tailor"
	"tailor.internal/tailor/graph"
)

func TestNilArgumentsStickAsErrors(t *testing.T) {
	var none graph.Value
	var noDim graph.Dim
	for name, c := range map[string]struct {
		build func(g *graph.Graph, x graph.Value)
		want  string
	}{
		"operand":          {func(g *graph.Graph, x graph.Value) { x.Add(nil) }, "the operand rhs is nil"},
		"nil pointer":      {func(g *graph.Graph, x graph.Value) { x.Mul((*graph.Value)(nil)) }, "the operand rhs is nil"},
		"select":           {func(g *graph.Graph, x graph.Value) { x.Gt(x).Select(x, nil) }, "the operand onFalse is nil"},
		"dim size":         {func(g *graph.Graph, x graph.Value) { g.Input("y", tailor.F32, graph.Int(2), nil) }, "the dim size at index 1"},
		"pointer dim size": {func(g *graph.Graph, x graph.Value) { g.Symbol("s", nil).Add((*graph.Dim)(nil)) }, "the dim size rhs is nil"},
		"shape":            {func(g *graph.Graph, x graph.Value) { x.Broadcast(graph.Dims{nil}) }, "the dim size at index 0"},
		"equal":            {func(g *graph.Graph, x graph.Value) { g.AssumeEqual(nil, graph.Int(2)) }, "the dim size lhs is nil"},
		"k":                {func(g *graph.Graph, x graph.Value) { x.TopK(nil, 0, true) }, "the dim size k is nil"},
		"zero operand":     {func(g *graph.Graph, x graph.Value) { x.Add(none) }, "the operand rhs"},
		"of zero":          {func(g *graph.Graph, x graph.Value) { x.Add(none.Exp().Softmax(-1)) }, "the operand rhs"},
		"optional":         {func(g *graph.Graph, x graph.Value) { x.LayerNorm(none.Neg(), none, 0) }, "belongs to no graph"},
		"zero dim":         {func(g *graph.Graph, x graph.Value) { g.Iota(graph.Dims{noDim.Add(graph.Int(1))}, 0, tailor.I64) }, "the dim size at index 0"},
		"zero output":      {func(g *graph.Graph, x graph.Value) { g.Output("y", none) }, "the operand value of the output y"},
		"tensor":           {func(g *graph.Graph, x graph.Value) { g.ConstantOf("c", nil) }, "the tensor of the constant"},
		"region":           {func(g *graph.Graph, x graph.Value) { g.While([]graph.Value{x}, nil, nil, nil) }, "a region is nil"},
		"branch":           {func(g *graph.Graph, x graph.Value) { g.If(x, nil, nil, nil, nil) }, "a region is nil"},
	} {
		g := newGraph(t, "nil")
		c.build(g, newInput(g, "x"))
		t.Log(name)
		assertError(t, g.Err(), tailor.InvalidArgument, c.want)
		_, err := g.Compile(nil)
		assertError(t, err, tailor.InvalidArgument, c.want)
	}
}

func TestTheZeroValueDoesNotPanic(t *testing.T) {
	var none graph.Value
	var noDim graph.Dim
	var noGraph *graph.Graph
	noGraph.Close()
	if none.DType() != 0 || none.Dims() != nil || none.Named("x") != none {
		t.Error("the zero Value has a type")
	}
	none.RNN(none, none, nil)
	none.Conv(none, none, 1, &graph.Spatial{Strides: []int64{1}})
	none.Unique(nil, true)
	for _, text := range []string{none.String(), none.Exp().String(), noDim.String(), noDim.Mul(noDim).String(),
		noGraph.Err().Error()} {
		if !strings.Contains(text, "belongs to no graph") {
			t.Error(text)
		}
	}
	_, err := noGraph.Compile(nil)
	assertError(t, err, tailor.InvalidArgument, "belongs to no graph")
}
