package graph_test

// A transformer block built, compiled and run from Go, against plain loops in float64.

import (
	"bytes"
	"math"
	"path/filepath"
	"testing"

	"tailor.internal/tailor"
	"tailor.internal/tailor/graph"
)

const (
	heads   = 2
	width   = 16
	inner   = 24
	head    = width / heads
	epsilon = 1e-5
)

// numbers gives the same numbers in [-scale, scale) at each call.
func numbers(seed uint32, count int, scale float32) []float32 {
	state := seed*2654435761 + 1
	list := make([]float32, count)
	for i := range list {
		state = state*1664525 + 1013904223
		list[i] = (float32(state>>8)/(1<<23) - 1) * scale
	}
	return list
}

// weight is [rows, columns], or a vector where there is one row.
type weight struct {
	rows, columns int
	data          []float32
}

func newWeights() map[string]weight {
	weights := map[string]weight{}
	for i, w := range []struct {
		name          string
		rows, columns int
	}{{"query", width, width}, {"key", width, width}, {"value", width, width}, {"merge", width, width},
		{"up", width, inner}, {"down", inner, width}, {"up bias", 1, inner}, {"scale", 1, width}, {"shift", 1, width}} {
		weights[w.name] = weight{w.rows, w.columns, numbers(uint32(i), w.rows*w.columns, 0.5)}
	}
	return weights
}

// build makes y = block(x), x being f32[B, S, width]; keys where keep [B, S] is false are not attended to. "mean" is that
// of y over S.
func build(t *testing.T, weights map[string]weight) *graph.Graph {
	g := newGraph(t, "block")
	constant := func(name string) graph.Value {
		w := weights[name]
		if w.rows == 1 {
			return graph.Constant(g, name, w.data, int64(w.columns))
		}
		return graph.Constant(g, name, w.data, int64(w.rows), int64(w.columns))
	}
	b, s := g.Symbol("B", nil), g.Symbol("S", nil)
	x := g.Input("x", tailor.F32, b, s, graph.Int(width))
	keep := g.Input("keep", tailor.Bool, b, s)
	scale, shift := constant("scale"), constant("shift")

	h := x.LayerNorm(scale, shift, epsilon)
	split := func(name string) graph.Value {
		return h.Dot(constant(name), nil).Reshape(graph.Dims{b, s, graph.Int(heads), graph.Int(head)}).
			Transpose([]int64{0, 2, 1, 3})
	}
	mask := keep.Select(g.Scalar(tailor.F32, 0), graph.Number(-1e9)).
		Reshape(graph.Dims{b, graph.Int(1), graph.Int(1), s})
	attended := split("query").Attention(split("key"), split("value"), mask, 0)
	merged := attended.Transpose([]int64{0, 2, 1, 3}).Reshape(graph.Dims{b, s, graph.Int(width)})
	x = x.Add(merged.Dot(constant("merge"), nil))

	h = x.LayerNorm(scale, shift, epsilon).Dot(constant("up"), nil).Add(constant("up bias")).Gelu()
	y := x.Add(h.Dot(constant("down"), nil)).Named("y")
	g.Output("y", y)
	g.Output("mean", y.ReduceMean([]int64{1}, nil))
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	return g
}

type rows [][]float64

func layerNorm(x rows, weights map[string]weight) rows {
	out := make(rows, len(x))
	for i, row := range x {
		mean, variance := 0.0, 0.0
		for _, v := range row {
			mean += v / width
		}
		for _, v := range row {
			variance += (v - mean) * (v - mean) / width
		}
		for c, v := range row {
			normal := (v - mean) / math.Sqrt(variance+epsilon)
			out[i] = append(out[i], normal*float64(weights["scale"].data[c])+float64(weights["shift"].data[c]))
		}
	}
	return out
}

func dot(x rows, w weight) rows {
	out := make(rows, len(x))
	for i, row := range x {
		out[i] = make([]float64, w.columns)
		for k, v := range row {
			for j := range out[i] {
				out[i][j] += v * float64(w.data[k*w.columns+j])
			}
		}
	}
	return out
}

func add(lhs, rhs rows) rows {
	out := make(rows, len(lhs))
	for i := range lhs {
		for j := range lhs[i] {
			out[i] = append(out[i], lhs[i][j]+rhs[i][j])
		}
	}
	return out
}

func attention(query, key, value rows, keep []bool) rows {
	out := make(rows, len(query))
	for i := range query {
		out[i] = make([]float64, width)
		for first := 0; first < width; first += head {
			scores, largest, total := make([]float64, len(key)), math.Inf(-1), 0.0
			for j := range key {
				for c := first; c < first+head; c++ {
					scores[j] += query[i][c] * key[j][c] / math.Sqrt(head)
				}
				if !keep[j] {
					scores[j] -= 1e9
				}
				largest = math.Max(largest, scores[j])
			}
			for j := range scores {
				scores[j] = math.Exp(scores[j] - largest)
				total += scores[j]
			}
			for j := range value {
				for c := first; c < first+head; c++ {
					out[i][c] += scores[j] / total * value[j][c]
				}
			}
		}
	}
	return out
}

// reference is the block on one sequence.
func reference(x rows, keep []bool, weights map[string]weight) rows {
	h := layerNorm(x, weights)
	merged := attention(dot(h, weights["query"]), dot(h, weights["key"]), dot(h, weights["value"]), keep)
	x = add(x, dot(merged, weights["merge"]))
	up := dot(layerNorm(x, weights), weights["up"])
	for _, row := range up {
		for c, v := range row {
			v += float64(weights["up bias"].data[c])
			row[c] = v / 2 * (1 + math.Erf(v/math.Sqrt2))
		}
	}
	return add(x, dot(up, weights["down"]))
}

func assertClose(t *testing.T, what string, tensor *tailor.Tensor, wanted []float64) {
	t.Helper()
	given := slice[float32](t, tensor)
	if len(given) != len(wanted) {
		t.Fatalf("%s has %d elements, not %d", what, len(given), len(wanted))
	}
	for i := range given {
		if math.Abs(float64(given[i])-wanted[i]) > 2e-5*(1+math.Abs(wanted[i])) {
			t.Fatalf("%s[%d] is %v, not %v", what, i, given[i], wanted[i])
		}
	}
}

// runBlock runs one shape against the reference; gives the bits of y.
func runBlock(t *testing.T, executable *tailor.Executable, weights map[string]weight, batch, length int) []uint32 {
	t.Helper()
	x := tensor(t, tailor.F32, int64(batch), int64(length), width)
	data := slice[float32](t, x)
	copy(data, numbers(99, len(data), 1))
	keep := tensor(t, tailor.Bool, int64(batch), int64(length))
	kept := make([]bool, batch*length)
	for i, bits := 0, slice[tailor.Bool8](t, keep); i < len(bits); i++ {
		if kept[i] = i%length == 0 || i%3 != 1; kept[i] {
			bits[i] = 1
		}
	}
	var wanted, mean []float64
	for b := 0; b < batch; b++ {
		sequence := make(rows, length)
		for i := range sequence {
			for c := 0; c < width; c++ {
				sequence[i] = append(sequence[i], float64(data[(b*length+i)*width+c]))
			}
		}
		sums := make([]float64, width)
		for _, row := range reference(sequence, kept[b*length:(b+1)*length], weights) {
			wanted = append(wanted, row...)
			for c, v := range row {
				sums[c] += v / float64(length)
			}
		}
		mean = append(mean, sums...)
	}

	session, err := executable.NewSession(2)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	outputs, err := session.Run(x, keep)
	if err != nil {
		t.Fatal(err)
	}
	assertClose(t, "y", outputs[0], wanted)
	assertClose(t, "mean", outputs[1], mean)
	var bits []uint32
	for _, v := range slice[float32](t, outputs[0]) {
		bits = append(bits, math.Float32bits(v))
	}
	return bits
}

func TestBlockRunsAtManyShapesSavedAndLoaded(t *testing.T) {
	weights := newWeights()
	g := build(t, weights)
	var last string
	compiled, err := g.Compile(&graph.CompileOptions{Threads: 2, Progress: func(phase string, done float64) bool {
		last = phase
		return done >= 0 && done <= 1
	}})
	if err != nil || last != "done" {
		t.Fatalf("%v after %q", err, last)
	}
	defer compiled.Close()
	g.Close()

	path := filepath.Join(t.TempDir(), "block.tlr")
	if err := compiled.Save(path); err != nil {
		t.Fatal(err)
	}
	loaded, err := tailor.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	for _, shape := range [][2]int{{1, 1}, {2, 3}, {3, 17}, {5, 8}} {
		first := runBlock(t, compiled, weights, shape[0], shape[1])
		for i, bits := range runBlock(t, loaded, weights, shape[0], shape[1]) {
			if bits != first[i] {
				t.Fatalf("the loaded artifact differs at %v in y[%d]", shape, i)
			}
		}
	}
}

func TestTheSameGraphGivesTheSameBytes(t *testing.T) {
	weights := newWeights()
	options := &graph.CompileOptions{Targets: []string{"x86-64-v2", "host"}}
	first, err := build(t, weights).CompileArtifact(options)
	if err != nil {
		t.Fatal(err)
	}
	second, err := build(t, weights).CompileArtifact(options)
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("the bytes differ, %v", err)
	}
	loaded, err := tailor.LoadBytes(first)
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	runBlock(t, loaded, weights, 2, 5)
}
