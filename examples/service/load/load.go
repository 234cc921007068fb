// Package load sends requests of random sizes to the service and measures its answers.
package load

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"tailor.internal/service/array"
	"tailor.internal/tailor"
)

// Options say what to send.
type Options struct {
	URL      string // "http://127.0.0.1:8080"
	Duration time.Duration
	Callers  int
	Sizes    map[string]Range // by symbol; others are 1
	Max      map[string]int64 // by input: its integers are below this; others are 0 or 1
	Ones     []string         // inputs of ones: masks
	Bodies   int              // different requests
	// Tolerance of floats, as for padded requests: array.Array.Near. 0: answers have the same bits.
	Tolerance float64
	Seed      int64
}

// Range is the sizes from Min to Max.
type Range struct{ Min, Max int64 }

// Report is what was measured.
type Report struct {
	Requests           int
	Wrong              int         // answers that differ from the answer to that request alone
	Statuses           map[int]int // 0: no answer
	Seconds            float64
	Throughput         float64 // answers with status 200 per second
	P50, P90, P99, Max time.Duration
}

func (r Report) String() string {
	statuses := make([]string, 0, len(r.Statuses))
	for status, count := range r.Statuses {
		statuses = append(statuses, fmt.Sprintf("%d of status %d", count, status))
	}
	sort.Strings(statuses)
	return fmt.Sprintf("%d requests in %.1f s: %.0f/s, P50 %v, P90 %v, P99 %v, max %v; %s; %d wrong answers", r.Requests,
		r.Seconds, r.Throughput, r.P50, r.P90, r.P99, r.Max, strings.Join(statuses, ", "), r.Wrong)
}

// Run sends requests from all callers until the time is over. Each request was first sent alone; answers must equal that one's.
func Run(options Options) (Report, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: options.Callers}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	bodies, err := options.bodies(client)
	if err != nil {
		return Report{}, err
	}
	var want [][]byte
	for _, body := range bodies {
		status, answer := post(client, options.URL, body)
		if status != http.StatusOK {
			return Report{}, fmt.Errorf("a request alone gives status %d: %s", status, answer)
		}
		want = append(want, answer)
	}
	began := time.Now()
	end := began.Add(options.Duration)
	var group sync.WaitGroup
	all := make([]caller, options.Callers)
	for i := range all {
		group.Add(1)
		all[i].statuses = map[int]int{}
		go func(c *caller, seed int64) {
			defer group.Done()
			c.send(client, &options, bodies, want, end, rand.New(rand.NewSource(seed)))
		}(&all[i], options.Seed+int64(i))
	}
	group.Wait()
	return report(all, time.Since(began)), nil
}

type caller struct {
	statuses map[int]int
	took     []time.Duration
	wrong    int
}

func (c *caller) send(client *http.Client, options *Options, bodies, want [][]byte, end time.Time, random *rand.Rand) {
	for time.Now().Before(end) {
		i := random.Intn(len(bodies))
		began := time.Now()
		status, answer := post(client, options.URL, bodies[i])
		c.took = append(c.took, time.Since(began))
		c.statuses[status]++
		if status == http.StatusOK && !options.right(answer, want[i]) {
			c.wrong++
		}
	}
}

// right compares two .npz files.
func (o *Options) right(answer, want []byte) bool {
	if bytes.Equal(answer, want) || o.Tolerance == 0 {
		return bytes.Equal(answer, want)
	}
	got, err := array.ParseNpz(answer, math.MaxInt64-1)
	wanted, other := array.ParseNpz(want, math.MaxInt64-1)
	if err != nil || other != nil || len(got) != len(wanted) {
		return false
	}
	for name, a := range got {
		if b, found := wanted[name]; !found || !a.Near(b, o.Tolerance) {
			return false
		}
	}
	return true
}

func report(all []caller, took time.Duration) Report {
	r := Report{Statuses: map[int]int{}, Seconds: took.Seconds()}
	var times []time.Duration
	for _, c := range all {
		for status, count := range c.statuses {
			r.Statuses[status] += count
		}
		times = append(times, c.took...)
		r.Wrong += c.wrong
	}
	r.Requests = len(times)
	r.Throughput = float64(r.Statuses[http.StatusOK]) / r.Seconds
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	if len(times) > 0 {
		at := func(share float64) time.Duration {
			return times[int(share*float64(len(times)-1))].Round(time.Microsecond)
		}
		r.P50, r.P90, r.P99, r.Max = at(.5), at(.9), at(.99), at(1)
	}
	return r
}

func post(client *http.Client, url string, body []byte) (status int, answer []byte) {
	response, err := client.Post(url+"/v1/infer", "application/x-npz", bytes.NewReader(body))
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	if err != nil {
		return 0, nil
	}
	return response.StatusCode, answer
}

type signature struct {
	Inputs []struct {
		Name, DType string
		Dims        []string
	}
}

// bodies are random requests that fit the model that the service describes.
func (o *Options) bodies(client *http.Client) ([][]byte, error) {
	response, err := client.Get(o.URL + "/v1/model")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var model signature
	if err := json.NewDecoder(response.Body).Decode(&model); err != nil {
		return nil, fmt.Errorf("%s/v1/model: status %d: %w", o.URL, response.StatusCode, err)
	}
	if err := o.check(model); err != nil {
		return nil, err
	}
	random := rand.New(rand.NewSource(o.Seed))
	bodies := make([][]byte, o.Bodies)
	for i := range bodies {
		if bodies[i], err = o.body(model, random); err != nil {
			return nil, err
		}
	}
	return bodies, nil
}

// check is an error for names that the model does not have: a misspelt one would silently measure other requests.
func (o *Options) check(model signature) error {
	inputs, dims := map[string]bool{}, map[string]bool{}
	for _, input := range model.Inputs {
		inputs[input.Name] = true
		for _, dim := range input.Dims {
			if _, err := strconv.ParseInt(dim, 10, 64); err != nil {
				dims[dim] = true
			}
		}
	}
	for symbol := range o.Sizes {
		if !dims[symbol] {
			return fmt.Errorf("sizes of %q: the inputs have no such symbol; symbols: %s", symbol, sorted(dims))
		}
	}
	for input := range o.Max {
		if !inputs[input] {
			return fmt.Errorf("maximum of %q: there is no such input; inputs: %s", input, sorted(inputs))
		}
	}
	for _, input := range o.Ones {
		if !inputs[input] {
			return fmt.Errorf("ones for %q: there is no such input; inputs: %s", input, sorted(inputs))
		}
	}
	return nil
}

func sorted(names map[string]bool) string {
	var list []string
	for name := range names {
		list = append(list, name)
	}
	sort.Strings(list)
	return strings.Join(list, ", ")
}

func (o *Options) body(model signature, random *rand.Rand) ([]byte, error) {
	sizes := map[string]int64{}
	var names []string
	var arrays []array.Array
	for _, input := range model.Inputs {
		dims := make([]int64, len(input.Dims))
		for axis, dim := range input.Dims {
			constant, err := strconv.ParseInt(dim, 10, 64)
			if err == nil {
				dims[axis] = constant
				continue
			}
			if _, known := sizes[dim]; !known {
				sizes[dim] = o.size(dim, random)
			}
			dims[axis] = sizes[dim]
		}
		dtype, known := typeNamed(input.DType)
		if !known {
			return nil, fmt.Errorf("input %q has the element type %s", input.Name, input.DType)
		}
		names, arrays = append(names, input.Name), append(arrays, o.random(input.Name, dtype, dims, random))
	}
	var body bytes.Buffer
	err := array.WriteNpz(&body, names, arrays)
	return body.Bytes(), err
}

func (o *Options) size(symbol string, random *rand.Rand) int64 {
	sizes, given := o.Sizes[symbol]
	if !given {
		return 1
	}
	return sizes.Min + random.Int63n(sizes.Max-sizes.Min+1)
}

func (o *Options) random(input string, dtype tailor.DType, dims []int64, random *rand.Rand) array.Array {
	a := array.Random(dtype, dims, random, strings.Contains(","+strings.Join(o.Ones, ",")+",", ","+input+","))
	if max := o.Max[input]; max > 0 && (dtype == tailor.I64 || dtype == tailor.I32) {
		for i := 0; i < len(a.Data); i += int(dtype.Size()) {
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], uint64(random.Int63n(max)))
			copy(a.Data[i:i+int(dtype.Size())], word[:])
		}
	}
	return a
}

func typeNamed(name string) (tailor.DType, bool) {
	for dtype := tailor.Bool; dtype <= tailor.F64; dtype++ {
		if dtype.String() == name {
			return dtype, true
		}
	}
	return 0, false
}
