package graph_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tailor.internal/tailor"
	"tailor.internal/tailor/graph"
)

// longRun is a session, and an input with which its run takes long: of launches that do not join.
func longRun(t *testing.T, options tailor.SessionOptions) (s *tailor.Session, x *tailor.Tensor) {
	const width = 256
	g := newGraph(t, "long")
	w := graph.Constant(g, "w", numbers(1, width*width, 0.01), width, width)
	y := g.Input("x", tailor.F32, g.Symbol("N", nil), graph.Int(width))
	for i := 0; i < 12; i++ {
		y = y.Dot(w, nil).Sub(y.ReduceMean([]int64{0}, &graph.ReduceMeanOptions{KeepDims: 1}))
	}
	g.Output("y", y)
	e, err := g.Compile(&graph.CompileOptions{Targets: []string{"host"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	s, err = e.NewSessionWith(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, must(tailor.NewTensor(tailor.F32, 5000, width))
}

func TestContextsEndRuns(t *testing.T) {
	for _, threads := range []int{1, 2} {
		var cancel context.CancelFunc
		var cancelledAt time.Time
		first := func(event tailor.TraceEvent) {
			if event.Launch == 2 && cancel != nil {
				cancelledAt = time.Now()
				cancel()
			}
		}
		s, x := longRun(t, tailor.SessionOptions{Threads: threads, Trace: first})
		began := time.Now()
		if _, err := s.Run(x); err != nil {
			t.Fatal(err)
		}
		whole := time.Since(began)
		for i := 0; i < 5; i++ {
			var ctx context.Context
			ctx, cancel = context.WithCancel(context.Background())
			_, err := s.RunContext(ctx, x)
			t.Logf("%d threads: cancelled after %v, of %v", threads, time.Since(cancelledAt), whole)
			if !errors.Is(err, context.Canceled) || !errors.Is(err, tailor.Cancelled) {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithTimeout(context.Background(), whole/20)
		_, err := s.RunContext(ctx, x)
		stop()
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		cancel = nil
		if _, err := s.RunContext(context.Background(), x); err != nil {
			t.Errorf("a run after that: %v", err)
		}
	}
}

func TestSessionsHaveTimeouts(t *testing.T) {
	s, x := longRun(t, tailor.SessionOptions{Timeout: time.Millisecond})
	_, err := s.Run(x)
	if !errors.Is(err, tailor.DeadlineExceeded) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := s.SetTimeout(0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(x); err != nil {
		t.Error(err)
	}
	if err := s.SetTimeout(-1); !errors.Is(err, tailor.InvalidArgument) {
		t.Error(err)
	}
}

func TestCancelMeetsTheNextRun(t *testing.T) {
	s, _ := longRun(t, tailor.SessionOptions{})
	x := must(tailor.NewTensor(tailor.F32, 1, 256))
	if err := s.Cancel(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(x); !errors.Is(err, tailor.Cancelled) {
		t.Error(err)
	}
	must(s.Run(x))
	_, _ = s.Cancel(), s.Uncancel()
	must(s.Run(x))
	ctx, cancel := context.WithCancel(context.Background())
	for i := 0; i < 100; i++ { // a context that ends just when the run does leaves nothing behind
		go cancel()
		_, _ = s.RunContext(ctx, x)
		must(s.Run(x))
		ctx, cancel = context.WithCancel(context.Background())
	}
	cancel()
	s.Close()
	if err := s.Cancel(); !errors.Is(err, tailor.InvalidArgument) {
		t.Error(err)
	}
}
