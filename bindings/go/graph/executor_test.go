package graph_test

import (
	"strings"
	"sync"
	"testing"

	"tailor.internal/tailor"
)

func TestRuntimesHaveAnExecutor(t *testing.T) {
	var messages []string // of errors
	calls, fail := 0, false
	runtime, err := tailor.NewRuntimeWith(tailor.RuntimeOptions{Threads: 3,
		Log: func(level tailor.LogLevel, text string) {
			if level == tailor.LogError {
				messages = append(messages, text)
			}
		},
		ParallelFor: func(task func(int), count int) {
			if calls++; fail {
				panic("no executor")
			}
			var all sync.WaitGroup
			for i := 0; i < count; i++ {
				all.Add(1)
				go func(i int) {
					defer all.Done()
					task(i)
				}(i)
			}
			all.Wait()
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close()
	executable, x := rowsOfSoftmax(t, runtime)
	serial, err := executable.NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	defer serial.Close()
	divided, err := executable.NewSession(0)
	if err != nil {
		t.Fatal(err)
	}
	defer divided.Close()
	want := tensor(t, tailor.F32, 4096, 64)
	if err := serial.RunInto([]*tailor.Tensor{want}, []*tailor.Tensor{x}); err != nil || calls != 0 {
		t.Fatalf("%d calls for one thread, %v", calls, err)
	}
	for _, fail = range []bool{false, true} {
		for name, run := range map[string]func(outputs, inputs []*tailor.Tensor) error{
			"Session.RunInto": divided.RunInto, "Executable.RunInto": executable.RunInto} {
			calls, messages = 0, nil
			y := tensor(t, tailor.F32, 4096, 64)
			if err := run([]*tailor.Tensor{y}, []*tailor.Tensor{x}); err != nil || calls == 0 {
				t.Errorf("%s: %d calls, %v", name, calls, err)
			}
			for i, element := range slice[float32](t, want) {
				if slice[float32](t, y)[i] != element {
					t.Fatalf("%s, fail %v: element %d differs", name, fail, i)
				}
			}
			if logged := strings.Contains(strings.Join(messages, ""), "panicked: no executor"); logged != fail {
				t.Errorf("%s, fail %v: the log has %q", name, fail, messages)
			}
		}
	}
}
