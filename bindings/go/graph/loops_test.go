package graph_test

import (
	"fmt"
	"math"
	"testing"

	"tailor.internal/tailor"
	"tailor.internal/tailor/graph"
)

// region makes a graph of a count and a vector f32[N].
func region(t *testing.T, build func(g *graph.Graph, i, x graph.Value)) *graph.Graph {
	g := newGraph(t, "region")
	build(g, g.Input("i", tailor.I64), g.Input("x", tailor.F32, g.Symbol("N", nil)))
	return g
}

func outputAll(g *graph.Graph, values ...graph.Value) {
	for i, value := range values {
		g.Output(fmt.Sprint(i), value)
	}
}

func assertInts(t *testing.T, what string, tensor *tailor.Tensor, wanted ...int64) {
	t.Helper()
	if given := slice[int64](t, tensor); fmt.Sprint(given) != fmt.Sprint(wanted) {
		t.Errorf("%s is %v, not %v", what, given, wanted)
	}
}

func newSession(t *testing.T, g *graph.Graph) *tailor.Session {
	t.Helper()
	executable, err := g.Compile(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer executable.Close()
	session, err := executable.NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

func runSession(t *testing.T, session *tailor.Session, inputs ...*tailor.Tensor) []*tailor.Tensor {
	t.Helper()
	outputs, err := session.Run(inputs...)
	if err != nil {
		t.Fatal(err)
	}
	return outputs
}

func TestLoopRunsWhileItsConditionHolds(t *testing.T) {
	condition := region(t, func(g *graph.Graph, i, x graph.Value) { g.Output("more", i.Gt(graph.Number(0))) })
	body := region(t, func(g *graph.Graph, i, x graph.Value) {
		outputAll(g, i.Sub(graph.Number(1)), x.Mul(graph.Number(2)))
	})
	g := newGraph(t, "loop")
	n, x := g.Input("n", tailor.I64), g.Input("x", tailor.F32, g.Symbol("size", nil))
	outputAll(g, g.While([]graph.Value{n, x}, condition, body, nil)...)
	condition.Close()
	body.Close()
	session := newSession(t, g)
	for _, n := range []int64{0, 1, 5} {
		outputs := runSession(t, session, filled(t, []int64{n}), filled(t, []float32{1, -3}, 2))
		factor := float64(int64(1) << n)
		assertInts(t, "n", outputs[0], 0)
		assertClose(t, "x", outputs[1], []float64{factor, -3 * factor})
	}
}

func TestBranchIsChosenByItsCondition(t *testing.T) {
	halved := region(t, func(g *graph.Graph, i, x graph.Value) { outputAll(g, x.Div(graph.Number(2))) })
	negated := region(t, func(g *graph.Graph, i, x graph.Value) { outputAll(g, x.Neg()) })
	g := newGraph(t, "branch")
	i, x := g.Input("i", tailor.I64), g.Input("x", tailor.F32, graph.Int(3))
	outputAll(g, g.If(i.Gt(graph.Number(0)), []graph.Value{i, x}, halved, negated, nil)...)
	session := newSession(t, g)
	data := filled(t, []float32{2, 4, 6}, 3)
	assertClose(t, "halved", runSession(t, session, filled(t, []int64{1}), data)[0], []float64{1, 2, 3})
	assertClose(t, "negated", runSession(t, session, filled(t, []int64{0}), data)[0], []float64{-2, -4, -6})

	text, err := halved.Text()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := graph.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	defer parsed.Close()
	if results := g.If(i.Gt(graph.Number(0)), []graph.Value{i, x}, parsed, negated, nil); len(results) != 1 {
		t.Errorf("there are %d results of a branch from a text", len(results))
	}

	failed := region(t, func(g *graph.Graph, i, x graph.Value) { outputAll(g, x.Softmax(7)) })
	if results := g.If(i, []graph.Value{i, x}, failed, negated, nil); len(results) != 1 {
		t.Errorf("there are %d results", len(results))
	}
	assertError(t, g.Err(), tailor.InvalidArgument, "axis 7")
}

func TestSortingGivesValuesAndIndices(t *testing.T) {
	g := newGraph(t, "sorting")
	x := g.Input("x", tailor.F32, g.Symbol("N", nil))
	ascending, at := x.Sort(0, false)
	largest, top := x.TopK(graph.Int(2), -1, true)
	values, indices, inverse, counts := x.Unique(nil, true)
	outputAll(g, ascending, at, largest, top, values, indices, inverse, counts)
	outputs := run(t, g, filled(t, []float32{5, 1, 7, 1, 5}, 5))
	assertClose(t, "ascending", outputs[0], []float64{1, 1, 5, 5, 7})
	assertInts(t, "at", outputs[1], 1, 3, 0, 4, 2)
	assertClose(t, "largest", outputs[2], []float64{7, 5})
	assertInts(t, "top", outputs[3], 2, 0)
	assertClose(t, "values", outputs[4], []float64{1, 5, 7})
	assertInts(t, "indices", outputs[5], 1, 0, 2)
	assertInts(t, "inverse", outputs[6], 1, 0, 2, 0, 1)
	assertInts(t, "counts", outputs[7], 2, 2, 1)
}

func TestDataTellsHowMuchIsKept(t *testing.T) {
	g := newGraph(t, "compaction")
	n := g.Symbol("N", nil)
	x, mask := g.Input("x", tailor.F32, n, graph.Int(2)), g.Input("mask", tailor.Bool, n)
	outputAll(g, x.Compact(mask), mask.NonZero())
	session := newSession(t, g)
	rows := filled(t, []float32{1, 2, 3, 4, 5, 6}, 3, 2)
	outputs := runSession(t, session, rows, filled(t, []tailor.Bool8{1, 0, 1}, 3))
	assertClose(t, "rows", outputs[0], []float64{1, 2, 5, 6})
	assertInts(t, "at", outputs[1], 0, 2)
	outputs = runSession(t, session, rows, filled(t, []tailor.Bool8{0, 0, 0}, 3))
	if dims := outputs[0].Dims(); fmt.Sprint(dims) != "[0 2]" {
		t.Errorf("nothing is %v", dims)
	}
}

func TestRecurrentLayersTakeTheirOptions(t *testing.T) {
	g := newGraph(t, "recurrence")
	x := g.Input("x", tailor.F32, g.Symbol("T", nil), graph.Int(1), graph.Int(1))
	ones := func(count int) graph.Value {
		data := make([]float32, count)
		for i := range data {
			data[i] = 1
		}
		return graph.Constant(g, "ones", data, int64(count), 1)
	}
	two := 2.0
	y, h := x.RNN(ones(1), ones(1), &graph.Recurrence{Bias: graph.Constant(g, "bias", []float32{0.5}, 1), Reverse: true,
		Activations: []graph.Activation{{Name: "affine", Alpha: &two}}})
	_, gru := x.GRU(ones(3), ones(3), &graph.Recurrence{LinearBeforeReset: true})
	_, lstm, cell := x.LSTM(ones(4), ones(4), &graph.Recurrence{Clip: 0.25})
	outputAll(g, y, h, gru, lstm, cell)
	outputs := run(t, g, filled(t, []float32{1, 2}, 2, 1, 1))
	// h = 2 (x + 0.5 + h), from the last step to the first.
	assertClose(t, "y", outputs[0], []float64{13, 5})
	assertClose(t, "h", outputs[1], []float64{13})
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	wantedGRU, wantedLSTM, wantedCell := 0.0, 0.0, 0.0
	for _, x := range []float64{1, 2} {
		gate := sigmoid(x + wantedGRU)
		wantedGRU = (1-gate)*math.Tanh(x+gate*wantedGRU) + gate*wantedGRU
		gate = sigmoid(0.25) // as x + h is beyond it
		wantedCell = gate*wantedCell + gate*math.Tanh(0.25)
		wantedLSTM = gate * math.Tanh(wantedCell)
	}
	assertClose(t, "gru", outputs[2], []float64{wantedGRU})
	assertClose(t, "lstm", outputs[3], []float64{wantedLSTM})
	assertClose(t, "cell", outputs[4], []float64{wantedCell})
	x.RNN(ones(1), ones(1), &graph.Recurrence{Activations: []graph.Activation{{Name: "tan"}}})
	assertError(t, g.Err(), tailor.InvalidArgument, `no activation function "tan"`)
}
