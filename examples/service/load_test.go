package main

import (
	"flag"
	"strings"
	"testing"
	"time"

	"tailor.internal/service/load"
)

var loadDuration = flag.Duration("load", 500*time.Millisecond, "duration of the load test")

func TestMisspeltNamesOfLoadsAreErrors(t *testing.T) {
	_, url := started(t, saved(t, "encoder", encoder), testConfig())
	for want, options := range map[string]load.Options{
		`"T": the inputs have no such symbol; symbols: B, S`: {Sizes: map[string]load.Range{"T": {Min: 1, Max: 3}}},
		`"id": there is no such input; inputs: ids, mask`:    {Max: map[string]int64{"id": 50}},
		`"masks": there is no such input; inputs: ids, mask`: {Ones: []string{"masks"}},
	} {
		options.URL, options.Bodies = url, 1
		if _, err := load.Run(options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %s", err, want)
		}
	}
}

// Under load answers are right, and memory stays after a first half in which it grows to what the largest batches need.
func TestLoad(t *testing.T) {
	_, url := started(t, saved(t, "encoder", encoder), testConfig())
	options := load.Options{URL: url, Duration: *loadDuration, Callers: 8, Bodies: 50, Max: map[string]int64{"ids": 50},
		Ones: []string{"mask"}, Sizes: map[string]load.Range{"B": {Min: 1, Max: 3}, "S": {Min: 1, Max: 60}}}
	var resident [2]uint64
	for i := range resident {
		report, err := load.Run(options)
		if err != nil {
			t.Fatal(err)
		}
		resident[i] = residentBytes()
		t.Logf("%v; %d MiB resident", report, resident[i]>>20)
		if report.Wrong > 0 || report.Requests == 0 || report.Statuses[200] != report.Requests {
			t.Error(report)
		}
	}
	if growth := int64(resident[1]) - int64(resident[0]); growth > 32<<20 {
		t.Errorf("memory grows by %d MiB", growth>>20)
	}
}
