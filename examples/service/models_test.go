package main

import (
	"bytes"
	"io"
	"log"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tailor.internal/service/array"
	"tailor.internal/tailor"
	"tailor.internal/tailor/graph"
)

func TestMain(m *testing.M) {
	if os.Getenv("TAILOR_SERVICE_MAIN") != "" { // the process that a test started
		main()
		return
	}
	log.SetOutput(io.Discard)
	folder = must(os.MkdirTemp("", "tailor_service"))
	status := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(status)
}

var folder string // of the models that saved compiled

const width, heads = 16, 2

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func weights(seed int64, count int, scale float32) []float32 {
	random := rand.New(rand.NewSource(seed))
	list := make([]float32, count)
	for i := range list {
		list[i] = (2*random.Float32() - 1) * scale
	}
	return list
}

// saved compiles a graph to a file, once.
func saved(t testing.TB, name string, build func(g *graph.Graph)) string {
	t.Helper()
	path := filepath.Join(folder, name+".tlr")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	g := must(graph.New(name))
	defer g.Close()
	build(g)
	artifact, err := g.CompileArtifact(&graph.CompileOptions{Targets: []string{"host"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, artifact, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// encoder is a block of attention with mask i64[B, S] over embeddings of ids i64[B, S]: hidden f32[B, S, width].
func encoder(g *graph.Graph) {
	const words = 50
	b, s := g.Symbol("B", &graph.SymbolOptions{Min: 1}), g.Symbol("S", &graph.SymbolOptions{Min: 1, Max: 512})
	ids, mask := g.Input("ids", tailor.I64, b, s), g.Input("mask", tailor.I64, b, s)
	x := graph.Constant(g, "embedding", weights(1, words*width, 1), words, width).Gather(ids, nil)
	split := func(name string, seed int64) graph.Value {
		w := graph.Constant(g, name, weights(seed, width*width, 0.5), width, width)
		return x.Dot(w, nil).Reshape(graph.Dims{b, s, graph.Int(heads), graph.Int(width / heads)}).Transpose([]int64{0, 2, 1, 3})
	}
	hidden := mask.Cast(tailor.Bool).Select(g.Scalar(tailor.F32, 0), graph.Number(-1e30)).
		Reshape(graph.Dims{b, graph.Int(1), graph.Int(1), s})
	y := split("query", 2).Attention(split("key", 3), split("value", 4), hidden, 0).
		Transpose([]int64{0, 2, 1, 3}).Reshape(graph.Dims{b, s, graph.Int(width)})
	g.Output("hidden", x.Add(y).Gelu())
}

// meanEncoder has an output that depends on padding.
func meanEncoder(g *graph.Graph) {
	b, s := g.Symbol("B", nil), g.Symbol("S", nil)
	x, mask := g.Input("x", tailor.F32, b, s, graph.Int(width)), g.Input("mask", tailor.I64, b, s)
	g.Output("mean", x.ReduceMean([]int64{1}, nil))
	g.Output("mask", mask.Add(graph.Number(1)))
}

// centred mixes the rows of a batch.
func centred(g *graph.Graph) {
	b := g.Symbol("B", nil)
	x := g.Input("x", tailor.F32, b, graph.Int(width))
	g.Output("y", x.Sub(x.ReduceMean([]int64{0}, &graph.ReduceMeanOptions{KeepDims: 1})))
}

// testConfig has small limits and short waits.
func testConfig() Config {
	config := DefaultConfig()
	config.Sessions, config.MaxBatch, config.BatchWait = 2, 8, 2*time.Millisecond
	return config
}

// started is the address of a service of the model.
func started(t testing.TB, path string, config Config) (*Service, string) {
	t.Helper()
	service := NewService(path, config)
	if err := service.Reload(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(service.Handler())
	t.Cleanup(func() {
		server.Close()
		service.Close()
	})
	return service, server.URL
}

// encoderRequest has `rows` rows of `size` ids.
func encoderRequest(random *rand.Rand, rows, size int64) []array.Array {
	ids := array.Random(tailor.I64, []int64{rows, size}, random, true)
	for i := int64(0); i < ids.Count(); i++ {
		ids.Data[8*i] = byte(random.Intn(50))
	}
	return []array.Array{ids, array.Random(tailor.I64, []int64{rows, size}, random, true)}
}

func npzOf(names []string, arrays []array.Array) []byte {
	var body bytes.Buffer
	if err := array.WriteNpz(&body, names, arrays); err != nil {
		panic(err)
	}
	return body.Bytes()
}

// post gives the status and the body of an answer.
func post(t testing.TB, url, contentType string, body []byte) (int, []byte) {
	t.Helper()
	answer, err := http.Post(url, contentType, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode, must(io.ReadAll(answer.Body))
}

// alone is what requests give that run alone.
func alone(t testing.TB, path string, requests [][]array.Array) [][]array.Array {
	t.Helper()
	e := must(tailor.Load(path))
	defer e.Close()
	session := must(e.NewSession(1))
	defer session.Close()
	all := make([][]array.Array, len(requests))
	for i, request := range requests {
		all[i] = must(runArrays(session, request))
	}
	return all
}

// concurrently calls work in `workers` goroutines, with numbers from 0 on, until it returns false.
func concurrently(workers int, work func(number int) bool) {
	var group sync.WaitGroup
	numbers := make(chan int)
	stop := make(chan bool)
	var once sync.Once
	for i := 0; i < workers; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for number := range numbers {
				if !work(number) {
					once.Do(func() { close(stop) })
				}
			}
		}()
	}
	for number := 0; ; number++ {
		select {
		case numbers <- number:
			continue
		case <-stop:
		}
		break
	}
	close(numbers)
	group.Wait()
}
