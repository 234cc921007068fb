package graph_test

import (
	"fmt"
	"sync"
	"testing"

	"tailor.internal/tailor"
	"tailor.internal/tailor/graph"
)

// An executor: a goroutine for each index.
func onGoroutines(task func(int), count int) {
	var all sync.WaitGroup
	for i := 0; i < count; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			task(i)
		}(i)
	}
	all.Wait()
}

func TestRuntimesHaveAnExecutor(t *testing.T) {
	calls, fail := 0, false
	runtime, err := tailor.NewRuntimeWith(tailor.RuntimeOptions{Threads: 3,
		ParallelFor: func(task func(int), count int) {
			if calls++; fail {
				panic("no executor")
			}
			onGoroutines(task, count)
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	executable, x := rowsOfSoftmax(t, runtime)
	serial, err := executable.NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	defer serial.Close()
	divided, err := executable.NewSession(0)
	if err != nil {
		t.Fatal(err)
	}
	defer divided.Close()
	want := tensor(t, tailor.F32, 4096, 64)
	if err := serial.RunInto([]*tailor.Tensor{want}, []*tailor.Tensor{x}); err != nil || calls != 0 {
		t.Fatalf("%d calls for one thread, %v", calls, err)
	}
	for _, fail = range []bool{false, true} {
		for name, run := range map[string]func(outputs, inputs []*tailor.Tensor) error{
			"Session.RunInto": divided.RunInto, "Executable.RunInto": executable.RunInto} {
			calls = 0
			y := tensor(t, tailor.F32, 5000, 64)
			panicked := panicOf(func() {
				if err := run([]*tailor.Tensor{y}, []*tailor.Tensor{x}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
			if calls == 0 || (panicked == "no executor") != fail || y.Dims()[0] != 4096 {
				t.Errorf("%s, fail %v: %d calls, panic %v, dims %v", name, fail, calls, panicked, y.Dims())
			}
			for i, element := range slice[float32](t, want) {
				if slice[float32](t, y)[i] != element {
					t.Fatalf("%s, fail %v: element %d differs", name, fail, i)
				}
			}
		}
	}
}

func panicOf(call func()) (panicked any) {
	defer func() { panicked = recover() }()
	call()
	return nil
}

// twoKernels is a program with two kernels, and inputs for which they are large enough to divide.
func twoKernels(t *testing.T, runtime *tailor.Runtime) (*tailor.Executable, []*tailor.Tensor) {
	t.Helper()
	g := newGraph(t, "two")
	var inputs []*tailor.Tensor
	for i, name := range []string{"x", "y"} {
		x := g.Input(name, tailor.F32, g.Symbol("rows of "+name, nil), graph.Int(64))
		g.Output("exp of "+name, x.Exp())
		inputs = append(inputs, tensor(t, tailor.F32, int64(10000*(i+1)), 64))
	}
	executable, err := g.Compile(&graph.CompileOptions{Runtime: runtime})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(executable.Close)
	return executable, inputs
}

func TestTheFirstPanicOfARunPropagates(t *testing.T) {
	calls := 0
	fails := func(func(int), int) {
		calls++
		panic(calls)
	}
	runtime, err := tailor.NewRuntimeWith(tailor.RuntimeOptions{Threads: 2, ParallelFor: fails})
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	executable, inputs := twoKernels(t, runtime)
	ofRuntime, err := executable.NewSession(0)
	if err != nil {
		t.Fatal(err)
	}
	defer ofRuntime.Close()
	own, err := executable.NewSessionOn(2, fails)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	for i, session := range []*tailor.Session{ofRuntime, own} {
		calls = 0
		panicked := panicOf(func() { _, _ = session.Run(inputs...) })
		if panicked != 1 || calls != 2 {
			t.Errorf("session %d: panic %v, %d calls", i, panicked, calls)
		}
	}
}

func TestARunWithinAnExecutorHasPanicsOfItsOwn(t *testing.T) {
	var inner *tailor.Session
	var inputs []*tailor.Tensor
	var panics []string
	within := false
	runtime, err := tailor.NewRuntimeWith(tailor.RuntimeOptions{Threads: 2, ParallelFor: func(func(int), int) {
		if within {
			panic("inner")
		}
		within = true
		panics = append(panics, fmt.Sprint(panicOf(func() { _, _ = inner.Run(inputs...) })))
		within = false
		panic("outer")
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	var executable *tailor.Executable
	executable, inputs = twoKernels(t, runtime)
	inner, err = executable.NewSession(0)
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	outer, err := executable.NewSession(0)
	if err != nil {
		t.Fatal(err)
	}
	defer outer.Close()
	if panicked := panicOf(func() { _, _ = outer.Run(inputs...) }); panicked != "outer" {
		t.Errorf("panic %v", panicked)
	}
	if fmt.Sprint(panics) != "[inner inner]" {
		t.Errorf("within: %v", panics)
	}
}
