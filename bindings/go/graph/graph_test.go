package graph_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"tailor.internal/tailor"
	"tailor.internal/tailor/graph"
)

func newGraph(t *testing.T, name string) *graph.Graph {
	t.Helper()
	g, err := graph.New(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// newInput makes an input f32[rows_of_<name>, 4].
func newInput(g *graph.Graph, name string) graph.Value {
	return g.Input(name, tailor.F32, g.Symbol("rows_of_"+name, nil), graph.Int(4))
}

func tensor(t *testing.T, dtype tailor.DType, dims ...int64) *tailor.Tensor {
	t.Helper()
	x, err := tailor.NewTensor(dtype, dims...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

func filled[T tailor.Element](t *testing.T, data []T, dims ...int64) *tailor.Tensor {
	t.Helper()
	x := tensor(t, tailor.DTypeOf[T](), dims...)
	copy(slice[T](t, x), data)
	return x
}

func slice[T tailor.Element](t *testing.T, x *tailor.Tensor) []T {
	t.Helper()
	values, err := tailor.Slice[T](x)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func run(t *testing.T, g *graph.Graph, inputs ...*tailor.Tensor) []*tailor.Tensor {
	t.Helper()
	executable, err := g.Compile(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(executable.Close)
	session, err := executable.NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	outputs, err := session.Run(inputs...)
	if err != nil {
		t.Fatal(err)
	}
	return outputs
}

func assertError(t *testing.T, err error, code tailor.Code, words string) {
	t.Helper()
	var e *tailor.Error
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Message, words) {
		t.Errorf("the error is %v, not %q", err, words)
	}
}

func assertText(t *testing.T, given fmt.Stringer, wanted string) {
	t.Helper()
	if given.String() != wanted {
		t.Errorf("it is %q, not %q", given, wanted)
	}
}

func TestDimsAreCanonicalExpressions(t *testing.T) {
	g := newGraph(t, "dims")
	b := g.Symbol("B", &graph.SymbolOptions{Min: 1, Max: 512, MultipleOf: 8, Likely: []int64{8, 64}})
	s := g.Symbol("S", nil)
	assertText(t, b.Mul(s), "B*S")
	assertText(t, b.Mul(graph.Int(2)).Add(graph.Int(1)), "2*B + 1")
	assertText(t, g.Dim(10).Sub(s), "-S + 10")
	assertText(t, s.FloorDiv(graph.Int(2)), "floordiv(S, 2)")
	assertText(t, s.Mod(graph.Int(3)), "mod(S, 3)")
	assertText(t, s.Min(graph.Int(4)), "min(S, 4)")
	assertText(t, s.Max(b), "max(B, S)")
	assertText(t, s.CeilDiv(graph.Int(4)), "floordiv(S + 3, 4)")
	assertText(t, s.TruncDiv(graph.Int(4)), "floordiv(S, 4)")
	assertText(t, s.TruncMod(graph.Int(4)), "mod(S, 4)")
	assertText(t, s.Equal(s), "1")
	assertText(t, s.Less(s), "0")
	assertText(t, s.Equal(s).Select(b, graph.Int(7)), "B")
	g.Output("x", g.Input("x", tailor.F32, b, s))
	text, err := g.Text()
	if err != nil || !strings.Contains(text, "B in [1, 512] multiple_of 8 likely [8, 64]") {
		t.Errorf("%s %v", text, err)
	}
}

func TestEqualDimsAreFacts(t *testing.T) {
	g := newGraph(t, "facts")
	n, m := g.Symbol("N", nil), g.Symbol("M", nil)
	g.Output("x", g.Input("in x", tailor.F32, n))
	g.Output("y", g.Input("in y", tailor.F32, m))
	g.AssumeEqual(n, m.Mul(graph.Int(2)))
	g.AssumeAtLeast(m, graph.Int(3), "the stem")
	facts, err := g.Facts()
	if err != nil || !strings.Contains(facts, "facts\n  N == 2*M: assumed equality: by the caller") ||
		!strings.Contains(facts, "M >= 3: the stem: by the caller") {
		t.Errorf("%s %v", facts, err)
	}
}

func TestFactsOfDimsAreKnownOrNot(t *testing.T) {
	g := newGraph(t, "facts")
	s, b := g.Symbol("S", &graph.SymbolOptions{Min: 3, Max: 10}), g.Symbol("B", nil)
	more := s.Add(graph.Int(1))
	if min, max := s.Mul(graph.Int(8)).Range(); min != 24 || max != 80 {
		t.Errorf("8*S is from %d to %d", min, max)
	}
	expect := func(holds, known bool) func(bool, bool) {
		t.Helper()
		return func(gotHolds, gotKnown bool) {
			t.Helper()
			if gotHolds != holds || gotKnown != known {
				t.Errorf("holds %v, known %v", gotHolds, gotKnown)
			}
		}
	}
	expect(true, true)(s.IsEqual(s))
	expect(false, true)(s.IsEqual(more))
	expect(false, false)(s.IsEqual(b))
	expect(true, true)(s.IsLess(more))
	expect(false, true)(more.IsLess(s))
	expect(true, true)(s.IsAtMost(graph.Int(10)))
	g.AssumeEqual(s, b)
	expect(true, true)(s.IsEqual(b))
	expect(false, false)(s.IsEqual(newGraph(t, "other").Symbol("S", nil)))
	assertError(t, g.Err(), tailor.InvalidArgument, "rhs is a dim of another graph")
	if min, max := s.Range(); min != math.MinInt64 || max != math.MaxInt64 {
		t.Errorf("after an error from %d to %d", min, max)
	}
	if _, known := (graph.Dim{}).IsEqual(nil); known {
		t.Error("the zero Dim has facts")
	}
}

func TestOpsHaveTheTypesThatTheTableSays(t *testing.T) {
	g := newGraph(t, "ops")
	x := newInput(g, "x")
	b := x.Dims()[0]
	ids := g.Input("ids", tailor.I64, b)
	zero, one, two := graph.Int(0), graph.Int(1), graph.Int(2)
	assertText(t, x.ReduceSum([]int64{-1}, &graph.ReduceSumOptions{KeepDims: 1}), "f32[rows_of_x, 1]")
	assertText(t, x.ReduceMax([]int64{0}, nil), "f32[4]")
	assertText(t, x.Dot(x, &graph.DotOptions{TransposeRhs: 1}), "f32[rows_of_x, rows_of_x]")
	assertText(t, x.Reshape(graph.Dims{b.Mul(two), two}), "f32[2*rows_of_x, 2]")
	assertText(t, x.Slice(graph.Dims{zero, zero}, graph.Dims{b, two}, &graph.SliceOptions{Steps: []int64{1, 2}}),
		"f32[rows_of_x, 2]")
	assertText(t, x.Pad(graph.Number(0), graph.Dims{one, zero}, graph.Dims{zero, two}, nil), "f32[rows_of_x + 1, 6]")
	assertText(t, x.Gather(ids, nil), "f32[rows_of_x, 4]")
	assertText(t, x.Cast(tailor.BF16), "bf16[rows_of_x, 4]")
	assertText(t, ids.ShiftLeft(graph.Number(1)), "i64[rows_of_x]")
	assertText(t, g.Concat([]graph.Value{x, x, x}, 1), "f32[rows_of_x, 12]")
	assertText(t, g.Iota(graph.Dims{b, graph.Int(3)}, 1, tailor.I32), "i32[rows_of_x, 3]")
	assertText(t, x.Gt(graph.Number(0)).Select(x, graph.Number(0)), "f32[rows_of_x, 4]")
	scattered := x.Scatter(ids.Reshape(graph.Dims{b, one}), x, "add")
	assertText(t, scattered, "f32[rows_of_x, 4]")
	for _, value := range []graph.Value{x.Softmax(-1), x.LogSoftmax(0), x.LayerNorm(graph.Value{}, graph.Value{}, 1e-5),
		x.Gelu(), x.GeluTanh(), x.L2Normalize(-1, 1e-12), x.Attention(x, x, graph.Value{}, 0.5)} {
		assertText(t, value, "f32[rows_of_x, 4]")
	}
	if x.DType() != tailor.F32 || g.Err() != nil {
		t.Error(x.DType(), g.Err())
	}
}

func TestTextIsReadBack(t *testing.T) {
	g := newGraph(t, "text")
	g.Output("y", newInput(g, "x").Mul(graph.Number(2)).Named("double"))
	text, err := g.Text()
	if wanted := `graph @text(%x: f32[rows_of_x, 4]) {
  %1 = constant 2 : f32[]
  %double = mul %x, %1 : f32[rows_of_x, 4]
  return "y" = %double
}
`; err != nil || text != wanted {
		t.Fatalf("%s %v", text, err)
	}
	parsed, err := graph.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	defer parsed.Close()
	if again, err := parsed.Text(); err != nil || again != text {
		t.Errorf("%s %v", again, err)
	}
	_, err = graph.Parse("grph @g() {}")
	assertError(t, err, tailor.InvalidArgument, "line 1, column")
}

func TestConvolutionsAndPoolsTakeTheirWindows(t *testing.T) {
	g := newGraph(t, "windows")
	x := g.Input("x", tailor.F32, g.Symbol("N", nil), graph.Int(1), g.Symbol("size", nil))
	weights := graph.Constant(g, "weights", []float32{1, 10, 100}, 1, 1, 3)
	bias := graph.Constant(g, "bias", []float32{0.5}, 1)
	padded := graph.Spatial{Strides: []int64{2}, Low: graph.Dims{graph.Int(1)}, High: graph.Dims{graph.Int(1)}}
	dilated := padded
	dilated.Dilations = []int64{2}
	three := graph.Dims{graph.Int(3)}
	g.Output("conv", x.Conv(weights, bias, 1, &padded))
	g.Output("dilated", x.Conv(weights, graph.Value{}, 1, &dilated))
	g.Output("max", x.MaxPool(graph.Dims{graph.Int(2)}, nil))
	g.Output("mean", x.AveragePool(three, false, &padded))
	g.Output("padded", x.AveragePool(three, true, &padded))
	outputs := run(t, g, filled(t, []float32{1, 2, 4, 9}, 1, 1, 4))
	for i, wanted := range [][]float64{{210.5, 942.5}, {920}, {2, 4, 9}, {1.5, 5}, {1, 5}} {
		assertClose(t, fmt.Sprint("output ", i), outputs[i], wanted)
	}
	x.MaxPool(three, &graph.Spatial{Strides: []int64{1, 1}, Low: graph.Dims{graph.Int(0)}})
	assertError(t, g.Err(), tailor.InvalidArgument, "2 strides, 0 dilations, 1 low and 0 high")
}

func TestCompilingMayBeIsolatedAndLimited(t *testing.T) {
	g := newGraph(t, "isolated")
	g.Output("y", g.Input("x", tailor.F32, g.Symbol("N", nil)).Softmax(-1))
	here, err := g.CompileArtifact(nil)
	if err != nil {
		t.Fatal(err)
	}
	apart, err := g.CompileArtifact(&graph.CompileOptions{Isolated: true})
	if err != nil || !bytes.Equal(here, apart) {
		t.Fatalf("other bytes (%v)", err)
	}
	for _, isolated := range []bool{false, true} {
		_, err := g.Compile(&graph.CompileOptions{Isolated: isolated, MemoryLimit: 1 << 20})
		assertError(t, err, tailor.ResourceExhausted, "memory_limit of 1.0 MiB")
	}
}

// By Winograd's algorithm an infinity is subtracted from itself.
func TestConvolutionsMayBeDirect(t *testing.T) {
	ones := make([]float32, 16*16*9)
	for i := range ones {
		ones[i] = 1
	}
	image := make([]float32, 16*6*8)
	image[9] = float32(math.Inf(1))
	for _, direct := range []bool{false, true} {
		g := newGraph(t, "conv")
		x := g.Input("x", tailor.F32, g.Symbol("N", nil), graph.Int(16), graph.Int(6), graph.Int(8))
		g.Output("y", x.Conv(graph.Constant(g, "weights", ones, 16, 16, 3, 3), graph.Value{}, 1, nil))
		e, err := g.Compile(&graph.CompileOptions{DirectConvolutions: direct})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		outputs, err := sessionOf(t, e, tailor.SessionOptions{}).Run(filled(t, image, 1, 16, 6, 8))
		if err != nil {
			t.Fatal(err)
		}
		values, err := tailor.Slice[float32](outputs[0])
		if first := float64(values[0]); err != nil || math.IsNaN(first) == direct || math.IsInf(first, 1) != direct {
			t.Errorf("direct %v: %v (%v)", direct, first, err)
		}
	}
}

func TestCodeMayStayUnoptimized(t *testing.T) {
	for _, unoptimized := range []bool{false, true} {
		g := newGraph(t, "exp")
		g.Output("y", g.Input("x", tailor.F32, g.Symbol("N", nil)).Exp())
		e, err := g.Compile(&graph.CompileOptions{Unoptimized: unoptimized})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if said, err := e.Describe(); err != nil || strings.Contains(said, "optimize=0") != unoptimized {
			t.Errorf("unoptimized %v: %v (%v)", unoptimized, said, err)
		}
	}
}

func TestPassesMayBeLeftOut(t *testing.T) {
	g := newGraph(t, "exp")
	g.Output("y", g.Input("x", tailor.F32, g.Symbol("N", nil)).Exp())
	e, err := g.Compile(&graph.CompileOptions{Without: []string{"stitch"}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if said, err := e.Describe(); err != nil || !strings.Contains(said, "without=stitch") {
		t.Errorf("%v (%v)", said, err)
	}
	if _, err := g.Compile(&graph.CompileOptions{Without: []string{"glue"}}); err == nil ||
		!strings.Contains(err.Error(), "no optional pass \"glue\"") {
		t.Errorf("an unknown pass: %v", err)
	}
}

func TestDenormalsAreFlushedOrKept(t *testing.T) {
	for denormals, flushed := range map[graph.Denormals]bool{
		graph.DenormalsAuto: true, graph.DenormalsKeep: false, graph.DenormalsFlush: true,
	} {
		g := newGraph(t, "scale")
		weights := make([]float32, 512)
		for i := range weights {
			weights[i] = 1e-40
		}
		g.Output("y", g.Input("x", tailor.F32, g.Symbol("N", nil), graph.Int(512)).Mul(graph.Constant(g, "w", weights, 512)))
		e, err := g.Compile(&graph.CompileOptions{Denormals: denormals})
		if err != nil {
			t.Fatal(err)
		}
		said, err := e.Describe()
		if err != nil || strings.Contains(said, `"flush_denormals": true`) != flushed {
			t.Errorf("denormals %v: %v (%v)", denormals, said, err)
		}
		e.Close()
	}
	g := newGraph(t, "exp")
	g.Output("y", g.Input("x", tailor.F32, g.Symbol("N", nil)).Exp())
	if _, err := g.Compile(&graph.CompileOptions{Denormals: 3}); err == nil ||
		!strings.Contains(err.Error(), "options.denormals is 3, not 0, 1 or 2") {
		t.Errorf("denormals 3: %v", err)
	}
}

func TestMatmulsAreCompiledForACostProfile(t *testing.T) {
	g := newGraph(t, "exp")
	g.Output("y", g.Input("x", tailor.F32, g.Symbol("N", nil)).Exp())
	options := graph.CompileOptions{Targets: []string{"host"}, CostProfile: "tile 2x1 1 2 3"}
	e, err := g.Compile(&options)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if said, err := e.Describe(); err != nil || !strings.Contains(said, " cost_profile") {
		t.Errorf("%v (%v)", said, err)
	}
	options.CostProfile = "line 4\ntile 2x1"
	if _, err := g.Compile(&options); err == nil || !strings.Contains(err.Error(), "options.cost_profile: line 2") {
		t.Errorf("a wrong cost profile: %v", err)
	}
}

func TestConstantsAreCopiedOrBorrowed(t *testing.T) {
	g := newGraph(t, "constants")
	x := newInput(g, "x")
	data := []float32{1, 2, 3, 4}
	copied := graph.Constant(g, "copied", data, 4)
	data[0] = 99
	borrowed := filled(t, []float32{10, 20, 30, 40}, 4)
	g.Output("y", x.Mul(copied).Add(g.ConstantOf("borrowed", borrowed)))
	borrowed.Close() // the graph keeps the memory
	for i := 0; i < 3; i++ {
		runtime.GC()
		tensor(t, tailor.F32, 4)
	}
	outputs := run(t, g, filled(t, []float32{1, 1, 1, 1}, 1, 4))
	g.Close()
	assertClose(t, "y", outputs[0], []float64{11, 22, 33, 44})

	other := newGraph(t, "outputs")
	other.ConstantOf("y", outputs[0])
	assertError(t, other.Err(), tailor.InvalidArgument, "cannot be pinned")
	closed := newGraph(t, "closed")
	closed.ConstantOf("borrowed", borrowed)
	assertError(t, closed.Err(), tailor.InvalidArgument, "closed")
}

func TestHalvesAreBits(t *testing.T) {
	g := newGraph(t, "halves")
	x := g.Input("x", tailor.F16, graph.Int(2))
	g.Output("y", x.Mul(graph.Constant(g, "c", []tailor.Float16{0x4000}, 1)))
	outputs := run(t, g, filled(t, []tailor.Float16{0x3C00, 0xC200}, 2))
	if y := slice[tailor.Float16](t, outputs[0]); y[0] != 0x4000 || y[1] != 0xC600 {
		t.Errorf("%x", y)
	}
}

func TestBadGraphsAreRefusedByName(t *testing.T) {
	other := newGraph(t, "other")
	foreign := newInput(other, "foreign")
	for words, bad := range map[string]func(g *graph.Graph, x graph.Value){
		`add: operand "rhs"`:                   func(g *graph.Graph, x graph.Value) { x.Add(g.Input("ids", tailor.I64, graph.Int(4))) },
		"add: rhs is a value of another graph": func(g *graph.Graph, x graph.Value) { x.Add(foreign) },
		"value of another graph":               func(g *graph.Graph, x graph.Value) { g.Output("y", foreign) },
		"dim of another graph":                 func(g *graph.Graph, x graph.Value) { g.Input("z", tailor.F32, foreign.Dims()[0]) },
		"lhs":                                  func(g *graph.Graph, x graph.Value) { g.AssumeEqual(foreign.Dims()[0], graph.Int(2)) },
		`the name "x" is taken`:                func(g *graph.Graph, x graph.Value) { newInput(g, "y"); g.Input("x", tailor.F32) },
		`"rows_of_x"`:                          func(g *graph.Graph, x graph.Value) { g.Symbol("rows_of_x", nil) },
		"99":                                   func(g *graph.Graph, x graph.Value) { g.Input("z", tailor.DType(99)) },
		"axis 2":                               func(g *graph.Graph, x graph.Value) { x.Softmax(2) },
		"divide": func(g *graph.Graph, x graph.Value) {
			x.Scatter(graph.Constant(g, "ids", []int64{0}, 1, 1), graph.Constant(g, "row", make([]float32, 4), 1, 4), "divide")
		},
		"tailor_dim_floordiv": func(g *graph.Graph, x graph.Value) { x.Dims()[0].FloorDiv(graph.Int(0)) },
		"layer_norm":          func(g *graph.Graph, x graph.Value) { x.LayerNorm(foreign, graph.Value{}, 1e-5) },
		"an operand is the result of a call that failed": func(g *graph.Graph, x graph.Value) {
			failed := newGraph(t, "failed")
			x.LayerNorm(newInput(failed, "z").Softmax(7), graph.Value{}, 1e-5)
		},
	} {
		g := newGraph(t, "bad")
		x := newInput(g, "x")
		bad(g, x)
		assertError(t, g.Err(), tailor.InvalidArgument, words)
		g.Output("later", x.Exp()) // does nothing
		_, err := g.Compile(nil)
		assertError(t, err, tailor.InvalidArgument, words)
	}
	if other.Err() != nil {
		t.Error("the other graph has nothing to do with it, but: ", other.Err())
	}
}

func TestCompileNamesWhatItCannotDo(t *testing.T) {
	g := newGraph(t, "compile")
	x := newInput(g, "x")
	_, err := g.Compile(nil)
	assertError(t, err, tailor.FailedPrecondition, "no output")
	g.Output("y", x.Exp())
	_, err = g.Compile(&graph.CompileOptions{Targets: []string{"host", "x86-64-v9"}})
	assertError(t, err, tailor.InvalidArgument, "x86-64-v9")
	_, err = g.Compile(&graph.CompileOptions{Targets: []string{"host\x00"}})
	assertError(t, err, tailor.InvalidArgument, "NUL")
	_, err = g.Compile(&graph.CompileOptions{SecretKey: make([]byte, 3)})
	assertError(t, err, tailor.InvalidArgument, "3 bytes")
	_, err = g.Compile(&graph.CompileOptions{Progress: func(phase string, _ float64) bool { return phase != "pack" }})
	assertError(t, err, tailor.Cancelled, "compilation was cancelled during pack")
	if _, err = g.Compile(nil); err != nil {
		t.Errorf("the graph is as it was, but %v", err)
	}

	unsolvable := newGraph(t, "unsolvable")
	product := unsolvable.Symbol("N", nil).Mul(unsolvable.Symbol("M", nil))
	unsolvable.Output("y", unsolvable.Input("product", tailor.F32, product).Exp())
	_, err = unsolvable.Compile(nil)
	assertError(t, err, tailor.InvalidArgument, "symbol N cannot be solved")
}

func TestWhoSignedIsAskedFor(t *testing.T) {
	g := newGraph(t, "signed")
	g.Output("y", newInput(g, "x").Exp())
	public, secret, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := g.CompileArtifact(&graph.CompileOptions{SecretKey: secret})
	if err != nil {
		t.Fatal(err)
	}
	e, err := tailor.LoadBytesWith(signed, tailor.LoadOptions{PublicKey: public})
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	for _, wrong := range []struct {
		options tailor.LoadOptions
		code    tailor.Code
		words   string
	}{
		{tailor.LoadOptions{PublicKey: make([]byte, 32)}, tailor.FailedPrecondition, "not signed with the required key"},
		{tailor.LoadOptions{PublicKey: public[:31]}, tailor.InvalidArgument, "31 bytes, not 32"},
		{tailor.LoadOptions{Target: "z80", CopyConstants: true}, tailor.NotFound, "z80"},
		{tailor.LoadOptions{Target: "z\x00"}, tailor.InvalidArgument, "the target holds a NUL"},
		{tailor.LoadOptions{CostProfile: "tile 6x4", VerifyConstants: true}, tailor.InvalidArgument, "a tile has three costs"},
	} {
		_, err = tailor.LoadBytesWith(signed, wrong.options)
		assertError(t, err, wrong.code, wrong.words)
	}
}

func TestProgressPanicsAreTheCallers(t *testing.T) {
	g := newGraph(t, "panic")
	x := newInput(g, "x")
	g.Output("y", x.Exp())
	defer func() {
		if panicked := recover(); panicked != "in progress" {
			t.Errorf("it panicked with %v", panicked)
		}
		if _, err := g.Compile(nil); err != nil {
			t.Errorf("the graph is as it was, but %v", err)
		}
		var text error
		touch := func(string, float64) bool {
			_, text = g.Text()
			return true
		}
		if _, err := g.Compile(&graph.CompileOptions{Progress: touch}); err != nil {
			t.Error(err)
		}
		assertError(t, text, tailor.FailedPrecondition, "being compiled")
	}()
	_, err := g.Compile(&graph.CompileOptions{Progress: func(string, float64) bool { panic("in progress") }})
	t.Errorf("the panic goes on, but Compile gave %v", err)
}

func TestClosedGraphsAreErrors(t *testing.T) {
	g := newGraph(t, "closed")
	x := newInput(g, "x")
	g.Close()
	g.Close()
	x.Exp()
	assertError(t, g.Err(), tailor.InvalidArgument, "the graph is closed")
	_, err := g.Text()
	assertError(t, err, tailor.InvalidArgument, "the graph is closed")
	_, err = graph.New("a\x00b")
	assertError(t, err, tailor.InvalidArgument, "name")
}

// rowsOfSoftmax is an executable whose kernel is worth several threads, and its input.
func rowsOfSoftmax(t *testing.T, runtime *tailor.Runtime) (*tailor.Executable, *tailor.Tensor) {
	g := newGraph(t, "softmax")
	g.Output("y", g.Input("x", tailor.F32, g.Symbol("rows", nil), graph.Int(64)).Softmax(-1))
	executable, err := g.Compile(&graph.CompileOptions{Runtime: runtime})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(executable.Close)
	data := make([]float32, 4096*64)
	for i := range data {
		data[i] = float32(i % 97)
	}
	return executable, filled(t, data, 4096, 64)
}

func TestKernelsRunOnTheCallersExecutor(t *testing.T) {
	executable, x := rowsOfSoftmax(t, nil)
	results := func(parallelFor func(task func(int), count int)) []float32 {
		s, err := executable.NewSessionOn(3, parallelFor)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		outputs, err := s.Run(x)
		if err != nil {
			t.Fatal(err)
		}
		return append([]float32(nil), slice[float32](t, outputs[0])...)
	}
	most := 0
	own := results(nil)
	hosts := results(func(task func(int), count int) {
		most = count
		onGoroutines(task, count)
	})
	if most != 3 {
		t.Fatalf("%d ways", most)
	}
	for i := range own {
		if own[i] != hosts[i] {
			t.Fatalf("element %d is %v, on own threads %v", i, hosts[i], own[i])
		}
	}
}

func TestPanicsOfAnExecutorGoOnAfterTheRun(t *testing.T) {
	executable, x := rowsOfSoftmax(t, nil)
	s, err := executable.NewSessionOn(2, func(task func(int), count int) { panic("no more threads") })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer func() {
		if panicked := recover(); panicked != "no more threads" {
			t.Fatalf("panicked with %v", panicked)
		}
	}()
	s.Run(x)
	t.Fatal("no panic")
}

func TestADonatedInputIsUpdatedWhereItIs(t *testing.T) {
	g := newGraph(t, "step")
	cache := g.Input("cache", tailor.F32, g.Symbol("S", nil), graph.Int(4))
	at := g.Input("at", tailor.I64, graph.Int(1), graph.Int(1))
	row := g.Input("row", tailor.F32, graph.Int(1), graph.Int(4))
	g.Output("next", cache.Scatter(at, row, "set"))
	executable, err := g.Compile(&graph.CompileOptions{Targets: []string{"host"}, Donated: []string{"cache"},
		MaxVersions: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer executable.Close()
	inputs, _ := executable.Inputs()
	outputs, _ := executable.Outputs()
	if !inputs[0].Donated || inputs[1].Donated || outputs[0].MemoryOf != 0 {
		t.Fatalf("inputs %v, outputs %v", inputs, outputs)
	}
	s, err := executable.NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows := filled(t, make([]float32, 12), 3, 4)
	for i := int64(0); i < 3; i++ {
		value := float32(i + 1)
		next, err := s.Run(rows, filled(t, []int64{i}, 1, 1), filled(t, []float32{value, value, value, value}, 1, 4))
		if err != nil || next[0] != rows {
			t.Fatalf("%v, %v", next, err)
		}
	}
	if got := slice[float32](t, rows); got[0] != 1 || got[4] != 2 || got[8] != 3 {
		t.Fatalf("%v", got)
	}
	_, err = g.Compile(&graph.CompileOptions{Donated: []string{"x"}})
	if err == nil || !strings.Contains(err.Error(), `"x" is no input`) {
		t.Fatalf("%v", err)
	}
}

func TestASessionIsUsedByOneCall(t *testing.T) {
	executable, x := rowsOfSoftmax(t, nil)
	var s *tailor.Session
	var within []error
	s, err := executable.NewSessionOn(2, func(task func(int), count int) {
		_, ran := s.Run(x)
		within = append(within, ran, s.Wait())
		x.Close() // the run keeps its memory
		s.Close() // released when the run has ended
		executable.Close()
		for i := 0; i < count; i++ {
			task(i)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(x); err != nil {
		t.Fatal(err)
	}
	if len(within) == 0 {
		t.Fatal("the executor was not called")
	}
	for _, err := range within[:2] {
		assertError(t, err, tailor.FailedPrecondition, "the session is in use by another call")
	}
	assertError(t, s.Wait(), tailor.InvalidArgument, "the session is closed")
}
