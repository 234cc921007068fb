package graph_test

import (
	"os"
	"path/filepath"
	"testing"

	"tailor.internal/tailor"
	"tailor.internal/tailor/graph"
)

// The GPU is the one that the driver of the tests plays (TAILOR_CUDA_DRIVER).
var deviceOptions = graph.CompileOptions{Targets: []string{"simt", "host"}, Device: tailor.CUDA(0)}

func scaled(t *testing.T) *graph.Graph {
	g := newGraph(t, "scaled")
	g.Output("y", g.Input("x", tailor.F32, g.Symbol("B", nil), graph.Int(4)).Mul(graph.Number(2)))
	return g
}

func onGPU(t *testing.T, options tailor.SessionOptions) *tailor.Session {
	t.Helper()
	e, err := scaled(t).Compile(&deviceOptions)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return sessionOf(t, e, options)
}

func sessionOf(t *testing.T, e *tailor.Executable, options tailor.SessionOptions) *tailor.Session {
	t.Helper()
	s, err := e.NewSessionWith(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func counted(t *testing.T, rows int64) *tailor.Tensor {
	t.Helper()
	x, err := tailor.NewTensor(tailor.F32, rows, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	values, _ := tailor.Slice[float32](x)
	for i := range values {
		values[i] = float32(i)
	}
	return x
}

func expectTimes(t *testing.T, outputs []*tailor.Tensor, factor float32) {
	t.Helper()
	values, err := tailor.Slice[float32](outputs[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, value := range values {
		if value != float32(i)*factor {
			t.Fatalf("element %d is %v", i, value)
		}
	}
}

func TestOneArtifactRunsOnBoth(t *testing.T) {
	artifact, err := scaled(t).CompileArtifact(&deviceOptions)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "scaled.tlr")
	if err := os.WriteFile(path, artifact, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, load := range []func() (*tailor.Executable, error){
		func() (*tailor.Executable, error) { return tailor.LoadBytes(artifact) },
		func() (*tailor.Executable, error) {
			return tailor.LoadBytesWith(artifact, tailor.LoadOptions{Device: tailor.CUDA(0)})
		},
		func() (*tailor.Executable, error) {
			return tailor.LoadWith(path, tailor.LoadOptions{Device: tailor.CUDA(0)})
		},
	} {
		e, err := load()
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		s := sessionOf(t, e, tailor.SessionOptions{})
		if (s.Stream() == nil) != (i == 0) {
			t.Errorf("executable %d has the stream %v", i, s.Stream())
		}
		for _, rows := range []int64{3, 0, 40} {
			outputs, err := s.Run(counted(t, rows))
			if err != nil {
				t.Fatal(err)
			}
			expectTimes(t, outputs, 2)
		}
	}
}

func TestProductsInF32MayBeTF32(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		g := newGraph(t, "product")
		x := g.Input("x", tailor.F32, g.Symbol("M", nil), graph.Int(32))
		g.Output("y", x.Dot(g.Input("w", tailor.F32, graph.Int(32), graph.Int(16)), nil))
		options := deviceOptions
		options.AllowTF32 = allowed
		e, err := g.Compile(&options)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		outputs, err := sessionOf(t, e, tailor.SessionOptions{}).Run(allOf(t, 2049.0/2048, 20, 32), allOf(t, 1, 32, 16))
		if err != nil {
			t.Fatal(err)
		}
		want := float32(32 * 2049.0 / 2048)
		if allowed {
			want = 32 * 1025.0 / 1024
		}
		values, err := tailor.Slice[float32](outputs[0])
		if err != nil || values[0] != want {
			t.Errorf("allowed %v: %v, want %v (%v)", allowed, values[0], want, err)
		}
	}
}

func allOf(t *testing.T, value float32, dims ...int64) *tailor.Tensor {
	t.Helper()
	x, err := tailor.NewTensor(tailor.F32, dims...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	values, _ := tailor.Slice[float32](x)
	for i := range values {
		values[i] = value
	}
	return x
}

func TestADeviceThatIsNotThereIsAnError(t *testing.T) {
	missing := deviceOptions
	missing.Device = tailor.CUDA(7)
	_, err := scaled(t).Compile(&missing)
	assertError(t, err, tailor.FailedPrecondition, "CUDA device 7 was asked for")
	e, err := scaled(t).Compile(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = e.NewSessionWith(tailor.SessionOptions{CUDAGraph: true})
	assertError(t, err, tailor.InvalidArgument, "options.cuda_graph is set, but the executable runs on the CPU")
}

func TestRunsMayBeGraphs(t *testing.T) {
	s := onGPU(t, tailor.SessionOptions{CUDAGraph: true})
	for _, rows := range []int64{3, 40, 7} {
		outputs, err := s.Run(counted(t, rows))
		if err != nil {
			t.Fatal(err)
		}
		expectTimes(t, outputs, 2)
	}
}

func TestAsynchronousRunsAreWaitedFor(t *testing.T) {
	s := onGPU(t, tailor.SessionOptions{Asynchronous: true})
	outputs, err := s.Run(counted(t, 5))
	if err != nil {
		t.Fatal(err)
	}
	if done, err := s.Done(); done || err != nil {
		t.Error(done, err)
	}
	if err := s.Wait(); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Done(); !done || err != nil {
		t.Error(done, err)
	}
	expectTimes(t, outputs, 2)
	s.Close()
	assertError(t, s.Wait(), tailor.InvalidArgument, "the session is closed")
}

func TestTensorsStayOnTheDevice(t *testing.T) {
	first := onGPU(t, tailor.SessionOptions{DeviceOutputs: true})
	second := onGPU(t, tailor.SessionOptions{Stream: first.Stream()})
	there, err := first.Run(counted(t, 5))
	if err != nil {
		t.Fatal(err)
	}
	_, err = tailor.Slice[float32](there[0])
	assertError(t, err, tailor.InvalidArgument, "the tensor is in the device's memory: see DeviceAddress")
	x, err := tailor.OnDevice(there[0].DeviceAddress(), tailor.F32, 5, 4)
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, err = x.Pin()
	assertError(t, err, tailor.InvalidArgument, "a tensor in a device's memory cannot be pinned")
	outputs, err := second.Run(x)
	if err != nil {
		t.Fatal(err)
	}
	expectTimes(t, outputs, 4)
	if outputs[0].DeviceAddress() != nil {
		t.Error("an output of the host's is on the device")
	}
}
