// Custom_operator has a function of its own between compiled kernels, with a result whose size it counts. The graph is compiled
// once, and runs at two shapes.
package main

import (
	"fmt"
	"strconv"

	"tailor.internal/tailor"
	"tailor.internal/tailor/graph"
)

// clamp is (y f32[N], at i64[..N]) of x f32[N]: x within [-limit, limit], and the indices of the elements that were not. An
// error of it, or a panic, fails the run.
func clamp(call *tailor.CustomCall) error {
	limit := float32(must(strconv.ParseFloat(call.Attributes(), 32)))
	x := must(tailor.OperandSlice[float32](call, 0))
	y := must(tailor.ResultSlice[float32](call, 0))
	at := must(tailor.ResultSlice[int64](call, 1))[:0] // its memory is as long as x, the bound
	for i, given := range x {
		y[i] = given
		if given > limit {
			y[i] = limit
		} else if given < -limit {
			y[i] = -limit
		}
		if y[i] != given {
			at = append(at, int64(i))
		}
	}
	must(tailor.ResultSlice[int64](call, 2))[0] = int64(len(at)) // the count of at
	return nil
}

func main() {
	g := must(graph.New("clamped"))
	n, firstDim := g.Symbol("N", nil), 0
	x := g.Input("x", tailor.F32, n)
	clamped := g.Custom("clamp", []graph.Value{x.Mul(graph.Number(0.5))}, []graph.CustomResult{
		{DType: tailor.F32, Dims: graph.Dims{n}},
		{DType: tailor.I64, Dims: graph.Dims{n}, CountedDim: &firstDim},
	}, &graph.CustomOptions{Attributes: "1.5"})
	g.Output("y", clamped[0].Mul(graph.Number(10)))
	g.Output("at", clamped[1])

	runtime := must(tailor.NewRuntime())
	if err := runtime.Register("clamp", tailor.CPU, clamp); err != nil {
		panic(err)
	}
	executable := must(g.Compile(&graph.CompileOptions{Runtime: runtime}))
	session := must(executable.NewSession(1))
	for _, numbers := range [][]float32{{1, 4, -2, -6, 3}, {2, 8}} {
		input := must(tailor.NewTensor(tailor.F32, int64(len(numbers))))
		copy(must(tailor.Slice[float32](input)), numbers)
		outputs := must(session.Run(input))
		fmt.Println(must(tailor.Slice[float32](outputs[0])), "clamped at", must(tailor.Slice[int64](outputs[1])))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
