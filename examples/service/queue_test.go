package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"tailor.internal/service/array"
	"tailor.internal/tailor"
)

func rowsOf(rows int64) []array.Array { return []array.Array{array.New(tailor.U8, []int64{rows})} }

// queued puts requests of these rows into a queue.
func queued(t *testing.T, q *queue, rows ...int64) []*request {
	t.Helper()
	var all []*request
	for _, count := range rows {
		r := &request{ctx: context.Background(), inputs: rowsOf(count), rows: count, queued: time.Now(), answered: make(chan answer, 1)}
		if err := q.add(r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func testQueue(wait time.Duration) *queue {
	return newQueue(Config{BatchWait: wait, QueueLength: 4}, &batching{inputs: []int{0}, outputs: []int{0}, maxRows: 4})
}

func TestAFullBatchDoesNotWait(t *testing.T) {
	q := testQueue(time.Hour)
	queued(t, q, 1, 2, 2)
	if b := q.take(); len(b.requests) != 2 || q.Length() != 1 {
		t.Errorf("%d requests, %d left", len(b.requests), q.Length())
	}
	queued(t, q, 2)
	if b := q.take(); len(b.requests) != 2 || q.Length() != 0 {
		t.Errorf("%d requests, %d left", len(b.requests), q.Length())
	}
	queued(t, q, 9) // more than a batch holds runs alone
	if b := q.take(); len(b.requests) != 1 {
		t.Errorf("%d requests", len(b.requests))
	}
}

func TestABatchWaitsForItsDeadline(t *testing.T) {
	q := testQueue(time.Hour)
	all := queued(t, q, 1, 1)
	if key, ready := q.oldest(); key == nil || ready <= 0 {
		t.Errorf("a batch is ready at once: %v", ready)
	}
	all[0].queued = time.Now().Add(-time.Hour)
	if b := q.take(); len(b.requests) != 2 || b.requests[0] != all[0] {
		t.Errorf("%d requests", len(b.requests))
	}
}

func TestAFullQueueRefuses(t *testing.T) {
	q := testQueue(time.Hour)
	queued(t, q, 1, 1, 1)
	q.limit = 3
	if _, err := q.run(context.Background(), rowsOf(1), nil); !errors.Is(err, errQueueFull) {
		t.Error(err)
	}
}

func TestRequestsMayLeave(t *testing.T) {
	q := testQueue(time.Hour)
	all := queued(t, q, 1, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := q.run(ctx, rowsOf(1), nil); !errors.Is(err, context.Canceled) || q.Length() != 2 {
		t.Errorf("%v, %d wait", err, q.Length())
	}
	q.leave(all[0])
	queued(t, q, 3)
	b := q.take()
	if len(b.requests) != 2 || b.requests[0] != all[1] {
		t.Fatalf("%d requests", len(b.requests))
	}
	q.leave(b.requests[0])
	if b.ctx.Err() != nil {
		t.Error("the run is cancelled while a request waits for it")
	}
	q.leave(b.requests[1])
	if b.ctx.Err() == nil {
		t.Error("the run is not cancelled when nobody waits for it")
	}
}

func TestAClosedQueueGivesWhatItHas(t *testing.T) {
	q := testQueue(time.Hour)
	queued(t, q, 1)
	q.close()
	if b := q.take(); b == nil || len(b.requests) != 1 {
		t.Error("the request is lost")
	}
	if q.take() != nil {
		t.Error("a batch of nothing")
	}
}
