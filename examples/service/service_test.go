package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tailor.internal/service/array"
	"tailor.internal/tailor"
)

var encoderInputs = []string{"ids", "mask"}

// encoderCase is requests of mixed lengths and the answers to each alone.
type encoderCase struct {
	bodies    [][]byte
	want      []array.Array // of hidden
	tolerance float64
}

func encoderCases(t testing.TB, path string, count int) encoderCase {
	random := rand.New(rand.NewSource(5))
	var requests [][]array.Array
	for i := 0; i < count; i++ {
		requests = append(requests, encoderRequest(random, 1+int64(random.Intn(3)), 1+int64(random.Intn(40))))
	}
	var c encoderCase
	for i, outputs := range alone(t, path, requests) {
		c.bodies = append(c.bodies, npzOf(encoderInputs, requests[i]))
		c.want = append(c.want, outputs[0])
	}
	return c
}

// ask posts request i, and says whether the answer is that of the request alone.
func (c *encoderCase) ask(t testing.TB, url string, i int) bool {
	i %= len(c.bodies)
	request := must(http.NewRequest(http.MethodPost, url+"/v1/infer", bytes.NewReader(c.bodies[i])))
	request.Header.Set("Content-Type", typeNpz)
	request.Header.Set("Accept", typeNpy)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return false
	}
	defer answer.Body.Close()
	body := must(io.ReadAll(answer.Body))
	hidden, err := array.ParseNpy(body, "hidden")
	if answer.StatusCode != http.StatusOK || err != nil || !hidden.Near(c.want[i], c.tolerance) {
		t.Errorf("request %d: status %d, %.100q", i, answer.StatusCode, body)
		return false
	}
	return true
}

func TestAnswersAreThoseOfRequestsAlone(t *testing.T) {
	path := saved(t, "encoder", encoder)
	c := encoderCases(t, path, 40)
	for _, pad := range []string{"", "S:mask"} {
		config := testConfig()
		config.Pad, config.BatchWait = pad, 5*time.Millisecond
		if pad != "" {
			c.tolerance = padTolerance
		}
		service, url := started(t, path, config)
		concurrently(12, func(number int) bool { return c.ask(t, url, number) && number < 400 })
		if service.metrics.batches.counts[0] == service.metrics.batches.counts[len(service.metrics.batches.bounds)] {
			t.Errorf("pad %q: no requests were joined", pad)
		}
	}
}

func TestRequestsAreReadAndWrittenInAllTypes(t *testing.T) {
	_, url := started(t, saved(t, "encoder", encoder), testConfig())
	status, body := post(t, url+"/v1/infer", typeJSON, []byte(`{"inputs": {"ids": [[1, 2]], "mask": [[1, 1]]}}`))
	var answer struct {
		Outputs map[string][][][]float32
	}
	if err := json.Unmarshal(body, &answer); status != http.StatusOK || err != nil || len(answer.Outputs["hidden"][0]) != 2 {
		t.Errorf("%d %s %v", status, body, err)
	}
	if _, text := get(url + "/metrics"); !strings.Contains(text, `tailor_service_requests_total{code="200"} 1`) ||
		!strings.Contains(text, "# TYPE tailor_workspace_bytes gauge") || !strings.Contains(text, "tailor_sessions 2\n") {
		t.Error(text)
	}
	description := must(http.Get(url + "/v1/model"))
	defer description.Body.Close()
	if body := must(io.ReadAll(description.Body)); !strings.Contains(string(body), `{"name":"ids","dtype":"i64","dims":["B","S"]}`) {
		t.Errorf("%s", body)
	}
}

// slowClient takes what is written once another request has been counted.
type slowClient struct {
	*httptest.ResponseRecorder
	service *Service
}

func (c slowClient) Write(text []byte) (int, error) {
	c.service.metrics.request(http.StatusOK, time.Millisecond)
	return c.ResponseRecorder.Write(text)
}

func TestAClientThatReadsMetricsSlowlyHoldsUpNobody(t *testing.T) {
	service, written := NewService("", testConfig()), make(chan bool)
	client := slowClient{httptest.NewRecorder(), service}
	go func() {
		service.Handler().ServeHTTP(client, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		close(written)
	}()
	select {
	case <-written:
	case <-time.After(10 * time.Second):
		t.Fatal("the metrics are locked while the client reads")
	}
	if text := client.Body.String(); !strings.Contains(text, "tailor_service_requests_open 0\n") {
		t.Error(text)
	}
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	config := testConfig()
	config.MaxBody = 4000
	_, url := started(t, saved(t, "encoder", encoder), config)
	for _, c := range []struct {
		status     int
		text       string
		path, kind string
		body       string
	}{
		{400, `input \"mask\" is missing: i64 [B, S]`, "", typeJSON, `{"inputs": {"ids": [[1]]}}`},
		{400, `no input \"x\"`, "", typeJSON, `{"inputs": {"ids": [[1]], "mask": [[1]], "x": 1}}`},
		{400, `input \"mask\"`, "", typeJSON, `{"inputs": {"ids": [[1, 2]], "mask": [[1]]}}`},
		{400, `input \"ids\": along dim 1 there are lists of 2 and of 1`, "", typeJSON, `{"inputs": {"ids": [[1, 2], [1]], "mask": [[1]]}}`},
		{400, "rank", "", typeJSON, `{"inputs": {"ids": [1], "mask": [[1]]}}`},
		{400, `input \"ids\": element 1`, "", typeJSON, `{"inputs": {"ids": [[1, 1.5]], "mask": [[1, 1]]}}`},
		{400, "is not {", "", typeJSON, `{"inputs": `},
		{400, "is not {", "", typeJSON, `{"input": {}}`},
		{400, "the body is empty, expected {", "", typeJSON, ""},
		{400, "more follows at byte", "", typeJSON, `{"inputs": {"ids": [[1]], "mask": [[1]]}} {}`},
		{400, `input \"ids\" is missing: i64 [B, S]; the request also has \"id\", \"mask\"`, "", typeJSON, `{"inputs": {"id": [[1]], "mask": [[1]]}}`},
		{400, `name the arrays: numpy.savez(file, **{\"ids\": x})`, "", typeNpz, string(npzOf([]string{"arr_0"}, []array.Array{array.New(tailor.I64, []int64{1, 1})}))},
		{400, "the model has 2 inputs", "", typeNpy, "x"},
		{400, "no .npz file", "", typeNpz, "x"},
		{400, "the model has the outputs hidden", "?outputs=y", typeJSON, `{"inputs": {"ids": [[1]], "mask": [[1]]}}`},
		{413, "larger than the limit", "", typeJSON, strings.Repeat(" ", 5000)},
		{415, "text/html", "", "text/html", "x"},
	} {
		status, body := post(t, url+"/v1/infer"+c.path, c.kind, []byte(c.body))
		if status != c.status || !strings.Contains(string(body), c.text) || !strings.HasPrefix(string(body), `{"error":`) {
			t.Errorf("%s gives %d %s", c.body, status, body)
		}
	}
	answer := must(http.Get(url + "/v1/infer"))
	answer.Body.Close()
	if answer.StatusCode != http.StatusMethodNotAllowed || answer.Header.Get("Allow") != "POST" {
		t.Error(answer.Status, answer.Header)
	}
}

// curl --data-binary @x.npz names no type of its own.
func TestFilesOfNumpyNeedNoContentType(t *testing.T) {
	path := saved(t, "encoder", encoder)
	c := encoderCases(t, path, 1)
	_, url := started(t, path, testConfig())
	for _, kind := range []string{"", "application/x-www-form-urlencoded"} {
		status, body := post(t, url+"/v1/infer?outputs=hidden", kind, c.bodies[0])
		arrays, err := array.ParseNpz(body, 1<<20)
		if status != http.StatusOK || err != nil || !arrays["hidden"].Equal(c.want[0]) {
			t.Errorf("%q: %d %.100q", kind, status, body)
		}
	}
	_, url = started(t, saved(t, "centred", centred), testConfig())
	status, body := post(t, url+"/v1/infer", "application/x-www-form-urlencoded", array.New(tailor.F32, []int64{2, width}).AppendNpy(nil))
	if y, err := array.ParseNpy(body, "y"); status != http.StatusOK || err != nil || y.Count() != 2*width {
		t.Errorf("%d %.100q", status, body)
	}
	big := bytes.Replace(array.New(tailor.F32, []int64{2, width}).AppendNpy(nil), []byte("<f4"), []byte(">f4"), 1)
	if status, body := post(t, url+"/v1/infer", typeNpy, big); status != 400 || !strings.Contains(string(body), `is big-endian (\">f4\"): send x.astype(\"<f4\")`) {
		t.Errorf("%d %s", status, body)
	}
}

func TestReadinessSaysWhy(t *testing.T) {
	service := NewService("none.tlr", testConfig())
	server := httptest.NewServer(service.Handler())
	defer server.Close()
	for _, want := range []string{"not loaded yet", "is ending"} {
		for _, path := range []string{"/v1/infer", "/v1/model"} {
			status, body := post(t, server.URL+path, typeJSON, nil)
			if status != http.StatusServiceUnavailable || !strings.Contains(string(body), want) || !strings.HasPrefix(string(body), `{"error":`) {
				t.Errorf("%s: %d %s", path, status, body)
			}
		}
		service.Drain()
	}
}

func TestPublicKeysAreReadAsKeygenWritesThem(t *testing.T) {
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	coded := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must(x509.MarshalPKIXPublicKey(public))})
	for _, text := range [][]byte{coded, []byte(hex.EncodeToString(public) + "\n")} {
		if key, err := parsePublicKey(text); err != nil || !bytes.Equal(key, public) {
			t.Errorf("%s gives %x %v", text, key, err)
		}
	}
	elliptic := must(ecdsa.GenerateKey(elliptic.P256(), rand.New(rand.NewSource(1))))
	other := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must(x509.MarshalPKIXPublicKey(elliptic.Public()))})
	for _, text := range [][]byte{other, []byte("00"), []byte("key"), coded[:60]} {
		if key, err := parsePublicKey(text); err == nil {
			t.Errorf("%s gives %x", text, key)
		}
	}
}

func TestOneWrongRequestFailsAlone(t *testing.T) {
	config := testConfig()
	config.Sessions, config.BatchWait = 1, 20*time.Millisecond
	_, url := started(t, saved(t, "encoder", encoder), config)
	concurrently(8, func(number int) bool {
		id, want := 1, http.StatusOK
		if number%8 == 3 {
			id, want = 1000, http.StatusBadRequest // beyond the embedding
		}
		status, body := post(t, url+"/v1/infer", typeJSON, []byte(fmt.Sprintf(`{"inputs": {"ids": [[%d]], "mask": [[1]]}}`, id)))
		if status != want {
			t.Errorf("id %d gives %d %s", id, status, body)
		}
		return number < 32
	})
}

func TestLimitsGiveStatuses(t *testing.T) {
	path := saved(t, "encoder", encoder)
	body := []byte(`{"inputs": {"ids": [[1]], "mask": [[1]]}}`)
	config := testConfig()
	config.QueueLength, config.BatchWait = 1, 300*time.Millisecond
	service, url := started(t, path, config)
	var refused int32
	concurrently(8, func(number int) bool {
		if status, _ := post(t, url+"/v1/infer", typeJSON, body); status == http.StatusTooManyRequests {
			atomic.AddInt32(&refused, 1)
		}
		return number < 8
	})
	if refused == 0 {
		t.Error("no request is refused")
	}
	service.Drain()
	if status, _ := post(t, url+"/v1/infer", typeJSON, body); status != http.StatusServiceUnavailable {
		t.Errorf("a service that ends gives %d", status)
	}
	config.Timeout = time.Millisecond
	config.BatchWait = time.Minute
	_, url = started(t, path, config)
	if status, _ := post(t, url+"/v1/infer", typeJSON, body); status != http.StatusGatewayTimeout {
		t.Errorf("a late request gives %d", status)
	}
	config = testConfig()
	config.MaxWorkspace = 1
	_, url = started(t, path, config)
	if status, text := post(t, url+"/v1/infer", typeJSON, body); status != http.StatusBadRequest || !strings.Contains(string(text), "above the limit of 1") {
		t.Errorf("a large request gives %d %s", status, text)
	}
}

func TestClientsMayGo(t *testing.T) {
	config := testConfig()
	config.BatchWait = time.Minute
	service, url := started(t, saved(t, "encoder", encoder), config)
	ctx, cancel := context.WithCancel(context.Background())
	request := must(http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/infer", strings.NewReader(`{"inputs": {"ids": [[1]], "mask": [[1]]}}`)))
	go func() {
		for service.model.queue.Length() == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if _, err := http.DefaultClient.Do(request); err == nil {
		t.Error("an answer")
	}
	for service.model.queue.Length() > 0 {
		time.Sleep(time.Millisecond)
	}
}

func TestReloadsLoseNoRequest(t *testing.T) {
	path := saved(t, "encoder", encoder)
	c := encoderCases(t, path, 20)
	service, url := started(t, path, testConfig())
	done := make(chan bool)
	go func() {
		defer close(done)
		for i := 0; i < 20; i++ {
			if err := service.Reload(); err != nil {
				t.Error(err)
			}
		}
	}()
	concurrently(8, func(number int) bool {
		select {
		case <-done:
			return false
		default:
			return c.ask(t, url, number)
		}
	})
	var text bytes.Buffer
	log.SetOutput(&text)
	defer log.SetOutput(io.Discard)
	for _, other := range []string{path, saved(t, "centred", centred), path} {
		earlier := service.path
		service.path = other
		text.Reset()
		if err := service.Reload(); err != nil || strings.Contains(text.String(), "not those of the earlier model") != (other != earlier) {
			t.Error(err, text.String())
		}
	}
	service.path = filepath.Join(t.TempDir(), "none.tlr")
	if err := service.Reload(); err == nil || !c.ask(t, url, 0) {
		t.Errorf("a missing file: %v", err)
	}
}

// process is a service of its own process.
func process(t *testing.T, arguments ...string) (*exec.Cmd, string) {
	t.Helper()
	command := exec.Command(os.Args[0], append([]string{"-address", "127.0.0.1:0"}, arguments...)...)
	command.Env = append(os.Environ(), "TAILOR_SERVICE_MAIN=1")
	output := must(command.StderrPipe())
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	text := make([]byte, 0, 4096)
	address := regexp.MustCompile(`listening on (\S+)`)
	for address.Find(text) == nil {
		part := make([]byte, 1024)
		count, err := output.Read(part)
		if text = append(text, part[:count]...); err != nil {
			t.Fatalf("%s", text)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, output) }()
	return command, string(address.FindSubmatch(text)[1])
}

func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func get(url string) (int, string) {
	answer, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	return answer.StatusCode, string(must(io.ReadAll(answer.Body)))
}

func TestSignalsReloadAndEnd(t *testing.T) {
	path := saved(t, "encoder", encoder)
	c := encoderCases(t, path, 20)
	command, url := process(t, "-batch-wait", "2ms", path)
	waitFor(t, "ready", func() bool { status, _ := get(url + "/readyz"); return status == http.StatusOK })
	reloaded := func(count string) bool {
		_, text := get(url + "/metrics")
		return strings.Contains(text, "tailor_service_loads_total{result=\"success\"} "+count)
	}
	var asked int32
	ended := make(chan bool)
	go func() {
		defer close(ended)
		concurrently(4, func(number int) bool {
			if asked := atomic.LoadInt32(&asked); asked != 0 {
				return false
			}
			return c.ask(t, url, number)
		})
	}()
	for _, count := range []string{"2", "3"} {
		_ = command.Process.Signal(syscall.SIGHUP)
		waitFor(t, "reload "+count, func() bool { return reloaded(count) })
	}
	atomic.StoreInt32(&asked, 1)
	<-ended
	slow := make(chan int, 1)
	reader, writer := io.Pipe()
	go func() { // a request that is open when the service ends
		answer, err := http.Post(url+"/v1/infer", typeNpz, reader)
		if err != nil {
			slow <- 0
			return
		}
		answer.Body.Close()
		slow <- answer.StatusCode
	}()
	waitFor(t, "open request", func() bool {
		_, text := get(url + "/metrics")
		return strings.Contains(text, "tailor_service_requests_open 1")
	})
	_ = command.Process.Signal(syscall.SIGTERM)
	waitFor(t, "end", func() bool { status, _ := get(url + "/readyz"); return status != http.StatusOK })
	_, _ = writer.Write(c.bodies[0])
	_ = writer.Close()
	if status := <-slow; status != http.StatusOK {
		t.Errorf("the open request gives %d", status)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("the service ends with %v", err)
	}
}

func TestAModelThatIsNoneEndsTheProcess(t *testing.T) {
	command, _ := process(t, filepath.Join(t.TempDir(), "none.onnx"))
	if err := command.Wait(); err == nil {
		t.Error("it ends without an error")
	}
	garbage := filepath.Join(t.TempDir(), "garbage.onnx")
	if err := os.WriteFile(garbage, []byte("hello"), 0o666); err != nil {
		t.Fatal(err)
	}
	loads := make(chan bool, 1)
	loads <- true
	if err := NewService(garbage, testConfig()).load(loads); err == nil || !strings.HasPrefix(err.Error(), garbage+": ") {
		t.Error(err)
	}
}

func TestONNXModelsAreServed(t *testing.T) {
	models := os.Getenv("TAILOR_TEST_MODELS")
	if models == "" {
		t.Skip("TAILOR_TEST_MODELS is not set")
	}
	_, url := started(t, filepath.Join(models, "scale.onnx"), testConfig())
	status, body := post(t, url+"/v1/infer", typeJSON, []byte(`{"inputs": {"x": [[1, 1, 1, 1]]}}`))
	if status != http.StatusOK || !strings.Contains(string(body), "[[1,2,3,4]]") {
		t.Errorf("%d %s", status, body)
	}
	err := NewService(filepath.Join(models, "sum.onnx"), testConfig()).Reload()
	if err == nil || !strings.Contains(err.Error(), "-fixed axes=file.npy") {
		t.Error(err)
	}
}
