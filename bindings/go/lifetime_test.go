package tailor

import (
	"math"
	"runtime"
	"strings"
	"testing"
	"time"
)

// collect runs the garbage collector until finalizers have run, and uses memory that they freed.
func collect(t *testing.T) {
	t.Helper()
	finalized := make(chan bool, 1)
	runtime.SetFinalizer(&struct{ text string }{"finalized"}, func(any) { finalized <- true })
	for {
		runtime.GC()
		select {
		case <-finalized:
			for i := 0; i < 4; i++ { // finalizers that run after that one, and memory that is used again
				runtime.GC()
				for _, size := range []int64{4, 16, 4096} {
					if x, err := NewTensor(F32, size); err == nil {
						values, _ := Slice[float32](x)
						for j := range values {
							values[j] = -1
						}
					}
				}
			}
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func TestSlicesKeepTheMemoryOfTensors(t *testing.T) {
	const size = 1 << 20 // C's free gives so much back to the system: reading it again would end the process
	slices := make([][]float32, 8)
	for i := range slices {
		x, err := NewTensor(F32, size)
		if err != nil {
			t.Fatal(err)
		}
		if slices[i], err = Slice[float32](x); err != nil {
			t.Fatal(err)
		}
		slices[i][size-1] = float32(i + 1)
		if i%2 == 1 {
			x.Close()
		}
	}
	collect(t)
	for i, values := range slices {
		if values[size-1] != float32(i+1) {
			t.Errorf("slice %d holds %v", i, values[size-1])
		}
	}
}

func TestSlicesOfOutputsOutliveTheirSession(t *testing.T) {
	e := load(t)
	slices := make([][]float32, 16)
	for i := range slices {
		s, err := e.NewSession(1)
		if err != nil {
			t.Fatal(err)
		}
		outputs, err := s.Run(input(t, F32, 64, 4))
		if err != nil {
			t.Fatal(err)
		}
		if slices[i], err = Slice[float32](outputs[0]); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			s.Close()
		}
	}
	collect(t)
	for i, values := range slices {
		for j, value := range values {
			if value != 0.5 {
				t.Fatalf("slice %d holds %v at %d", i, value, j)
			}
		}
	}
}

func TestPinnedMemoryOutlivesTheCollector(t *testing.T) {
	x, err := NewTensor(I64, 1<<18)
	if err != nil {
		t.Fatal(err)
	}
	freed := make(chan bool, 1)
	runtime.SetFinalizer(&x.memory[0], func(*byte) { freed <- true })
	_, _, unpin, err := x.Pin()
	if err != nil {
		t.Fatal(err)
	}
	x.Close()
	collect(t)
	if len(freed) != 0 {
		t.Error("pinned memory was freed")
	}
	unpin()
	unpin() // once more does nothing
	collect(t)
	if len(freed) == 0 {
		t.Error("memory stays after unpin")
	}
}

func TestOutputsAreInputsOfTheNextRun(t *testing.T) {
	s, err := load(t).NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	outputs, err := s.Run(over(t, []float32{1, 2, 3, 4}, 1, 4))
	if err != nil {
		t.Fatal(err)
	}
	for run := 0; run < 4; run++ {
		x, err := Slice[float32](outputs[0])
		if err != nil {
			t.Fatal(err)
		}
		if outputs, err = s.Run(outputs[0]); err != nil {
			t.Fatal(err)
		}
		y, err := Slice[float32](outputs[0])
		if err != nil {
			t.Fatal(err)
		}
		for i := range x {
			if want := x[i]*float32(i+1) + 0.5; y[i] != want {
				t.Errorf("run %d: y[%d] is %v, want %v", run, i, y[i], want)
			}
		}
	}
}

func TestAnOutputIsOfTheLastRun(t *testing.T) {
	s, err := load(t).NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	outputs, err := s.Run(input(t, F32, 1, 4))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(input(t, F32, 64, 4)); err != nil {
		t.Fatal(err)
	}
	if _, err := Slice[float32](outputs[0]); codeOf(err) != InvalidArgument || !strings.Contains(err.Error(), "earlier run") {
		t.Errorf("an output of an earlier run gives %v", err)
	}
	other, err := load(t).NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Run(outputs[0]); codeOf(err) != InvalidArgument || !strings.Contains(err.Error(), "input 0") {
		t.Errorf("it gives as an input %v", err)
	}
}

func TestNoHandlesAreErrors(t *testing.T) {
	var e *Executable
	var s *Session
	e.Close()
	s.Close()
	_, _, _, pinned := (*Tensor)(nil).Pin()
	_, sliced := Slice[float32](nil)
	_, ofZero := Slice[float32](&Tensor{})
	_, inputs := (&Executable{}).Inputs()
	_, session := e.NewSession(1)
	_, run := (&Session{}).Run()
	_, polled := s.Done()
	if s.Stream() != nil {
		t.Error("no session has a stream")
	}
	for i, err := range []error{pinned, sliced, ofZero, inputs, session, run, polled, s.Wait(), e.Save("x.tlr")} {
		if codeOf(err) != InvalidArgument || !strings.Contains(err.Error(), "closed") {
			t.Errorf("call %d gives %v", i, err)
		}
	}
	valid, err := load(t).NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	defer valid.Close()
	for _, x := range []*Tensor{nil, {}} {
		if _, err := valid.Run(x); codeOf(err) != InvalidArgument || !strings.Contains(err.Error(), "input 0") {
			t.Errorf("no tensor gives %v", err)
		}
	}
}

func TestSizesOutOfRangeAreErrors(t *testing.T) {
	e := load(t)
	_, threads := e.NewSession(-1)
	_, ordinal := LoadBytesWith([]byte{1}, LoadOptions{Device: CUDA(-7)})
	_, memory := NewTensor(F32, math.MaxInt32, math.MaxInt32/4)
	for err, want := range map[error]string{threads: "Threads is -1", ordinal: "ordinal -7", memory: "dims [2147483647"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if math.MaxInt > math.MaxInt32 {
		large := 1 << 32
		if _, err := LoadBytesWith([]byte{1}, LoadOptions{Device: CUDA(large)}); !strings.Contains(err.Error(), "4294967296") {
			t.Errorf("an ordinal of 33 bits gives %v", err)
		}
	}
	if codeOf(memory) != ResourceExhausted {
		t.Errorf("more memory than there is gives %v", memory)
	}
}
