package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"tailor.internal/service/array"
	"tailor.internal/tailor"
)

const (
	typeJSON = "application/json"
	typeNpy  = "application/x-npy"
	typeNpz  = "application/x-npz"

	statusClientClosedRequest = 499
)

// Handler serves the service's paths.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/infer", s.infer)
	mux.HandleFunc("/v1/model", s.describe)
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("/readyz", s.readiness)
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		var text bytes.Buffer // a client that reads slowly must not hold the metrics
		s.writeMetrics(&text)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write(text.Bytes())
	})
	return mux
}

func (s *Service) readiness(w http.ResponseWriter, _ *http.Request) {
	if !s.ready() {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ready\n")
}

func (s *Service) infer(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	atomic.AddInt64(&s.metrics.open, 1)
	defer atomic.AddInt64(&s.metrics.open, -1)
	status := http.StatusOK
	body, contentType, err := s.answer(w, r)
	if err != nil {
		status = statusOf(err)
		body, contentType = errorBody(err), typeJSON
	}
	s.metrics.request(status, time.Since(began))
	write(w, status, contentType, body)
}

func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

var (
	errLoading   = errors.New("the model is not loaded yet")
	errEnding    = errors.New("the service is ending")
	errNotPosted = errors.New("use POST")
)

type unsupportedType struct{ text string }

func (e unsupportedType) Error() string {
	return "Content-Type " + e.text + " is none of " + strings.Join([]string{typeJSON, typeNpy, typeNpz}, ", ")
}

// answer is the body of a successful answer.
func (s *Service) answer(w http.ResponseWriter, r *http.Request) (body []byte, contentType string, err error) {
	if r.Method != http.MethodPost {
		return nil, "", errNotPosted
	}
	model, err := s.acquire()
	if err != nil {
		return nil, "", err
	}
	defer model.users.Done()
	ctx := r.Context()
	if s.config.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.config.Timeout)
		defer cancel()
	}
	given, err := s.contentType(r)
	if err != nil {
		return nil, "", err
	}
	content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.config.MaxBody))
	if err != nil {
		return nil, "", readError(err)
	}
	if given == "" {
		given = typeOf(content)
	}
	inputs, err := model.parse(given, content, s.config.MaxBody)
	if err != nil {
		return nil, "", err
	}
	dims, err := model.check(inputs)
	if err != nil {
		return nil, "", err
	}
	outputs, err := model.queue.run(ctx, inputs, dims)
	if err != nil {
		return nil, "", err
	}
	return model.format(outputs, r, given)
}

func readError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return array.ErrTooLarge
	}
	return array.Invalid("the body cannot be read: %v", err)
}

// contentType is empty if the client named none: the content tells.
func (s *Service) contentType(r *http.Request) (string, error) {
	text := r.Header.Get("Content-Type")
	given, _, _ := mime.ParseMediaType(text)
	switch given {
	case typeJSON, typeNpy, typeNpz:
		return given, nil
	case "", "application/x-www-form-urlencoded": // curl's default
		return "", nil
	case "text/json":
		return typeJSON, nil
	case "application/octet-stream":
		return typeNpy, nil
	case "application/zip":
		return typeNpz, nil
	}
	return "", unsupportedType{text}
}

func typeOf(content []byte) string {
	switch {
	case array.IsNpy(content):
		return typeNpy
	case array.IsNpz(content):
		return typeNpz
	}
	return typeJSON
}

// parse reads the inputs of a body, in the model's order.
func (m *Model) parse(contentType string, content []byte, limit int64) ([]array.Array, error) {
	switch contentType {
	case typeNpy:
		if len(m.inputs) != 1 {
			return nil, array.Invalid("the model has %d inputs: send them as %s (numpy.savez) or %s", len(m.inputs), typeNpz, typeJSON)
		}
		only, err := array.ParseNpy(content, m.inputs[0].Name)
		return []array.Array{only}, err
	case typeNpz:
		arrays, err := array.ParseNpz(content, limit)
		if err != nil {
			return nil, err
		}
		return inOrder(m.inputs, arrays, func(_ tailor.TensorInfo, a array.Array) (array.Array, error) { return a, nil })
	}
	given, err := inputsOfJSON(content)
	if err != nil {
		return nil, err
	}
	return inOrder(m.inputs, given, func(info tailor.TensorInfo, text json.RawMessage) (array.Array, error) {
		return array.ParseJSON(text, info)
	})
}

func inputsOfJSON(content []byte) (map[string]json.RawMessage, error) {
	const form = `{"inputs": {name: nested lists}}`
	var body struct {
		Inputs map[string]json.RawMessage `json:"inputs"`
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err == io.EOF {
		return nil, array.Invalid("the body is empty, expected %s", form)
	} else if err != nil {
		return nil, array.Invalid("the body is not %s: %v", form, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, array.Invalid("the body is not %s alone: more follows at byte %d", form, decoder.InputOffset())
	}
	return body.Inputs, nil
}

// inOrder finds each input by its name, and no other.
func inOrder[T any](infos []tailor.TensorInfo, given map[string]T, read func(tailor.TensorInfo, T) (array.Array, error)) ([]array.Array, error) {
	inputs := make([]array.Array, len(infos))
	for i, info := range infos {
		value, found := given[info.Name]
		if !found {
			return nil, missing(info, given)
		}
		delete(given, info.Name)
		var err error
		if inputs[i], err = read(info, value); err != nil {
			return nil, err
		}
	}
	for name := range given {
		return nil, array.Invalid("the model has no input %q", name)
	}
	return inputs, nil
}

func missing[T any](info tailor.TensorInfo, given map[string]T) error {
	text := fmt.Sprintf("input %q is missing: %v [%s]", info.Name, info.DType, strings.Join(info.Dims, ", "))
	names := make([]string, 0, len(given))
	for name := range given {
		names = append(names, strconv.Quote(name))
	}
	sort.Strings(names)
	if _, unnamed := given["arr_0"]; unnamed {
		text += fmt.Sprintf("; name the arrays: numpy.savez(file, **{%q: x})", info.Name)
	} else if len(names) > 0 {
		text += "; the request also has " + strings.Join(names, ", ")
	}
	return array.Invalid("%s", text)
}

// format writes the outputs that the query asks for, or all, in the type that the client accepts, or that it sent.
func (m *Model) format(outputs []array.Array, r *http.Request, contentType string) ([]byte, string, error) {
	var names []string
	var arrays []array.Array
	wanted := r.URL.Query().Get("outputs")
	for i, info := range m.outputs {
		if wanted == "" || contains(strings.Split(wanted, ","), info.Name) {
			names, arrays = append(names, info.Name), append(arrays, outputs[i])
		}
	}
	if wanted != "" && len(names) != len(strings.Split(wanted, ",")) {
		return nil, "", array.Invalid("outputs=%s: the model has the outputs %s", wanted, strings.Join(namesOf(m.outputs), ","))
	}
	for _, accepted := range []string{typeJSON, typeNpy, typeNpz} {
		if strings.Contains(r.Header.Get("Accept"), accepted) {
			contentType = accepted
		}
	}
	if contentType == typeNpy && len(arrays) != 1 {
		contentType = typeNpz
	}
	switch contentType {
	case typeNpy:
		return arrays[0].AppendNpy(nil), typeNpy, nil
	case typeNpz:
		var body bytes.Buffer
		err := array.WriteNpz(&body, names, arrays)
		return body.Bytes(), typeNpz, err
	}
	return outputsAsJSON(names, arrays), typeJSON, nil
}

func outputsAsJSON(names []string, arrays []array.Array) []byte {
	body := []byte(`{"outputs":{`)
	for i, a := range arrays {
		if i > 0 {
			body = append(body, ',')
		}
		name, _ := json.Marshal(names[i])
		body = append(append(body, name...), ':')
		body = a.AppendJSON(body)
	}
	return append(body, "}}\n"...)
}

func contains(list []string, text string) bool {
	for _, other := range list {
		if other == text {
			return true
		}
	}
	return false
}

func namesOf(infos []tailor.TensorInfo) []string {
	names := make([]string, len(infos))
	for i, info := range infos {
		names[i] = info.Name
	}
	return names
}

func (s *Service) describe(w http.ResponseWriter, _ *http.Request) {
	model, err := s.acquire()
	if err != nil {
		write(w, http.StatusServiceUnavailable, typeJSON, errorBody(err))
		return
	}
	defer model.users.Done()
	type tensor struct {
		Name  string   `json:"name"`
		DType string   `json:"dtype"`
		Dims  []string `json:"dims"`
	}
	var body struct {
		Inputs   []tensor `json:"inputs"`
		Outputs  []tensor `json:"outputs"`
		Batching string   `json:"batching"`
	}
	for _, info := range model.inputs {
		body.Inputs = append(body.Inputs, tensor{info.Name, info.DType.String(), append([]string{}, info.Dims...)})
	}
	for _, info := range model.outputs {
		body.Outputs = append(body.Outputs, tensor{info.Name, info.DType.String(), append([]string{}, info.Dims...)})
	}
	body.Batching = model.describeBatching()
	w.Header().Set("Content-Type", typeJSON)
	_ = json.NewEncoder(w).Encode(body)
}

// statusOf is the HTTP status for an error.
func statusOf(err error) int {
	var client array.Error
	var unsupported unsupportedType
	switch {
	case errors.As(err, &client), errors.Is(err, tailor.InvalidArgument), errors.Is(err, tailor.OutOfRange):
		return http.StatusBadRequest
	case errors.As(err, &unsupported):
		return http.StatusUnsupportedMediaType
	case errors.Is(err, errNotPosted):
		return http.StatusMethodNotAllowed
	case errors.Is(err, array.ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errQueueFull):
		return http.StatusTooManyRequests
	case errors.Is(err, errLoading), errors.Is(err, errEnding), errors.Is(err, tailor.ResourceExhausted):
		return http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	case errors.Is(err, context.Canceled):
		return statusClientClosedRequest
	}
	return http.StatusInternalServerError
}

func errorBody(err error) []byte {
	text := err.Error()
	var failure *tailor.Error
	if errors.As(err, &failure) {
		text = failure.Message
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // "<f4" stays readable; nothing is shown as HTML
	_ = encoder.Encode(map[string]string{"error": text})
	return body.Bytes()
}
