package graph_test

// Random programs of wrong and right calls: each wrong one is a *tailor.Error, and later right ones work as before.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"testing"
	"time"

	"tailor.internal/tailor"
	"tailor.internal/tailor/graph"
)

// program is what the wrong calls of one program are made on: y f32[B, 4] = 2 * x f32[B, 4] + row f32[4], with B at most 64.
type program struct {
	*rand.Rand
	t          *testing.T
	artifact   []byte
	executable *tailor.Executable
	session    *tailor.Session
	runtime    *tailor.Runtime
}

func misuseArtifact(t *testing.T) []byte {
	g := newGraph(t, "misuse")
	b := g.Symbol("B", &graph.SymbolOptions{Max: 64})
	x, row := g.Input("x", tailor.F32, b, graph.Int(4)), g.Input("row", tailor.F32, graph.Int(4))
	g.Output("y", x.Mul(graph.Number(2)).Add(row))
	artifact, err := g.CompileArtifact(nil)
	if err != nil {
		t.Fatal(err)
	}
	return artifact
}

func newProgram(t *testing.T, seed int64, artifact []byte) *program {
	p := &program{Rand: rand.New(rand.NewSource(seed)), t: t, artifact: artifact}
	var err error
	if p.runtime, err = tailor.NewRuntime(); err != nil {
		t.Fatal(err)
	}
	if p.executable, err = tailor.LoadBytesWith(artifact, tailor.LoadOptions{Runtime: p.runtime}); err != nil {
		t.Fatal(err)
	}
	if p.session, err = p.executable.NewSession(p.Intn(3)); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *program) close() {
	closers := []func(){p.runtime.Close, p.executable.Close, p.session.Close}
	p.Shuffle(len(closers), func(i, j int) { closers[i], closers[j] = closers[j], closers[i] })
	for _, closer := range closers {
		closer()
		if p.Intn(4) == 0 {
			closer()
		}
	}
}

// x is a right first input.
func (p *program) x() *tailor.Tensor {
	data := make([]float32, 4*(1+p.Intn(64)))
	for i := range data {
		data[i] = p.Float32()
	}
	return must(tailor.FromSlice(data, int64(len(data)/4), 4))
}

func (p *program) row() *tailor.Tensor { return must(tailor.FromSlice([]float32{1, 2, 3, 4})) }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// usable runs rightly.
func (p *program) usable() {
	x := p.x()
	given, y := must(tailor.Slice[float32](x)), make([]float32, x.Count())
	if err := p.session.RunInto([]*tailor.Tensor{must(tailor.FromSlice(y))}, []*tailor.Tensor{x, p.row()}); err != nil {
		p.t.Fatalf("a right run fails: %v", err)
	}
	for i := range y {
		if want := 2*given[i] + float32(i%4+1); math.Abs(float64(y[i]-want)) > 1e-5 {
			p.t.Fatalf("y[%d] is %v, not %v", i, y[i], want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// wrongTensor is one that no first input can be.
func (p *program) wrongTensor() *tailor.Tensor {
	closed := p.x()
	closed.Close()
	return []*tailor.Tensor{nil, {}, closed, must(tailor.NewTensor(tailor.F64, 2, 4)), must(tailor.NewTensor(tailor.F32, 4)),
		must(tailor.NewTensor(tailor.F32, 2, 5)), must(tailor.NewTensor(tailor.F32, 65, 4)), must(tailor.NewTensor(tailor.F32, 1, 2, 4)),
		tailor.Scalar(float32(1)), must(tailor.NewTensor(tailor.Bool, 2, 4))}[p.Intn(10)]
}

func (p *program) wrongDims() []int64 {
	large := int64(1) << (62 - p.Intn(8))
	return [][]int64{{-1}, {2, -4}, {math.MinInt64}, {large, 8, 8}, {math.MaxInt64, 2}, make([]int64, 9), {1 << 40, 1 << 20}}[p.Intn(7)]
}

func (p *program) closedExecutable() *tailor.Executable {
	e := must(tailor.LoadBytes(p.artifact))
	e.Close()
	return []*tailor.Executable{nil, {}, e}[p.Intn(3)]
}

func (p *program) closedSession() *tailor.Session {
	s := must(p.executable.NewSession(1))
	s.Close()
	return []*tailor.Session{nil, {}, s}[p.Intn(3)]
}

func (p *program) closedRuntime() *tailor.Runtime {
	r := must(tailor.NewRuntime())
	r.Close()
	return []*tailor.Runtime{{}, r}[p.Intn(2)]
}

// staleOutput is an output of an earlier run, or of a closed session.
func (p *program) staleOutput() *tailor.Tensor {
	s := must(p.executable.NewSession(1))
	outputs := must(s.Run(p.x(), p.row()))
	if p.Intn(2) == 0 {
		s.Close()
	} else {
		must(s.Run(p.x(), p.row()))
	}
	return outputs[0]
}

// damaged is an artifact cut off, or with changed bytes.
func (p *program) damaged() []byte {
	artifact := append([]byte{}, p.artifact...)
	if p.Intn(2) == 0 {
		return artifact[:p.Intn(len(artifact))]
	}
	for i := 0; i <= p.Intn(8); i++ {
		artifact[p.Intn(len(artifact))] ^= 1 << p.Intn(8)
	}
	if bytes.Equal(artifact, p.artifact) {
		artifact[0]++
	}
	return artifact
}

func (p *program) name() string {
	return []string{"", "\x00", "no such", "a\x00b", "../x", "\xff\xfe"}[p.Intn(6)]
}

func (p *program) wrongLoad() error {
	options := []tailor.LoadOptions{{Target: "x86-64-v9"}, {Target: "a\x00"}, {PublicKey: make([]byte, p.Intn(31)+1)},
		{PublicKey: make([]byte, 32)}, {Device: tailor.CUDA(-1 - p.Intn(9))}, {Device: tailor.CUDA(math.MaxInt)},
		{CostProfile: "no profile"}, {Runtime: p.closedRuntime()}}[p.Intn(8)]
	return second(tailor.LoadBytesWith(p.artifact, options))
}

func (p *program) wrongPath() error {
	path := []string{"/no/such/file", os.TempDir(), "", "/dev/null", "a\x00b", os.Args[0]}[p.Intn(6)]
	if p.Intn(2) == 0 {
		return second(tailor.DescribeArtifact(path))
	}
	return second(tailor.Load(path))
}

// runInCallback runs on the session that runs.
func (p *program) runInCallback() (err error) {
	var s *tailor.Session
	s = must(p.executable.NewSessionWith(tailor.SessionOptions{Trace: func(tailor.TraceEvent) {
		err = []func() error{func() error { return second(s.Run(p.x(), p.row())) }, s.Wait, func() error { return s.SetSeed(1) },
			func() error { return s.Reserve(p.x(), p.row()) }, func() error { return second(s.Done()) }, s.Trim}[p.Intn(6)]()
	}}))
	defer s.Close()
	must(s.Run(p.x(), p.row()))
	return err
}

// runTwice runs while another goroutine's run is in progress.
func (p *program) runTwice() error {
	running, asked := make(chan bool), make(chan bool)
	s := must(p.executable.NewSessionWith(tailor.SessionOptions{Trace: func(event tailor.TraceEvent) {
		if event.Launch == 0 {
			running <- true
			<-asked
		}
	}}))
	defer s.Close()
	ended := make(chan error)
	x := p.x()
	go func() { ended <- second(s.Run(x, p.row())) }()
	<-running
	err := second(s.Run(p.x(), p.row()))
	if p.Intn(2) == 0 {
		s.Close() // during the run
	}
	asked <- true
	if first := <-ended; first != nil {
		p.t.Errorf("the first run fails: %v", first)
	}
	return err
}

func (p *program) wrongOutputs() error {
	x := p.x()
	rows := x.Dims()[0]
	memory := make([]float32, 4*rows)
	overlapping := must(tailor.FromSlice(memory, rows, 4))
	y := [][]*tailor.Tensor{{}, {nil, nil}, {must(tailor.NewTensor(tailor.F64, rows, 4))}, {must(tailor.NewTensor(tailor.F32, rows*4-1))},
		{overlapping}, {must(tailor.NewTensor(tailor.F32, 0))}, {{}}, {p.staleOutput()}}[p.Intn(8)]
	if p.Intn(2) == 0 {
		if len(y) == 1 && y[0] == overlapping {
			return p.executable.RunInto(y, []*tailor.Tensor{overlapping, p.row()})
		}
		return p.executable.RunInto(y, []*tailor.Tensor{x, p.row()})
	}
	return p.session.RunInto(y, []*tailor.Tensor{overlapping, p.row()})
}

func (p *program) endedContext() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return second(p.session.RunContext([]context.Context{nil, ctx}[p.Intn(2)], p.x(), p.row()))
}

func (p *program) wrongRegister() error {
	function := func(*tailor.CustomCall) error { return nil }
	r := must(tailor.NewRuntime())
	defer r.Close()
	switch p.Intn(6) {
	case 0:
		return r.Register("", tailor.CPU, function)
	case 1:
		return r.Register("tailor.x", tailor.CPU, function)
	case 2:
		return r.Register("x", tailor.CPU, nil)
	case 3:
		return r.RegisterWithWorkspace("x", tailor.CPU, nil, function)
	case 4:
		_ = r.Register("x", tailor.CPU, function)
		return r.Register("x", tailor.CPU, function)
	}
	return p.closedRuntime().Register("x", tailor.CPU, function)
}

// failedOperator runs a custom operator that fails, reads what it has not, or panics.
func (p *program) failedOperator() error {
	functions := []func(*tailor.CustomCall) error{
		func(*tailor.CustomCall) error { return errors.New("no") },
		func(*tailor.CustomCall) error { panic("no") },
		func(*tailor.CustomCall) error { panic(nil) },
		func(call *tailor.CustomCall) error { return second(tailor.OperandSlice[float64](call, 0)) },
		func(call *tailor.CustomCall) error { return second(tailor.ResultSlice[float32](call, -1-p.Intn(5))) },
		func(call *tailor.CustomCall) error { return second(call.OperandAddress(1 + p.Intn(100))) },
		func(*tailor.CustomCall) error { return &tailor.Error{Code: 77, Message: "a\x00b\xff"} },
		func(*tailor.CustomCall) error { var slice []int; slice[p.Intn(4)] = 1; return nil },
	}
	r := must(tailor.NewRuntime())
	defer r.Close()
	if err := r.Register("op", tailor.CPU, functions[p.Intn(len(functions))]); err != nil {
		return err
	}
	g := must(graph.New("op"))
	defer g.Close()
	n := g.Symbol("N", nil)
	x := g.Input("x", tailor.F32, n)
	g.Output("y", g.Custom("op", []graph.Value{x}, []graph.CustomResult{{DType: tailor.F32, Dims: graph.Dims{n}}}, nil)[0])
	e, err := g.Compile(&graph.CompileOptions{Runtime: r, Targets: []string{"host"}})
	if err != nil {
		p.t.Fatal(err)
	}
	defer e.Close()
	s := must(e.NewSession(1))
	defer s.Close()
	return second(s.Run(must(tailor.NewTensor(tailor.F32, 3))))
}

// wrongGraph is the error of a graph with a wrong call.
func (p *program) wrongGraph() error {
	g, other := must(graph.New("g")), must(graph.New("other"))
	defer g.Close()
	defer other.Close()
	b := g.Symbol("B", nil)
	x, ids := g.Input("x", tailor.F32, b, graph.Int(4)), g.Input("ids", tailor.I64, b)
	foreign := other.Input("x", tailor.F32, graph.Int(4))
	wrong := []func(){
		func() { x.Add(ids) },
		func() { x.Add(graph.Constant(g, "", []float32{1, 2, 3}, 3)) },
		func() { x.Add(foreign) },
		func() { x.Add(graph.Value{}) },
		func() { graph.Value{}.Add(x).Softmax(-1); g.Output("y", graph.Value{}) },
		func() { x.Softmax(int64(p.Intn(100) + 2)) },
		func() { x.Softmax(-3 - p.Int63()) },
		func() { x.Transpose([]int64{0, 0}) },
		func() { x.Reshape(graph.Dims{graph.Int(-5), b}) },
		func() { x.Reshape(graph.Dims{nil}) },
		func() { x.Reshape(graph.Dims{other.Symbol("C", nil)}) },
		func() { x.Dot(foreign, nil) },
		func() { x.Dot(ids, &graph.DotOptions{TransposeRhs: p.Int63()}) },
		func() { g.Input("", tailor.DType(p.Intn(100)+14), b) },
		func() { g.Input("x", tailor.F32, b) },
		func() { g.Input("rank", tailor.F32, make(graph.Dims, 9)...) },
		func() { g.Symbol("C", &graph.SymbolOptions{Min: 5, Max: 4}) },
		func() { g.Symbol("C", &graph.SymbolOptions{MultipleOf: -p.Int63()}) },
		func() { g.Symbol("", nil) },
		func() { graph.Constant(g, "c", make([]float32, p.Intn(6)), 2, 3) },
		func() { graph.Constant(g, "c", []int8{1}, math.MaxInt64, math.MaxInt64) },
		func() { g.ConstantOf("c", p.wrongTensorOfConstant()) },
		func() { g.AssumeEqual(nil, b) },
		func() { b.FloorDiv(graph.Int(0)) },
		func() { x.Gather(x, nil) },
		func() { g.Output("x", x); g.Output("x", x) },
		func() { g.Custom("op", nil, nil, nil) },
		func() { x.Cast(tailor.DType(-p.Int31())) },
		func() { x.Slice(graph.Dims{graph.Int(0)}, nil, nil) },
		func() { x.Conv(ids, graph.Value{}, -1, nil) },
	}
	wrong[p.Intn(len(wrong))]()
	if err := g.Err(); err != nil {
		return err
	}
	g.Output("y", x)
	if err := g.Err(); err != nil {
		return err
	}
	return second(g.CompileArtifact(nil))
}

func (p *program) wrongTensorOfConstant() *tailor.Tensor {
	closed := p.x()
	closed.Close()
	return []*tailor.Tensor{nil, closed, p.staleOutput()}[p.Intn(3)]
}

func (p *program) wrongCompile() error {
	g := must(graph.New("g"))
	defer g.Close()
	x := g.Input("x", tailor.F32, g.Symbol("B", nil))
	if p.Intn(9) == 0 {
		return second(g.Compile(nil)) // without an output
	}
	g.Output("y", x.Mul(x))
	options := []graph.CompileOptions{{Targets: []string{"x86-64-v9"}}, {Targets: []string{"a\x00"}}, {Targets: []string{""}},
		{Threads: -1 - p.Intn(9)}, {SecretKey: make([]byte, p.Intn(63)+1)}, {Donated: []string{"y"}},
		{MemoryLimit: 1}, {Device: tailor.CUDA(-1)}, {Runtime: p.closedRuntime()},
		{Progress: func(string, float64) bool { return false }}}[p.Intn(10)]
	if p.Intn(2) == 0 && options.Runtime == nil && options.Device == tailor.CPU {
		return second(g.CompileArtifact(&options))
	}
	return second(g.Compile(&options))
}

func (p *program) wrongText() error {
	text := []byte("graph @g(%x: f32[B, 4]) {\n  %y = exp %x\n  return %y\n}")
	for i := 0; i <= p.Intn(3); i++ {
		text[p.Intn(len(text))] = byte(p.Intn(256))
	}
	g, err := graph.Parse("graph " + string(text))
	if err == nil {
		g.Close()
	}
	return err
}

// misuses are the wrong calls.
var misuses = map[string]func(p *program) error{
	"input":   func(p *program) error { return second(p.session.Run(p.wrongTensor(), p.row())) },
	"count":   func(p *program) error { return second(p.session.Run(make([]*tailor.Tensor, p.Intn(2))...)) },
	"more":    func(p *program) error { return second(p.session.Run(p.x(), p.row(), p.row())) },
	"stale":   func(p *program) error { return second(p.session.Run(p.staleOutput(), p.row())) },
	"outputs": (*program).wrongOutputs,
	"context": (*program).endedContext,
	"closed session": func(p *program) error {
		s := p.closedSession()
		return []func() error{func() error { return second(s.Run(p.x(), p.row())) }, s.Wait, func() error { return s.SetSeed(p.Uint64()) },
			func() error { return second(s.Done()) }, func() error { return s.RunInto(nil, nil) },
			func() error { return s.Reserve(p.x()) }, s.Cancel, s.Uncancel}[p.Intn(8)]()
	},
	"closed executable": func(p *program) error {
		e := p.closedExecutable()
		return []func() error{func() error { return second(e.NewSession(1)) }, func() error { return second(e.Inputs()) },
			func() error { return second(e.Outputs()) }, func() error { return second(e.Symbols()) },
			func() error { return second(e.Launches()) }, func() error { return second(e.Describe()) },
			func() error { return second(e.Plan(1, []int64{1, 4}, []int64{4})) }, func() error { return e.Save("x.tlr") },
			func() error { return e.RunInto([]*tailor.Tensor{p.x()}, []*tailor.Tensor{p.x(), p.row()}) }}[p.Intn(9)]()
	},
	"closed graph": func(p *program) error {
		g := must(graph.New("g"))
		x := g.Input("x", tailor.F32, g.Symbol("B", nil))
		g.Close()
		return []func() error{func() error { return second(g.Text()) }, func() error { return second(g.Facts()) },
			func() error { return second(g.Compile(nil)) }, func() error { x.Add(x); g.Output("y", x); return g.Err() },
			func() error { g.Symbol("C", nil); return g.Err() }}[p.Intn(5)]()
	},
	"threads": func(p *program) error { return second(p.executable.NewSession(-1 - p.Intn(math.MaxInt))) },
	"timeout": func(p *program) error { return p.session.SetTimeout(-1 - time.Duration(p.Int63n(1<<62))) },
	"option": func(p *program) error {
		return second(p.executable.NewSessionWith(tailor.SessionOptions{Timeout: -1 - time.Duration(p.Intn(99))}))
	},
	"dims": func(p *program) error { return second(tailor.NewTensor(tailor.F32, p.wrongDims()...)) },
	"type": func(p *program) error {
		return second(tailor.NewTensor([]tailor.DType{0, -1, 14, math.MaxInt32, math.MinInt32}[p.Intn(5)], 2))
	},
	"slice": func(p *program) error { return second(tailor.FromSlice(make([]int16, p.Intn(5)), 5)) },
	"bytes": func(p *program) error { return second(tailor.FromBytes(tailor.F32, make([]byte, 17)[1:], 4)) },
	"resize": func(p *program) error {
		return p.x().Resize([][]int64{{1 << 20}, {-1}, make([]int64, 9), {math.MaxInt64, math.MaxInt64}}[p.Intn(4)]...)
	},
	"element type":  func(p *program) error { return second(tailor.Slice[int32](p.x())) },
	"copy":          func(p *program) error { return second(tailor.Copy(make([]float32, 3), p.x())) },
	"stale slice":   func(p *program) error { return second(tailor.Slice[float32](p.staleOutput())) },
	"pinned output": func(p *program) error { _, _, _, err := p.staleOutput().Pin(); return err },
	"damaged": func(p *program) error {
		return second(tailor.LoadBytesWith(p.damaged(), tailor.LoadOptions{VerifyConstants: true}))
	},
	"load":    (*program).wrongLoad,
	"path":    (*program).wrongPath,
	"save":    func(p *program) error { return p.executable.Save(filepath.Join("/no/such", p.name())) },
	"plan":    func(p *program) error { return second(p.executable.Plan(p.Intn(3)-1, p.wrongDims(), []int64{4})) },
	"reserve": func(p *program) error { return p.session.Reserve(p.wrongReserve()...) },
	"runtime": func(p *program) error {
		return second(tailor.NewRuntimeWith(tailor.RuntimeOptions{MatmulChoice: "no tree"}))
	},
	"register":   (*program).wrongRegister,
	"operator":   (*program).failedOperator,
	"callback":   (*program).runInCallback,
	"concurrent": (*program).runTwice,
	"graph":      (*program).wrongGraph,
	"compile":    (*program).wrongCompile,
	"text":       (*program).wrongText,
}

func (p *program) wrongReserve() []*tailor.Tensor {
	return [][]*tailor.Tensor{{}, {nil, nil}, {{}, p.row()}, {p.row(), p.row()}, {p.x(), p.x()},
		{must(tailor.NewTensor(tailor.F32, 65, 4)), p.row()}}[p.Intn(6)]
}

func TestRandomMisuse(t *testing.T) {
	artifact := misuseArtifact(t)
	var names []string
	for name := range misuses {
		names = append(names, name)
	}
	sort.Strings(names)
	for seed := int64(0); seed < 200; seed++ {
		p := newProgram(t, seed, artifact)
		for step := 0; step < 4; step++ {
			name := names[(int(seed)+step*p.Intn(len(names)))%len(names)]
			if text := tryMisuse(p, name); text != "" {
				t.Errorf("program %d, step %d, %s: %s", seed, step, name, text)
			}
			if p.Intn(2) == 0 {
				p.usable()
			}
		}
		p.usable()
		p.close()
	}
}

// tryMisuse says what is wrong with the error, or "".
func tryMisuse(p *program, name string) (text string) {
	defer func() {
		if panicked := recover(); panicked != nil {
			text = fmt.Sprintf("it panics: %v", panicked)
		}
	}()
	err := misuses[name](p)
	var failure *tailor.Error
	if !errors.As(err, &failure) {
		return fmt.Sprintf("%v is no *tailor.Error", err)
	}
	if failure.Message == "" || failure.Code == 0 {
		return fmt.Sprintf("%+v says nothing", failure)
	}
	return ""
}

// Any goroutine may close what others use: they then get errors.
func TestHandlesMayBeClosedAtAnyTime(t *testing.T) {
	artifact := misuseArtifact(t)
	for seed := int64(0); seed < 20; seed++ {
		shared := newProgram(t, seed, artifact)
		var group sync.WaitGroup
		for i := int64(0); i < 4; i++ {
			group.Add(1)
			go func(random *rand.Rand) {
				defer group.Done()
				p := *shared
				p.Rand = random
				for step := 0; step < 20; step++ {
					var failure *tailor.Error
					if err := p.anyCall(); err != nil && !errors.As(err, &failure) {
						t.Errorf("%v is no *tailor.Error", err)
					}
				}
				p.close()
			}(rand.New(rand.NewSource(seed*100 + i)))
		}
		group.Wait()
	}
}

// anyCall is right, unless another goroutine uses the session, or has closed the handle.
func (p *program) anyCall() error {
	switch p.Intn(8) {
	case 0:
		return second(p.executable.Plan(1, []int64{1, 4}, []int64{4}))
	case 1:
		return p.executable.RunInto([]*tailor.Tensor{must(tailor.NewTensor(tailor.F32, 64, 4))}, []*tailor.Tensor{p.x(), p.row()})
	case 2:
		s, err := p.executable.NewSession(2)
		s.Close()
		return err
	case 3:
		return p.runtime.Register(fmt.Sprint(p.Int63()), tailor.CPU, func(*tailor.CustomCall) error { return nil })
	case 4:
		if p.Intn(10) == 0 {
			p.session.Close()
		}
		return p.session.Wait()
	}
	outputs, err := p.session.Run(p.x(), p.row())
	if err != nil {
		return err
	}
	return second(tailor.Slice[float32](outputs[0]))
}
