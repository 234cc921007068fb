package tailor

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

func artifact() string { return os.Getenv("TAILOR_TEST_ARTIFACT") }

// load reads the artifact that the C99 test saves.
func load(t *testing.T) *Executable {
	t.Helper()
	e, err := Load(artifact())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func codeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func input(t *testing.T, dtype DType, dims ...int64) *Tensor {
	t.Helper()
	x, err := NewTensor(dtype, dims...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

func TestSignature(t *testing.T) {
	e := load(t)
	inputs, err := e.Inputs()
	if err != nil || len(inputs) != 1 || inputs[0].Name != "x" || inputs[0].DType != F32 ||
		strings.Join(inputs[0].Dims, ",") != "B,4" {
		t.Fatalf("inputs %v, %v", inputs, err)
	}
	outputs, err := e.Outputs()
	if err != nil || len(outputs) != 2 || outputs[0].Name != "y" || outputs[1].Name != "total" {
		t.Fatalf("outputs %v, %v", outputs, err)
	}
}

func TestRunsAtSeveralShapes(t *testing.T) {
	s, err := load(t).NewSession(2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, rows := range []int64{1, 3, 64} {
		x := input(t, F32, rows, 4)
		values, err := Slice[float32](x)
		if err != nil {
			t.Fatal(err)
		}
		for i := range values {
			values[i] = float32(i)
		}
		outputs, err := s.Run(x)
		if err != nil {
			t.Fatal(err)
		}
		y, err := Slice[float32](outputs[0])
		if err != nil || int64(len(y)) != rows*4 {
			t.Fatalf("y has %d elements, %v", len(y), err)
		}
		total, err := Slice[float32](outputs[1])
		if err != nil || int64(len(total)) != rows {
			t.Fatalf("total has %d elements, %v", len(total), err)
		}
		for i := range y {
			if want := float32(i)*float32(i%4+1) + 0.5; y[i] != want {
				t.Fatalf("y[%d] is %v, want %v", i, y[i], want)
			}
		}
		for i := range total {
			if want := y[4*i] + y[4*i+1] + y[4*i+2] + y[4*i+3]; total[i] != want {
				t.Fatalf("total[%d] is %v, want %v", i, total[i], want)
			}
		}
		if _, err := Slice[int32](outputs[0]); codeOf(err) != InvalidArgument {
			t.Fatalf("another element type gives %v", err)
		}
	}
}

func TestErrorsNameTheInput(t *testing.T) {
	s, err := load(t).NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, x := range []*Tensor{input(t, F64, 1, 4), input(t, F32, 4), input(t, F32, 65, 4)} {
		if _, err := s.Run(x); codeOf(err) != InvalidArgument || !strings.Contains(err.Error(), "\"x\"") {
			t.Errorf("%v %v gives %v", x.DType(), x.Dims(), err)
		}
	}
	if _, err := s.Run(); codeOf(err) != InvalidArgument {
		t.Errorf("no inputs gives %v", err)
	}
}

func TestClosedHandlesAreErrors(t *testing.T) {
	e := load(t)
	s, err := e.NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	x := input(t, F32, 1, 4)
	e.Close()
	outputs, err := s.Run(x)
	if err != nil {
		t.Fatalf("a session outlives its executable, but %v", err)
	}
	other, err := load(t).NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Run(outputs[0]); err != nil {
		t.Errorf("an output is another session's input, but %v", err)
	}
	s.Close()
	if _, err := other.Run(outputs[0]); codeOf(err) != InvalidArgument {
		t.Errorf("an output of a closed session gives %v", err)
	}
	s.Close()
	if _, err := s.Run(x); codeOf(err) != InvalidArgument {
		t.Errorf("a closed session gives %v", err)
	}
	if _, err := e.NewSession(1); codeOf(err) != InvalidArgument {
		t.Errorf("a closed executable gives %v", err)
	}
	if err := e.Save("x.tlr"); codeOf(err) != InvalidArgument {
		t.Errorf("saving a closed executable gives %v", err)
	}
	if _, err := Load("/no/such/file.tlr"); codeOf(err) != NotFound {
		t.Errorf("a missing file gives %v", err)
	}
}

func TestBytesLoadAsFilesDo(t *testing.T) {
	artifact, err := os.ReadFile(os.Getenv("TAILOR_TEST_ARTIFACT"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := LoadBytes(artifact)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if outputs, err := e.Outputs(); err != nil || len(outputs) != 2 {
		t.Errorf("outputs %v, %v", outputs, err)
	}
	for _, size := range []int{0, len(artifact) / 2} {
		if _, err := LoadBytes(artifact[:size]); codeOf(err) != DataLoss {
			t.Errorf("%d of its bytes give %v", size, err)
		}
	}
}

func TestRunningNeedsNoCompiler(t *testing.T) {
	load(t)
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil || !strings.Contains(string(maps), "/libtailor_runtime.so") || strings.Contains(string(maps), "/libtailor.so") {
		t.Errorf("the process has %s %v", maps, err)
	}
}

func TestPinnedMemoryOutlivesItsTensor(t *testing.T) {
	x := input(t, I64, 2)
	values, err := Slice[int64](x)
	if err != nil {
		t.Fatal(err)
	}
	values[1] = 7
	data, size, unpin, err := x.Pin()
	if err != nil || size != 16 {
		t.Fatalf("%d bytes, %v", size, err)
	}
	x.Close()
	if second := unsafe.Slice((*int64)(data), 2)[1]; second != 7 {
		t.Errorf("it holds %d", second)
	}
	unpin()
	if _, _, _, err := x.Pin(); codeOf(err) != InvalidArgument {
		t.Errorf("a closed tensor gives %v", err)
	}
}

func TestSavesTheSameBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "saved.tlr")
	if err := load(t).Save(path); err != nil {
		t.Fatal(err)
	}
	saved, _ := os.ReadFile(path)
	original, _ := os.ReadFile(os.Getenv("TAILOR_TEST_ARTIFACT"))
	if len(saved) == 0 || !bytes.Equal(saved, original) {
		t.Fatal("the bytes differ")
	}
}

func TestErrorsPrintTheNameOfTheirCode(t *testing.T) {
	if _, err := Load("/no/such/file.tlr"); !strings.HasPrefix(err.Error(), "tailor: NOT_FOUND: ") {
		t.Error(err)
	}
	if text := (&Error{Code(99), "no", "y"}).Error(); text != `tailor: code 99: no (node "y")` {
		t.Error(text)
	}
}
