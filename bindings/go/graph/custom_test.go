package graph_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"tailor.internal/tailor"
	"tailor.internal/tailor/graph"
)

type function = func(*tailor.CustomCall) error

// graphOf makes y f32[N] = op(x f32[N]), with a kernel before and after it that change nothing.
func graphOf(t *testing.T, name, attributes string) *graph.Graph {
	t.Helper()
	g := newGraph(t, "custom")
	n := g.Symbol("N", nil)
	x := g.Input("x", tailor.F32, n)
	y := g.Custom(name, []graph.Value{x.Neg()}, []graph.CustomResult{{DType: tailor.F32, Dims: graph.Dims{n}}},
		&graph.CustomOptions{Attributes: attributes})
	g.Output("y", y[0].Named("node y").Neg())
	return g
}

func newRuntime(t *testing.T) *tailor.Runtime {
	t.Helper()
	r, err := tailor.NewRuntime()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// sessionWith is a session of g, compiled for the runtime.
func sessionWith(t *testing.T, g *graph.Graph, r *tailor.Runtime) *tailor.Session {
	t.Helper()
	e, err := g.Compile(&graph.CompileOptions{Targets: []string{"host"}, Runtime: r})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return sessionOf(t, e, tailor.SessionOptions{})
}

// customSession is a session of graphOf whose operator has this function.
func customSession(t *testing.T, op function) *tailor.Session {
	t.Helper()
	r := newRuntime(t)
	if err := r.Register("op", tailor.CPU, op); err != nil {
		t.Fatal(err)
	}
	return sessionWith(t, graphOf(t, "op", "3"), r)
}

func runVector(t *testing.T, s *tailor.Session, x ...float32) ([]float32, error) {
	t.Helper()
	outputs, err := s.Run(filled(t, x, int64(len(x))))
	if err != nil {
		return nil, err
	}
	return slice[float32](t, outputs[0]), nil
}

func assertEqual(t *testing.T, given, wanted any) {
	t.Helper()
	if fmt.Sprint(given) != fmt.Sprint(wanted) {
		t.Errorf("it is %v, not %v", given, wanted)
	}
}

func assertMessage(t *testing.T, err error, wanted string) {
	t.Helper()
	var e *tailor.Error
	if !errors.As(err, &e) || e.Message != wanted {
		t.Errorf("the error is %v, not %q", err, wanted)
	}
}

func scale(call *tailor.CustomCall) error {
	factor, err := strconv.ParseFloat(call.Attributes(), 32)
	if err != nil {
		return err
	}
	x, err := tailor.OperandSlice[float32](call, 0)
	if err != nil {
		return err
	}
	y, err := tailor.ResultSlice[float32](call, 0)
	for i := range y {
		y[i] = x[i] * float32(factor)
	}
	return err
}

func TestCustomOperatorsRunBetweenKernels(t *testing.T) {
	s := customSession(t, scale)
	for _, x := range [][]float32{{1}, {1, 2, 3, 4, 5, 6, 7}, {}, {-1, 0}} {
		wanted := []float32{}
		for _, number := range x {
			wanted = append(wanted, 3*number)
		}
		y, err := runVector(t, s, x...)
		if err != nil {
			t.Fatal(err)
		}
		assertEqual(t, y, wanted)
	}
}

func TestACallSaysWhatItIsOf(t *testing.T) {
	var after *tailor.CustomCall
	s := customSession(t, func(call *tailor.CustomCall) error {
		after = call
		assertEqual(t, []string{call.Name(), call.Node(), call.Attributes()}, []string{"op", "node y", "3"})
		assertEqual(t, []int{call.OperandCount(), call.ResultCount()}, []int{1, 1})
		dtype, dims, err := call.OperandType(0)
		assertEqual(t, fmt.Sprint(dtype, dims, err), "f32 [2] <nil>")
		dtype, dims, err = call.ResultType(0)
		assertEqual(t, fmt.Sprint(dtype, dims, err), "f32 [2] <nil>")
		y, _ := tailor.ResultSlice[float32](call, 0)
		address, err := call.ResultAddress(0)
		assertEqual(t, fmt.Sprint(address == unsafe.Pointer(&y[0]), err), "true <nil>")
		workspace, err := call.Workspace()
		assertEqual(t, fmt.Sprint(call.Stream() == nil, len(workspace), err), "true 0 <nil>")
		return scale(call)
	})
	if _, err := runVector(t, s, 1, 2); err != nil {
		t.Fatal(err)
	}
	if after.Name() != "" || after.OperandCount() != 0 || after.Stream() != nil || after.WorkspaceAddress() != nil {
		t.Error("a call is open after it")
	}
	_, ofNil := tailor.OperandSlice[float32](nil, 0)
	_, operand := tailor.OperandSlice[float32](after, 0)
	_, result := after.ResultAddress(0)
	_, _, typed := after.ResultType(0)
	_, workspace := after.Workspace()
	for _, err := range []error{ofNil, operand, result, typed, workspace} {
		assertError(t, err, tailor.InvalidArgument, "the call is closed")
	}
}

func TestCountsSayHowMuchOfAResultThereIs(t *testing.T) {
	g := newGraph(t, "counted")
	n, firstDim := g.Symbol("N", nil), 0
	x := g.Input("x", tailor.F32, n)
	counted := graph.CustomResult{DType: tailor.F32, Dims: graph.Dims{n}, CountedDim: &firstDim}
	results := g.Custom("positive", []graph.Value{x}, []graph.CustomResult{counted, {DType: tailor.F32}, counted}, nil)
	for i, result := range results {
		g.Output(fmt.Sprint(i), result.Add(graph.Number(1)))
	}
	r := newRuntime(t)
	r.Register("positive", tailor.CPU, func(call *tailor.CustomCall) error {
		dtype, dims, _ := call.ResultType(4)
		assertEqual(t, fmt.Sprint(call.ResultCount(), dtype, dims), "5 i64 []")
		x, _ := tailor.OperandSlice[float32](call, 0)
		kept, _ := tailor.ResultSlice[float32](call, 0)
		sum, _ := tailor.ResultSlice[float32](call, 1)
		squares, _ := tailor.ResultSlice[float32](call, 2)
		sum[0] = 0
		kept, squares = kept[:0], squares[:0]
		for _, number := range x {
			sum[0] += number
			if number > 0 {
				kept, squares = append(kept, number), append(squares, number*number)
			}
		}
		first, _ := tailor.ResultSlice[int64](call, 3)
		second, err := tailor.ResultSlice[int64](call, 4)
		first[0], second[0] = int64(len(kept)), int64(len(kept))
		if len(kept) == 3 {
			second[0] = 4
		}
		return err
	})
	s := sessionWith(t, g, r)
	for _, c := range []struct{ x, kept, sum, squares []float32 }{
		{[]float32{1, -2, 4, 0}, []float32{2, 5}, []float32{4}, []float32{2, 17}},
		{[]float32{-1}, nil, []float32{0}, nil},
	} {
		outputs, err := s.Run(filled(t, c.x, int64(len(c.x))))
		if err != nil {
			t.Fatal(err)
		}
		assertEqual(t, outputs[0].Dims(), []int{len(c.kept)})
		for i, wanted := range [][]float32{c.kept, c.sum, c.squares} {
			assertEqual(t, slice[float32](t, outputs[i]), wanted)
		}
	}
	_, err := runVector(t, s, 1, 2, 3) // it counts 4 of 3
	assertError(t, err, tailor.InvalidArgument, "4")
}

func TestAFailureHasItsCodeTextAndNode(t *testing.T) {
	full := &tailor.Error{Code: tailor.ResourceExhausted, Message: "the table is full"}
	for _, c := range []struct {
		err  error
		code tailor.Code
		text string
	}{
		{full, tailor.ResourceExhausted, "the table is full"},
		{fmt.Errorf("row 3: %w", full), tailor.ResourceExhausted, "row 3: tailor: RESOURCE_EXHAUSTED: the table is full"},
		{errors.New("no rows"), tailor.Internal, "no rows"},
		{errors.New("a\x00b"), tailor.Internal, "a\uFFFDb"},
		{&tailor.Error{Code: 0, Message: "no"}, tailor.Internal, "no"},
		{&tailor.Error{Code: 99, Message: "no"}, tailor.Internal, "no"},
		{(*tailor.Error)(nil), tailor.Internal, "it panicked: runtime error: invalid memory address or nil pointer dereference"},
	} {
		_, err := runVector(t, customSession(t, func(*tailor.CustomCall) error { return c.err }), 1)
		assertError(t, err, c.code, "")
		assertMessage(t, err, `custom operator "op" failed: `+c.text)
		if e := err.(*tailor.Error); e.Node != "node y" {
			t.Errorf("the node is %q", e.Node)
		}
	}
	for _, start := range []string{"", "x"} { // cut between characters
		_, err := runVector(t, customSession(t, func(*tailor.CustomCall) error {
			return errors.New(start + strings.Repeat("é", 600))
		}), 1)
		if text := err.(*tailor.Error).Message; !strings.HasSuffix(text, "é") || len(text) < 500 {
			t.Error(text)
		}
	}
}

func TestPanicsAreFailures(t *testing.T) {
	for text, panics := range map[string]func(){
		"no rows": func() { panic("no rows") },
		"no row":  func() { panic(errors.New("no row")) },
		"<nil>":   func() { panic(nil) },
		"runtime error: index out of range [2] with length 0": func() { var x []int; i := 2; x[i] = 1 },
	} {
		fails := true
		s := customSession(t, func(call *tailor.CustomCall) error {
			if fails {
				panics()
			}
			return scale(call)
		})
		_, err := runVector(t, s, 1)
		assertError(t, err, tailor.Internal, "")
		assertMessage(t, err, `custom operator "op" failed: it panicked: `+text)
		fails = false
		y, err := runVector(t, s, 1)
		assertEqual(t, fmt.Sprint(y, err), "[3] <nil>")
	}
}

func TestWrongArgumentsAreFailures(t *testing.T) {
	for text, ask := range map[string]function{
		"operand 0 is f32, not f64":      func(c *tailor.CustomCall) error { _, err := tailor.OperandSlice[float64](c, 0); return err },
		"result 0 is f32, not i64":       func(c *tailor.CustomCall) error { _, err := tailor.ResultSlice[int64](c, 0); return err },
		"there is no operand 1, only 1":  func(c *tailor.CustomCall) error { _, err := tailor.OperandSlice[float32](c, 1); return err },
		"there is no operand -1, only 1": func(c *tailor.CustomCall) error { _, _, err := c.OperandType(-1); return err },
		"there is no result 9, only 1":   func(c *tailor.CustomCall) error { _, err := c.ResultAddress(9); return err },
	} {
		_, err := runVector(t, customSession(t, ask), 1)
		assertError(t, err, tailor.InvalidArgument, "")
		assertMessage(t, err, `custom operator "op" failed: `+text)
	}
}

func TestAWorkspaceHasTheSizeThatTheDimsGive(t *testing.T) {
	r := newRuntime(t)
	if err := r.RegisterWithWorkspace("op", tailor.CPU, func(call *tailor.CustomCall) (int64, error) {
		_, dims, err := call.OperandType(0)
		return 4 * dims[0], err
	}, func(call *tailor.CustomCall) error {
		x, _ := tailor.OperandSlice[float32](call, 0)
		y, _ := tailor.ResultSlice[float32](call, 0)
		bytes, err := call.Workspace()
		assertEqual(t, len(bytes), (4*len(x)+63)/64*64)
		assertEqual(t, call.WorkspaceAddress(), unsafe.Pointer(&bytes[0]))
		reversed := unsafe.Slice((*float32)(unsafe.Pointer(&bytes[0])), len(x))
		for i, number := range x {
			reversed[len(x)-1-i] = number
		}
		copy(y, reversed)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	s := sessionWith(t, graphOf(t, "op", ""), r)
	for _, x := range [][]float32{{1, 2, 3}, make([]float32, 100)} {
		x[len(x)-1] = 7
		y, err := runVector(t, s, x...)
		assertEqual(t, fmt.Sprint(y[0], y[len(y)-1], err), fmt.Sprint(7, x[0], nil))
	}
}

func TestFailuresOfTheWorkspaceFunction(t *testing.T) {
	for text, size := range map[string]func(*tailor.CustomCall) (int64, error){
		"odd rows":                             func(*tailor.CustomCall) (int64, error) { return 0, errors.New("odd rows") },
		"it panicked: no size":                 func(*tailor.CustomCall) (int64, error) { panic("no size") },
		"it asks for a workspace of -1 bytes":  func(*tailor.CustomCall) (int64, error) { return -1, nil },
		"it asks for a workspace of 922337203": func(*tailor.CustomCall) (int64, error) { return math.MaxInt64, nil },
		"operand 0 has no data while the workspace is sized": func(c *tailor.CustomCall) (int64, error) {
			_, err := tailor.OperandSlice[float32](c, 0)
			return 0, err
		},
		"result 0 has no data while": func(c *tailor.CustomCall) (int64, error) { _, err := c.ResultAddress(0); return 0, err },
		"the workspace has no data":  func(c *tailor.CustomCall) (int64, error) { _, err := c.Workspace(); return 0, err },
	} {
		r := newRuntime(t)
		if err := r.RegisterWithWorkspace("op", tailor.CPU, size, scale); err != nil {
			t.Fatal(err)
		}
		_, err := runVector(t, sessionWith(t, graphOf(t, "op", "1"), r), 1)
		if err == nil || !strings.Contains(err.Error(), `custom operator "op" failed: `+text) {
			t.Errorf("%q is not in %v", text, err)
		}
	}
}

// dropped says that the garbage collector found a value unused.
func dropped(t *testing.T, c chan bool) bool {
	t.Helper()
	for i := 0; i < 100; i++ {
		runtime.GC()
		select {
		case <-c:
			return true
		case <-time.After(2 * time.Millisecond):
		}
	}
	return false
}

func TestTheFunctionIsDroppedAfterTheLastExecutable(t *testing.T) {
	r := newRuntime(t)
	register := func(name string) (chan bool, error) {
		gone := make(chan bool, 1)
		held := &struct{ factor, unused string }{"2", "x"}
		runtime.SetFinalizer(held, func(any) { gone <- true })
		return gone, r.Register(name, tailor.CPU, func(call *tailor.CustomCall) error {
			assertEqual(t, call.Attributes(), held.factor)
			return scale(call)
		})
	}
	gone, err := register("op")
	if err != nil {
		t.Fatal(err)
	}
	for name, words := range map[string]string{"op": `"op" is registered already`, "": "empty", "tailor.x": "tailor. are taken"} {
		refused, err := register(name)
		assertError(t, err, tailor.InvalidArgument, words)
		if !dropped(t, refused) {
			t.Error("a function that was not registered stays")
		}
	}
	s := sessionWith(t, graphOf(t, "op", "2"), r)
	r.Close()
	if y, err := runVector(t, s, 4); fmt.Sprint(y, err) != "[8] <nil>" {
		t.Error(y, err)
	}
	runtime.GC()
	if len(gone) != 0 {
		t.Error("the function is gone before its session")
	}
	s.Close()
	if !dropped(t, gone) {
		t.Error("the function stays after its session")
	}
}

func TestSixteenGoroutinesCallItAtOnce(t *testing.T) {
	const count = 16
	var arrived, calls int32
	r := newRuntime(t)
	r.Register("op", tailor.CPU, func(call *tailor.CustomCall) error {
		for atomic.AddInt32(&arrived, 1); atomic.LoadInt32(&arrived) < count; { // until all are in progress
			runtime.Gosched()
		}
		atomic.AddInt32(&calls, 1)
		return scale(call)
	})
	e, err := graphOf(t, "op", "2").Compile(&graph.CompileOptions{Targets: []string{"host"}, Runtime: r})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var group sync.WaitGroup
	for i := 0; i < count; i++ {
		group.Add(1)
		s, number := sessionOf(t, e, tailor.SessionOptions{}), float32(i)
		go func() {
			defer group.Done()
			for _, x := range [][]float32{{number}, {number, -1}, {1, 2, number}} {
				y, err := runVector(t, s, x...)
				if err != nil || len(y) != len(x) || y[0] != 2*x[0] || y[len(y)-1] != 2*x[len(x)-1] {
					t.Error(x, y, err)
				}
			}
		}()
	}
	group.Wait()
	assertEqual(t, calls, 3*count)
}

func TestAFunctionMayRunOnlyAnotherSession(t *testing.T) {
	inner := customSession(t, scale)
	ran := inner
	s := customSession(t, func(call *tailor.CustomCall) error {
		x, _ := tailor.OperandSlice[float32](call, 0)
		outputs, err := ran.Run(filled(t, x, int64(len(x))))
		if err != nil {
			return err
		}
		y, err := tailor.ResultSlice[float32](call, 0)
		copy(y, slice[float32](t, outputs[0]))
		return err
	})
	y, err := runVector(t, s, 1, 2)
	assertEqual(t, fmt.Sprint(y, err), "[3 6] <nil>")
	ran = s
	_, err = runVector(t, s, 1, 2)
	assertError(t, err, tailor.FailedPrecondition, "the session is in use by another call")
	ran = inner
	y, err = runVector(t, s, 4)
	assertEqual(t, fmt.Sprint(y, err), "[12] <nil>")
}

func TestArtifactsNameWhatTheyNeed(t *testing.T) {
	artifact, err := graphOf(t, "op", "5").CompileArtifact(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tailor.LoadBytes(artifact)
	assertError(t, err, tailor.FailedPrecondition, `not registered for the CPU: "op"`)
	r := newRuntime(t)
	r.Register("op", tailor.CUDA(0), scale) // another device's
	options := tailor.LoadOptions{Runtime: r}
	_, err = tailor.LoadBytesWith(artifact, options)
	assertError(t, err, tailor.FailedPrecondition, `not registered for the CPU: "op"`)
	r.Register("op", tailor.CPU, scale)
	path := filepath.Join(t.TempDir(), "custom.tlr")
	if err := os.WriteFile(path, artifact, 0o600); err != nil {
		t.Fatal(err)
	}
	fromBytes, err := tailor.LoadBytesWith(artifact, options)
	if err != nil {
		t.Fatal(err)
	}
	fromFile, err := tailor.LoadWith(path, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*tailor.Executable{fromBytes, fromFile} {
		y, err := runVector(t, sessionOf(t, e, tailor.SessionOptions{}), 2)
		assertEqual(t, fmt.Sprint(y, err), "[10] <nil>")
		e.Close()
	}
}

func TestClosedRuntimesAreErrors(t *testing.T) {
	r := newRuntime(t)
	assertMessage(t, r.Register("op", tailor.CPU, nil), `custom operator "op": the function is nil`)
	assertMessage(t, r.RegisterWithWorkspace("op", tailor.CPU, nil, scale), `custom operator "op": the workspace function is nil`)
	assertError(t, r.Register("op", tailor.CUDA(-1), scale), tailor.InvalidArgument, "ordinal -1")
	g := graphOf(t, "op", "1")
	closes := graph.CompileOptions{Runtime: r, Progress: func(string, float64) bool { // during a call
		r.Close()
		return true
	}}
	_, err := g.Compile(&closes)
	assertError(t, err, tailor.FailedPrecondition, `not registered for the CPU: "op"`)
	r.Close()
	(*tailor.Runtime)(nil).Close()
	_, compiled := g.Compile(&graph.CompileOptions{Runtime: r})
	_, loaded := tailor.LoadBytesWith([]byte{1}, tailor.LoadOptions{Runtime: r})
	for _, err := range []error{compiled, loaded, r.Register("op", tailor.CPU, scale),
		(&tailor.Runtime{}).Register("op", tailor.CPU, scale), (*tailor.Runtime)(nil).Register("op", tailor.CPU, scale)} {
		assertError(t, err, tailor.InvalidArgument, "the runtime is closed")
	}
}

func TestImpureCallsAreNeitherMergedNorDropped(t *testing.T) {
	for impure, wanted := range map[bool]int{false: 1, true: 3} {
		g := newGraph(t, "calls")
		x := g.Input("x", tailor.F32, graph.Int(2))
		call := func(x graph.Value) graph.Value {
			return g.Custom("op", []graph.Value{x}, []graph.CustomResult{{DType: tailor.F32, Dims: graph.Dims{graph.Int(2)}}},
				&graph.CustomOptions{Attributes: "2", Impure: impure})[0]
		}
		call(x.Exp())
		g.Output("y", call(x).Add(call(x)))
		calls := 0
		r := newRuntime(t)
		r.Register("op", tailor.CPU, func(call *tailor.CustomCall) error { calls++; return scale(call) })
		y, err := runVector(t, sessionWith(t, g, r), 1, 2)
		assertEqual(t, fmt.Sprint(y, err, calls), fmt.Sprint([]int{4, 8}, nil, wanted))
	}
}

func TestCustomNodesAreChecked(t *testing.T) {
	one, large := 1, math.MaxInt
	result := graph.CustomResult{DType: tailor.F32, Dims: graph.Dims{graph.Int(2)}}
	counted := func(dim *int) graph.CustomResult {
		return graph.CustomResult{DType: tailor.F32, Dims: result.Dims, CountedDim: dim}
	}
	for words, c := range map[string]struct {
		name    string
		operand graph.Value
		results []graph.CustomResult
	}{
		"name is empty":                    {"", graph.Value{}, []graph.CustomResult{result}},
		"has no result":                    {"op", graph.Value{}, nil},
		"results[1].dtype is 77":           {"op", graph.Value{}, []graph.CustomResult{result, {DType: 77}}},
		"result 0 is 1, but its rank is 1": {"op", graph.Value{}, []graph.CustomResult{counted(&one)}},
		"but its rank is 1":                {"op", graph.Value{}, []graph.CustomResult{counted(&large)}},
		"the dim size at index 2":          {"op", graph.Value{}, []graph.CustomResult{result, {DType: tailor.F32, Dims: graph.Dims{graph.Int(1), nil}}}},
		"operands[1]":                      {"op", newInput(newGraph(t, "other"), "x"), []graph.CustomResult{result}},
		"the operand 1":                    {"op", graph.Value{}.Exp(), []graph.CustomResult{result}},
	} {
		g := newGraph(t, "checked")
		operands := []graph.Value{g.Scalar(tailor.F32, 1)}
		if !reflect.DeepEqual(c.operand, graph.Value{}) {
			operands = append(operands, c.operand)
		}
		results := g.Custom(c.name, operands, c.results, nil)
		assertEqual(t, len(results), len(c.results))
		assertError(t, g.Err(), tailor.InvalidArgument, words)
	}
}

func TestASeedNumbersTheRunsFrom0(t *testing.T) {
	g := newGraph(t, "state")
	g.Output("state", g.Custom("tailor.run_state", nil,
		[]graph.CustomResult{{DType: tailor.U64, Dims: graph.Dims{graph.Int(2)}}}, nil)[0])
	s := sessionWith(t, g, nil)
	state := func() []uint64 {
		outputs, err := s.Run()
		if err != nil {
			t.Fatal(err)
		}
		return slice[uint64](t, outputs[0])
	}
	drawn := state()[0]
	assertEqual(t, state(), []uint64{drawn, 1})
	for i := 0; i < 2; i++ {
		if err := s.SetSeed(math.MaxUint64); err != nil {
			t.Fatal(err)
		}
		assertEqual(t, state(), []uint64{math.MaxUint64, 0})
		assertEqual(t, state(), []uint64{math.MaxUint64, 1})
	}
	s.Close()
	for _, closed := range []*tailor.Session{s, nil} {
		assertError(t, closed.SetSeed(1), tailor.InvalidArgument, "the session is closed")
	}
}

func TestOperatorsOnAGPUGetAddresses(t *testing.T) {
	calls := 0
	r := newRuntime(t)
	r.RegisterWithWorkspace("op", tailor.CUDA(0), func(*tailor.CustomCall) (int64, error) { return 100, nil },
		func(call *tailor.CustomCall) error {
			calls++
			x, err := call.OperandAddress(0)
			assertEqual(t, fmt.Sprint(x != nil, err), "true <nil>")
			y, err := call.ResultAddress(0)
			assertEqual(t, fmt.Sprint(y != nil && y != x, err), "true <nil>")
			_, err = tailor.OperandSlice[float32](call, 0)
			assertMessage(t, err, "operand 0 is in the device's memory: see its address")
			_, err = tailor.ResultSlice[float32](call, 0)
			assertMessage(t, err, "result 0 is in the device's memory: see its address")
			_, err = call.Workspace()
			assertMessage(t, err, "the workspace is in the device's memory: see its address")
			if call.Stream() == nil || call.WorkspaceAddress() == nil {
				t.Error("no stream or workspace")
			}
			return nil
		})
	options := deviceOptions
	options.Runtime = r
	e, err := graphOf(t, "op", "1").Compile(&options)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = runVector(t, sessionOf(t, e, tailor.SessionOptions{}), 1, 2)
	assertEqual(t, fmt.Sprint(err, calls), "<nil> 1")
}
