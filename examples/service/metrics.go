package main

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tailor.internal/tailor"
)

// Metrics are what /metrics shows, in Prometheus's text format. They may be used from many goroutines.
type Metrics struct {
	open int64 // requests in progress; atomic

	mutex    sync.Mutex
	requests map[int]uint64 // by status
	loads    map[string]uint64
	seconds  histogram
	batches  histogram // requests in a batch
	rows     histogram
}

// histogram counts values up to each bound; the last count is that of all values.
type histogram struct {
	bounds []float64
	counts []uint64
	sum    float64
}

func newHistogram(bounds ...float64) histogram {
	return histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

func (h *histogram) add(value float64) {
	for i := sort.SearchFloat64s(h.bounds, value); i < len(h.counts); i++ {
		h.counts[i]++
	}
	h.sum += value
}

func (h *histogram) write(to io.Writer, name, help string) {
	fmt.Fprintf(to, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name)
	for i, bound := range h.bounds {
		fmt.Fprintf(to, "%s_bucket{le=\"%v\"} %d\n", name, bound, h.counts[i])
	}
	count := h.counts[len(h.bounds)]
	fmt.Fprintf(to, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %v\n%s_count %d\n", name, count, name, h.sum, name, count)
}

// NewMetrics makes metrics that are all zero.
func NewMetrics() *Metrics {
	powers := []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}
	return &Metrics{requests: map[int]uint64{}, loads: map[string]uint64{"success": 0, "failure": 0},
		seconds: newHistogram(.0005, .001, .002, .004, .008, .016, .032, .064, .128, .256, .512, 1, 2, 4, 8),
		batches: newHistogram(powers...), rows: newHistogram(powers...)}
}

func (m *Metrics) request(status int, took time.Duration) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.requests[status]++
	m.seconds.add(took.Seconds())
}

func (m *Metrics) batch(requests int, rows int64) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.batches.add(float64(requests))
	m.rows.add(float64(rows))
}

func (m *Metrics) load(err error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err == nil {
		m.loads["success"]++
	} else {
		m.loads["failure"]++
	}
}

// write writes them, with those of the model that is served, which may be nil.
func (m *Metrics) write(to io.Writer, model *Model) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	fmt.Fprint(to, "# HELP tailor_service_requests_total Answered requests by HTTP status.\n"+
		"# TYPE tailor_service_requests_total counter\n")
	statuses := make([]int, 0, len(m.requests))
	for status := range m.requests {
		statuses = append(statuses, status)
	}
	sort.Ints(statuses)
	for _, status := range statuses {
		fmt.Fprintf(to, "tailor_service_requests_total{code=\"%d\"} %d\n", status, m.requests[status])
	}
	m.seconds.write(to, "tailor_service_request_seconds", "Time from a request's headers to its answer.")
	m.batches.write(to, "tailor_service_batch_requests", "Requests in a batch.")
	m.rows.write(to, "tailor_service_batch_rows", "Rows of a batch along the batch symbol.")
	fmt.Fprintf(to, "# HELP tailor_service_loads_total Loads of the model, the first one too.\n"+
		"# TYPE tailor_service_loads_total counter\n"+
		"tailor_service_loads_total{result=\"failure\"} %d\ntailor_service_loads_total{result=\"success\"} %d\n",
		m.loads["failure"], m.loads["success"])
	writeValue(to, "tailor_service_requests_open", "gauge", "Requests in progress.", uint64(atomic.LoadInt64(&m.open)))
	if model != nil {
		writeValue(to, "tailor_service_queue_length", "gauge", "Requests that wait for a batch.", uint64(model.queue.Length()))
		writeCounters(to, model.executable)
	}
	writeValue(to, "process_resident_memory_bytes", "gauge", "Resident memory.", residentBytes())
}

// writeCounters writes the counters of a compiled model. They begin at zero when a model is loaded.
func writeCounters(to io.Writer, executable *tailor.Executable) {
	counters, err := executable.Counters()
	if err != nil {
		return
	}
	for _, metric := range []struct {
		name, kind, help string
		value            uint64
	}{
		{"tailor_runs_total", "counter", "Runs begun, or refused for their arguments.", counters.Runs},
		{"tailor_failed_runs_total", "counter", "Runs that returned an error.", counters.FailedRuns},
		{"tailor_cancelled_runs_total", "counter", "Runs that were cancelled, or passed their deadline.", counters.CancelledRuns},
		{"tailor_runs_in_progress", "gauge", "Runs in progress.", counters.RunsInProgress},
		{"tailor_sessions", "gauge", "Sessions.", counters.Sessions},
		{"tailor_pooled_sessions", "gauge", "Idle sessions that are kept.", counters.PooledSessions},
		{"tailor_workspace_bytes", "gauge", "Memory of the sessions.", counters.WorkspaceBytes},
		{"tailor_constants_bytes", "gauge", "Constants of the model.", counters.ConstantsBytes},
		{"tailor_shape_cache_misses_total", "counter", "Runs at other dims than the session's previous ones.", counters.ShapeCacheMisses},
		{"tailor_workspace_growths_total", "counter", "Allocations of the sessions' memory.", counters.WorkspaceGrowths},
	} {
		writeValue(to, metric.name, metric.kind, metric.help, metric.value)
	}
}

func writeValue(to io.Writer, name, kind, help string, value uint64) {
	fmt.Fprintf(to, "# HELP %s %s\n# TYPE %s %s\n%s %d\n", name, help, name, kind, name, value)
}

// residentBytes is 0 where /proc is missing.
func residentBytes() uint64 {
	text, _ := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(fields[1], 10, 64)
	return pages * uint64(os.Getpagesize())
}
