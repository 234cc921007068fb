package main

import (
	"fmt"
	"log"
	"path/filepath"
	"strings"
	"sync"

	"tailor.internal/service/array"
	"tailor.internal/tailor"
	"tailor.internal/tailor/onnx"
)

// Model is a loaded model with its queue and the sessions that serve it. Users hold it with users.
type Model struct {
	executable *tailor.Executable
	runtime    *tailor.Runtime
	inputs     []tailor.TensorInfo
	outputs    []tailor.TensorInfo
	symbols    []tailor.SymbolInfo
	batching   *batching // nil: each request runs alone
	reason     string    // why it does

	config Config
	queue  *queue
	users  sync.WaitGroup // requests that hold the model
	served sync.WaitGroup // workers
}

// OpenModel loads an artifact, or compiles an ONNX model, and starts to serve it.
func OpenModel(path string, config Config, metrics *Metrics) (*Model, error) {
	runtime, err := tailor.NewRuntimeWith(tailor.RuntimeOptions{Log: func(level tailor.LogLevel, message string) {
		log.Printf("tailor: %v: %s", level, message)
	}})
	if err != nil {
		return nil, err
	}
	m := &Model{runtime: runtime, config: config}
	if m.executable, err = openExecutable(path, config, runtime); err != nil {
		runtime.Close()
		return nil, err
	}
	if err := m.start(metrics); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// openExecutable copies all of the model into memory, so that the file may be replaced.
func openExecutable(path string, config Config, runtime *tailor.Runtime) (*tailor.Executable, error) {
	options := tailor.LoadOptions{Runtime: runtime, CopyConstants: true, PublicKey: config.PublicKey}
	if !strings.EqualFold(filepath.Ext(path), ".onnx") {
		return tailor.LoadWith(path, options)
	}
	g, err := onnx.Load(path, &config.ONNX)
	if err != nil {
		return nil, explained(err)
	}
	defer g.Close()
	artifact, err := g.CompileArtifact(nil)
	if err != nil {
		return nil, err
	}
	options.PublicKey = nil // it was not loaded as code
	return tailor.LoadBytesWith(artifact, options)
}

func explained(err error) error {
	needs, ok := err.(*onnx.NeedsFixedError)
	if !ok {
		return err
	}
	return fmt.Errorf("%w\ngive the elements of these inputs: -fixed %s=file.npy", err,
		strings.Join(needs.Inputs, "=file.npy -fixed "))
}

func (m *Model) start(metrics *Metrics) (err error) {
	if m.inputs, err = m.executable.Inputs(); err != nil {
		return err
	}
	if m.outputs, err = m.executable.Outputs(); err != nil {
		return err
	}
	if m.symbols, err = m.executable.Symbols(); err != nil {
		return err
	}
	if err := m.chooseBatching(); err != nil {
		return err
	}
	m.queue = newQueue(m.config, m.batching)
	for i := 0; i < m.config.Sessions; i++ {
		session, err := m.executable.NewSession(m.config.Threads)
		if err != nil {
			return err
		}
		m.served.Add(1)
		go func() {
			defer m.served.Done()
			defer session.Close()
			(&worker{session, m, metrics}).serve()
		}()
	}
	return nil
}

// Close waits until all users have what they asked for.
func (m *Model) Close() {
	m.users.Wait()
	if m.queue != nil {
		m.queue.close()
	}
	m.served.Wait()
	m.executable.Close()
	m.runtime.Close()
}

// check gives the dims of the outputs. An error that names input and dim if a run with these inputs alone would fail.
func (m *Model) check(inputs []array.Array) ([][]int64, error) {
	dims := make([][]int64, len(inputs))
	for i, input := range inputs {
		if input.DType != m.inputs[i].DType {
			return nil, array.Invalid("input %q: the element type is %v, expected %v", m.inputs[i].Name, input.DType,
				m.inputs[i].DType)
		}
		dims[i] = input.Dims
	}
	plan, err := m.executable.Plan(m.config.Threads, dims...)
	if err != nil {
		return nil, err
	}
	if plan.WorkspaceBytes > m.config.MaxWorkspace {
		return nil, array.Invalid("the run takes %d bytes of memory, above the limit of %d", plan.WorkspaceBytes,
			m.config.MaxWorkspace)
	}
	return plan.Outputs, nil
}
