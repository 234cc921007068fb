package onnx_test

import (
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tailor.internal/tailor"
	"tailor.internal/tailor/graph"
	"tailor.internal/tailor/onnx"
)

// model is the path of a model that onnx_models.py writes.
func model(name string) string { return filepath.Join(os.Getenv("TAILOR_TEST_MODELS"), name) }

func modelBytes(t *testing.T, name string) []byte {
	t.Helper()
	bytes, err := os.ReadFile(model(name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// compiled compiles the graph that a load gave.
func compiled(t *testing.T) func(g *graph.Graph, err error) *tailor.Executable {
	return func(g *graph.Graph, err error) *tailor.Executable {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		executable, err := g.Compile(nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(executable.Close)
		return executable
	}
}

func filled[T tailor.Element](t *testing.T, data []T, dims ...int64) *tailor.Tensor {
	t.Helper()
	x, err := tailor.NewTensor(tailor.DTypeOf[T](), dims...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	elements, err := tailor.Slice[T](x)
	if err != nil {
		t.Fatal(err)
	}
	copy(elements, data)
	return x
}

// assertRun asserts the elements of the only output.
func assertRun(t *testing.T, executable *tailor.Executable, x *tailor.Tensor, want ...float32) *tailor.Tensor {
	t.Helper()
	session, err := executable.NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	outputs, err := session.Run(x)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tailor.Slice[float32](outputs[0]); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v, not %v; %v", got, want, err)
	}
	return outputs[0]
}

// errorOf is the error of a load.
func errorOf(t *testing.T, err error) *tailor.Error {
	t.Helper()
	var failure *tailor.Error
	if !errors.As(err, &failure) {
		t.Fatalf("%v is no *tailor.Error", err)
	}
	return failure
}

func TestAModelIsCompiledAndSaved(t *testing.T) {
	executable := compiled(t)(onnx.Load(model("scale.onnx"), nil))
	ones := filled(t, []float32{1, 1, 1, 1, 1, 1, 1, 1}, 2, 4)
	assertRun(t, executable, ones, 1, 2, 3, 4, 1, 2, 3, 4)
	path := filepath.Join(t.TempDir(), "scale.tlr")
	if err := executable.Save(path); err != nil {
		t.Fatal(err)
	}
	loaded, err := tailor.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	assertRun(t, loaded, ones, 1, 2, 3, 4, 1, 2, 3, 4)
}

func TestAModelMayBeInMemory(t *testing.T) {
	executable := compiled(t)(onnx.LoadBytes(modelBytes(t, "scale.onnx"), &onnx.Options{Directory: t.TempDir()}))
	assertRun(t, executable, filled(t, []float32{1, 1, 1, 1}, 1, 4), 1, 2, 3, 4)
	_, err := onnx.LoadBytes(nil, nil)
	if failure := errorOf(t, err); failure.Code != tailor.InvalidArgument {
		t.Error(failure)
	}
}

func TestOptionsDescribeDims(t *testing.T) {
	options := &onnx.Options{
		Symbols: map[string]graph.SymbolOptions{"batch": {Min: 1, MultipleOf: 2, Likely: []int64{8}}},
		Dims:    map[string]string{"x_dim1": "2*batch + 1"},
		Fixed:   map[string]*tailor.Tensor{"axes": filled(t, []int64{1}, 1)},
	}
	g, err := onnx.Load(model("sum.onnx"), options)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := g.Text(); err != nil || !strings.Contains(text, "batch in [1, 2147483647] multiple_of 2 likely [8]") {
		t.Errorf("%s %v", text, err)
	}
	executable := compiled(t)(g, nil)
	inputs, err := executable.Inputs()
	if err != nil || len(inputs) != 1 || !reflect.DeepEqual(inputs[0].Dims, []string{"batch", "2*batch + 1"}) {
		t.Errorf("%v %v", inputs, err)
	}
	assertRun(t, executable, filled(t, []float32{1, 1, 1, 1, 1, 2, 2, 2, 2, 2}, 2, 5), 5, 10)
}

func TestErrorsNameWhatIsAtFault(t *testing.T) {
	_, misspelt := onnx.Load(model("sum.onnx"), &onnx.Options{Dims: map[string]string{"bach": "4"}})
	if failure := errorOf(t, misspelt); failure.Code != tailor.InvalidArgument || !strings.Contains(failure.Message, `"bach"`) {
		t.Error(failure)
	}
	_, err := onnx.Load(model("wrong.onnx"), nil)
	if failure := errorOf(t, err); failure.Code != tailor.InvalidArgument || failure.Node != `MatMul node "product"` {
		t.Error(failure)
	}
	_, err = onnx.Load(model("none.onnx"), nil)
	if failure := errorOf(t, err); failure.Code != tailor.NotFound {
		t.Error(failure)
	}
	_, err = onnx.Load("scale.onnx\x00", nil)
	if failure := errorOf(t, err); failure.Message != "the path holds a NUL" {
		t.Error(failure)
	}
}

func TestInputsThatCompilationHasToKnowAreListed(t *testing.T) {
	_, err := onnx.Load(model("sum.onnx"), nil)
	if failure := errorOf(t, err); failure.Code != tailor.Unimplemented {
		t.Error(failure)
	}
	var needs *onnx.NeedsFixedError
	if !errors.As(err, &needs) || !reflect.DeepEqual(needs.Inputs, []string{"axes"}) {
		t.Errorf("%v", err)
	}
}

func TestFixedInputsAreTensorsOfTheCaller(t *testing.T) {
	executable := compiled(t)(onnx.Load(model("scale.onnx"), nil))
	output := assertRun(t, executable, filled(t, []float32{1, 1, 1, 1}, 1, 4), 1, 2, 3, 4)
	for want, tensor := range map[string]*tailor.Tensor{
		`the fixed input "axes": the tensor is closed`:       nil,
		`the fixed input "axes": an output cannot be pinned`: output,
	} {
		_, err := onnx.Load(model("sum.onnx"), &onnx.Options{Fixed: map[string]*tailor.Tensor{"axes": tensor}})
		if failure := errorOf(t, err); !strings.HasPrefix(failure.Message, want) {
			t.Error(failure)
		}
	}
}

// Damaged models are errors, or are still models.
func TestDamagedModelsAreErrors(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	whole, refused := modelBytes(t, "scale.onnx"), 0
	for i := 0; i < 200; i++ {
		damaged := append([]byte{}, whole...)
		if i%4 == 0 {
			damaged = damaged[:1+random.Intn(len(damaged)-1)]
		}
		for k := random.Intn(4); k >= 0; k-- {
			damaged[random.Intn(len(damaged))] = byte(random.Intn(256))
		}
		g, err := onnx.LoadBytes(damaged, nil)
		if err != nil {
			errorOf(t, err)
			refused++
			continue
		}
		g.Close()
	}
	if refused < 100 {
		t.Errorf("only %d of 200 are refused", refused)
	}
}
