package main

import (
	"io"
	"log"
	"sync"

	"tailor.internal/tailor"
)

// Service serves the model at a path, and replaces it on Reload.
type Service struct {
	path    string
	config  Config
	metrics *Metrics

	mutex    sync.RWMutex
	model    *Model // nil: not loaded yet
	draining bool
}

// NewService makes a service without a model: Reload loads it.
func NewService(path string, config Config) *Service {
	return &Service{path: path, config: config, metrics: NewMetrics()}
}

// Reload loads the model and then replaces the one that is served, which answers the requests that it has. After an error that
// one stays.
func (s *Service) Reload() error {
	loaded, err := OpenModel(s.path, s.config, s.metrics)
	if err != nil {
		return err
	}
	log.Printf("%s: %s", s.path, loaded.describeBatching())
	if old := s.swap(loaded); old != nil {
		if !sameTensors(old.inputs, loaded.inputs) || !sameTensors(old.outputs, loaded.outputs) {
			log.Printf("%s: inputs or outputs are not those of the earlier model: its clients may get errors", s.path)
		}
		go old.Close()
	}
	return nil
}

// sameTensors compares names, element types and ranks.
func sameTensors(a, b []tailor.TensorInfo) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].DType != b[i].DType || len(a[i].Dims) != len(b[i].Dims) {
			return false
		}
	}
	return true
}

func (s *Service) swap(loaded *Model) (old *Model) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	old, s.model = s.model, loaded
	return old
}

// acquire is the model for a request, until users.Done. An error if none is loaded, or the service is draining.
func (s *Service) acquire() (*Model, error) {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	switch {
	case s.draining:
		return nil, errEnding
	case s.model == nil:
		return nil, errLoading
	}
	s.model.users.Add(1)
	return s.model, nil
}

// writeMetrics also works while the service drains.
func (s *Service) writeMetrics(to io.Writer) {
	s.mutex.RLock()
	model := s.model
	if model != nil {
		model.users.Add(1)
		defer model.users.Done()
	}
	s.mutex.RUnlock()
	s.metrics.write(to, model)
}

// Drain refuses requests from now on.
func (s *Service) Drain() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.draining = true
}

func (s *Service) ready() bool {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.model != nil && !s.draining
}

// Close ends the model's workers, once its requests are answered.
func (s *Service) Close() {
	s.Drain()
	if old := s.swap(nil); old != nil {
		old.Close()
	}
}
