package tailor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// session is one of the artifact x f32[B, 4] -> y f32[B, 4], total f32[B].
func session(t *testing.T, options SessionOptions) *Session {
	t.Helper()
	s, err := load(t).NewSessionWith(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func slice[T Element](t *testing.T, x *Tensor) []T {
	t.Helper()
	values, err := Slice[T](x)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func over[T Element](t *testing.T, data []T, dims ...int64) *Tensor {
	t.Helper()
	x, err := FromSlice(data, dims...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func expectError(t *testing.T, err error, code Code, text string) {
	t.Helper()
	if !errors.Is(err, code) || !strings.Contains(err.Error(), text) {
		t.Errorf("%v is not %v with %q", err, code, text)
	}
}

func TestOutputsMayBeTheCallers(t *testing.T) {
	s := session(t, SessionOptions{})
	y, total := make([]float32, 64*4), make([]float32, 64)
	outputs := []*Tensor{over(t, y, 64, 4), over(t, total, 64)}
	for _, rows := range []int64{1, 64, 3} {
		x := make([]float32, rows*4)
		for i := range x {
			x[i] = float32(i)
		}
		if err := s.RunInto(outputs, []*Tensor{over(t, x, rows, 4)}); err != nil {
			t.Fatal(err)
		}
		if dims := outputs[0].Dims(); len(dims) != 2 || dims[0] != rows || len(slice[float32](t, outputs[0])) != len(x) {
			t.Fatalf("y has dims %v", dims)
		}
		for i := range x {
			if want := x[i]*float32(i%4+1) + 0.5; y[i] != want {
				t.Fatalf("y[%d] is %v, want %v", i, y[i], want)
			}
		}
	}
	if err := s.RunInto([]*Tensor{nil, outputs[1]}, []*Tensor{over(t, make([]float32, 8), 2, 4)}); err != nil || total[1] != 2 {
		t.Errorf("total is %v, %v", total[:2], err)
	}
}

func TestRunsIntoTensorsAllocateNothing(t *testing.T) {
	s := session(t, SessionOptions{})
	inputs := []*Tensor{over(t, make([]float32, 32), 8, 4)}
	outputs := []*Tensor{over(t, make([]float32, 32), 8, 4), over(t, make([]float32, 8))}
	var failed error
	if allocations := testing.AllocsPerRun(1000, func() { failed = s.RunInto(outputs, inputs) }); allocations != 0 {
		t.Errorf("a run makes %v allocations", allocations)
	}
	results, err := s.Run(inputs...)
	if firstOf(failed, err) != nil {
		t.Fatal(failed, err)
	}
	read := make([]float32, 32)
	if allocations := testing.AllocsPerRun(1000, func() { _, failed = Copy(read, results[0]) }); allocations != 0 {
		t.Errorf("a copy makes %v allocations", allocations)
	}
	if failed != nil || read[31] != 0.5 {
		t.Error(failed, read[31])
	}
}

func BenchmarkRunInto(b *testing.B) {
	e, err := Load(artifact())
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	s, err := e.NewSession(1)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	x, _ := NewTensor(F32, 8, 4)
	y, _ := NewTensor(F32, 8, 4)
	total, _ := NewTensor(F32, 8)
	inputs, outputs := []*Tensor{x}, []*Tensor{y, total}
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		if err := s.RunInto(outputs, inputs); err != nil {
			b.Fatal(err)
		}
	}
}

func TestOutputsThatDoNotFitAreErrors(t *testing.T) {
	s := session(t, SessionOptions{})
	memory := make([]float32, 64)
	x, y, total := over(t, memory[:8], 2, 4), over(t, memory[16:24], 2, 4), over(t, memory[32:34])
	inputs := []*Tensor{x}
	closedOne := over(t, make([]float32, 8), 2, 4)
	closedOne.Close()
	results, err := session(t, SessionOptions{}).Run(x)
	if err != nil {
		t.Fatal(err)
	}
	for text, outputs := range map[string][]*Tensor{
		"0 outputs are given":                                   {},
		"output 1: the tensor is closed":                        {y, closedOne},
		"output 0 is an output of a run":                        {results[0], total},
		`output "y": dtype is f64, expected f32`:                {over(t, make([]float64, 8), 2, 4), total},
		`output "y": data_bytes is 28, but the result has 32`:   {over(t, make([]float32, 7)), total},
		`output "total": data_bytes is 0, but the result has 8`: {y, over(t, []float32{}, 0)},
		"overlap":                           {y, over(t, memory[20:22])},
		`output "y": it overlaps input "x"`: {over(t, memory[4:12], 2, 4), total},
	} {
		expectError(t, s.RunInto(outputs, inputs), InvalidArgument, text)
	}
	if dims := y.Dims(); dims[0] != 2 {
		t.Errorf("y has dims %v after errors", dims)
	}
	if err := s.RunInto([]*Tensor{y, total}, inputs); err != nil {
		t.Error(err)
	}
	if len(s.inFlight) != 0 {
		t.Errorf("%d tensors are held after the runs", len(s.inFlight))
	}
}

func TestExecutablesRunConcurrently(t *testing.T) {
	e := load(t)
	var group sync.WaitGroup
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			x, y, total := []float32{float32(i), 0, 0, 0}, make([]float32, 4), make([]float32, 1)
			outputs, inputs := []*Tensor{over(t, y, 1, 4), over(t, total)}, []*Tensor{over(t, x, 1, 4)}
			for k := 0; k < 50; k++ {
				if err := e.RunInto(outputs, inputs); err != nil || y[0] != float32(i)+0.5 || total[0] != float32(i)+2 {
					t.Errorf("%v %v %v", y, total, err)
				}
			}
		}(i)
	}
	group.Wait()
	expectError(t, e.RunInto([]*Tensor{nil, nil}, nil), InvalidArgument, "output 0: the tensor is nil")
	expectError(t, e.RunInto(nil, nil), InvalidArgument, "0 outputs are given")
	e.Close()
	expectError(t, e.RunInto(nil, nil), InvalidArgument, "closed")
}

func TestDoneContextsEndRuns(t *testing.T) {
	s := session(t, SessionOptions{})
	x := over(t, make([]float32, 4), 1, 4)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, stop := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer stop()
	_, err := s.RunContext(cancelled, x)
	expectError(t, err, Cancelled, "")
	if !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	_, err = s.RunContext(late, x)
	expectError(t, err, DeadlineExceeded, "")
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	_, err = s.RunContext(nil, x) //lint:ignore SA1012 the misuse that is tested
	expectError(t, err, InvalidArgument, "the context is nil")
	if _, err := s.Run(x); err != nil {
		t.Errorf("the session cannot run after that: %v", err)
	}
}

func TestTracesHaveLaunches(t *testing.T) {
	e := load(t)
	launches, err := e.Launches()
	if err != nil || len(launches) == 0 || launches[0].Kernel == "" || launches[0].Versions == 0 {
		t.Fatal(launches, err)
	}
	var events []TraceEvent
	s, err := e.NewSessionWith(SessionOptions{Trace: func(event TraceEvent) { events = append(events, event) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Run(over(t, make([]float32, 4), 1, 4)); err != nil || len(events) != len(launches)+1 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	run := events[len(launches)]
	if run.Launch != -1 || run.Version != -1 {
		t.Errorf("the run is %+v", run)
	}
	for i, event := range events[:len(launches)] {
		if event.Launch != i || event.Version < 0 || event.Begin < run.Begin || event.End > run.End || event.End < event.Begin {
			t.Errorf("event %d of %+v is %+v", i, run, event)
		}
	}
}

func TestPanicsOfTracesPropagate(t *testing.T) {
	calls := 0
	s := session(t, SessionOptions{Trace: func(TraceEvent) { calls++; panic("no trace") }})
	func() {
		defer func() {
			if panicked := recover(); panicked != "no trace" {
				t.Errorf("it panicked with %v", panicked)
			}
		}()
		_, err := s.Run(over(t, make([]float32, 4), 1, 4))
		t.Errorf("no panic, but %v", err)
	}()
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

func TestRuntimesLog(t *testing.T) {
	type message struct {
		level LogLevel
		text  string
	}
	var messages []message
	released := make(chan bool, 1)
	func() {
		kept := &[1024]byte{}
		runtime.SetFinalizer(kept, func(*[1024]byte) { released <- true })
		r, err := NewRuntimeWith(RuntimeOptions{Log: func(level LogLevel, text string) {
			kept[0] = 1
			messages = append(messages, message{level, text})
		}})
		if err != nil {
			t.Fatal(err)
		}
		e, err := LoadWith(artifact(), LoadOptions{Runtime: r})
		if err != nil {
			t.Fatal(err)
		}
		r.Close() // the executable keeps it
		collect(t)
		if len(released) != 0 {
			t.Fatal("the log function is gone before the executable")
		}
		if _, err := LoadWith(artifact(), LoadOptions{Runtime: r}); !errors.Is(err, InvalidArgument) {
			t.Errorf("a closed runtime gives %v", err)
		}
		e.Close()
	}()
	if len(messages) == 0 || messages[len(messages)-1].level != LogInfo ||
		!strings.HasPrefix(messages[len(messages)-1].text, artifact()+": variant ") {
		t.Errorf("%v", messages)
	}
	for i := 0; i < 10 && len(released) == 0; i++ {
		collect(t)
	}
	if len(released) == 0 {
		t.Error("the log function is not collected")
	}
}

func TestPanicsOfLogFunctionsStayInside(t *testing.T) {
	r, err := NewRuntimeWith(RuntimeOptions{Log: func(LogLevel, string) { panic("no log") }})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	e, err := LoadWith(artifact(), LoadOptions{Runtime: r})
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
}

func TestPerfMapsNameFunctions(t *testing.T) {
	path := fmt.Sprintf("/tmp/perf-%d.map", os.Getpid())
	defer os.Remove(path)
	r, err := NewRuntimeWith(RuntimeOptions{PerfMap: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	e, err := LoadWith(artifact(), LoadOptions{Runtime: r})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if text, err := os.ReadFile(path); err != nil || len(text) == 0 {
		t.Errorf("%q %v", text, err)
	}
}

func TestRuntimeOptionsAreChecked(t *testing.T) {
	_, err := NewRuntimeWith(RuntimeOptions{MatmulChoice: "no tree"})
	if !errors.Is(err, InvalidArgument) {
		t.Errorf("%v", err)
	}
	for _, options := range []RuntimeOptions{{Threads: -1}, {PooledSessions: -1}, {PooledBytes: -1}} {
		_, err := NewRuntimeWith(options)
		expectError(t, err, InvalidArgument, "is -1, below 0")
	}
	_, many := NewRuntimeWith(RuntimeOptions{PooledSessions: 5000})
	expectError(t, many, InvalidArgument, "4096")
}

func TestPlansGiveDims(t *testing.T) {
	e := load(t)
	plan, err := e.Plan(1, []int64{7, 4})
	if err != nil || len(plan.Outputs) != 2 || len(plan.Outputs[0]) != 2 || plan.Outputs[0][0] != 7 || plan.Outputs[1][0] != 7 {
		t.Fatal(plan, err)
	}
	launches, err := e.Launches()
	if err != nil || len(plan.Versions) != len(launches) || plan.CodeBytes == 0 || plan.DataDependent {
		t.Error(plan, err)
	}
	_, few := e.Plan(1)
	_, wrong := e.Plan(1, []int64{7, 5})
	_, negative := e.Plan(1, []int64{-7, 4})
	_, threads := e.Plan(-1, []int64{7, 4})
	expectError(t, few, InvalidArgument, "0 inputs are given, but the executable takes 1")
	expectError(t, wrong, InvalidArgument, `"x"`)
	expectError(t, negative, InvalidArgument, `input "x": no tensor with dims [-7 4]`)
	expectError(t, threads, InvalidArgument, "threads is -1")
	symbols, err := e.Symbols()
	if err != nil || len(symbols) != 1 || symbols[0] != (SymbolInfo{"B", 1, 64, 1}) {
		t.Error(symbols, err)
	}
	json, err := e.Describe()
	file, ofFile := DescribeArtifact(artifact())
	if firstOf(err, ofFile) != nil || !strings.Contains(json, `"symbols"`) || !strings.Contains(file, `"symbols"`) {
		t.Error(json, err, file, ofFile)
	}
	if _, err := DescribeArtifact("/no/such/file.tlr"); !errors.Is(err, NotFound) {
		t.Error(err)
	}
}

func TestTensorsAreResized(t *testing.T) {
	x := over(t, make([]int32, 12), 3, 4)
	if err := x.Resize(2, 5); err != nil || len(slice[int32](t, x)) != 10 {
		t.Error(err, x.Dims())
	}
	for text, dims := range map[string][]int64{"dims [13] take 52 bytes, but the tensor has 48": {13}, "dims [-1]": {-1},
		"rank 9": make([]int64, 9)} {
		expectError(t, x.Resize(dims...), InvalidArgument, text)
	}
	if err := x.Resize(12); err != nil || x.Count() != 12 {
		t.Error(err)
	}
	_, tooFew := FromSlice([]int32{1, 2}, 3)
	expectError(t, tooFew, InvalidArgument, "dims [3] have 3 elements, but the slice has 2")
	if one := Scalar(int64(7)); len(one.Dims()) != 0 || slice[int64](t, one)[0] != 7 {
		t.Error(one.Dims())
	}
	raw, err := over(t, []int16{1, 256}).Bytes()
	if err != nil || string(raw) != "\x01\x00\x00\x01" {
		t.Errorf("%q %v", raw, err)
	}
	_, short := Copy(make([]int32, 11), x)
	expectError(t, short, InvalidArgument, "the tensor has 12 elements, but there is room for 11")
}

func TestCountersCountRuns(t *testing.T) {
	e := load(t)
	s, err := e.NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := ReadCounters()
	x := over(t, make([]float32, 4), 1, 4)
	outputs, err := s.Run(x)
	if err != nil {
		t.Fatal(err)
	}
	_, refused := s.Run()
	if after := ReadCounters(); after.Runs <= before.Runs || after.ImagesLinked == 0 || refused == nil {
		t.Errorf("%+v after %+v", after, before)
	}
	counters, err := e.Counters()
	if err != nil || counters.Runs != 2 || counters.FailedRuns != 1 || counters.Sessions != 1 || counters.WorkspaceBytes == 0 {
		t.Errorf("%+v %v", counters, err)
	}
	if err := firstOf(s.Trim(), e.Trim()); err != nil {
		t.Fatal(err)
	}
	if counters, err = e.Counters(); err != nil || counters.WorkspaceBytes != 0 {
		t.Errorf("%+v %v", counters, err)
	}
	_, trimmed := Slice[float32](outputs[0])
	expectError(t, trimmed, InvalidArgument, "earlier run")
	if _, err := s.Run(x); err != nil {
		t.Error(err)
	}
}

func TestANilTensorIsAnError(t *testing.T) {
	var none *Tensor
	none.Close()
	if none.DType() != 0 || none.Dims() != nil || none.Count() != 0 || none.DeviceAddress() != nil {
		t.Errorf("%v %v %d %v", none.DType(), none.Dims(), none.Count(), none.DeviceAddress())
	}
	_, elements := Slice[float32](none)
	_, bytes := none.Bytes()
	_, copied := Copy(make([]float32, 1), none)
	_, _, _, pinned := none.Pin()
	for i, err := range []error{elements, bytes, copied, pinned, none.Resize(1)} {
		if !errors.Is(err, InvalidArgument) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func TestSavedBytesAreThoseLoaded(t *testing.T) {
	want, err := os.ReadFile(artifact())
	if err != nil {
		t.Fatal(err)
	}
	e, err := Load(artifact())
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.SaveBytes()
	if err != nil || string(got) != string(want) {
		t.Errorf("%d bytes, not %d; %v", len(got), len(want), err)
	}
	e.Close()
	_, err = e.SaveBytes()
	expectError(t, err, InvalidArgument, "the executable is closed")
}
