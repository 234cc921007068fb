package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"tailor.internal/service/array"
)

var errQueueFull = errors.New("too many requests wait")

// request waits for its answer.
type request struct {
	ctx      context.Context
	inputs   []array.Array
	dims     [][]int64 // of the outputs
	rows     int64
	key      string
	queued   time.Time
	answered chan answer // holds one
	batch    *batch      // guarded by the queue's mutex; nil: it waits
}

type answer struct {
	outputs []array.Array
	err     error
}

// batch is requests that run together. Its context is done when nobody waits for any of them.
type batch struct {
	ctx      context.Context
	cancel   context.CancelFunc
	requests []*request
	waiting  int // requests that somebody waits for
}

// queue holds requests until a worker takes a batch of them: of one key, at most maxRows rows, once it is full or its oldest
// request has waited for `wait`. It may be used from many goroutines.
type queue struct {
	batching *batching // nil: batches of one
	wait     time.Duration
	limit    int

	mutex   sync.Mutex // of what follows
	changed *sync.Cond
	groups  map[string][]*request // oldest first; none is empty
	length  int
	closed  bool
}

func newQueue(config Config, batching *batching) *queue {
	q := &queue{batching: batching, wait: config.BatchWait, limit: config.QueueLength, groups: map[string][]*request{}}
	if batching == nil {
		q.wait = 0
	}
	q.changed = sync.NewCond(&q.mutex)
	return q
}

// run waits for the answer to a request.
func (q *queue) run(ctx context.Context, inputs []array.Array, dims [][]int64) ([]array.Array, error) {
	r := &request{ctx: ctx, inputs: inputs, dims: dims, rows: 1, queued: time.Now(), answered: make(chan answer, 1)}
	if q.batching != nil {
		r.rows, r.key = q.batching.rows(inputs), q.batching.key(inputs)
	}
	if err := q.add(r); err != nil {
		return nil, err
	}
	select {
	case a := <-r.answered:
		return a.outputs, a.err
	case <-ctx.Done():
		q.leave(r)
		return nil, ctx.Err()
	}
}

func (q *queue) add(r *request) error {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.length >= q.limit {
		return errQueueFull
	}
	q.groups[r.key] = append(q.groups[r.key], r)
	q.length++
	q.changed.Broadcast()
	return nil
}

// leave ends the wait of a request without its answer.
func (q *queue) leave(r *request) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if r.batch != nil {
		if r.batch.waiting--; r.batch.waiting == 0 {
			r.batch.cancel()
		}
		return
	}
	for i, other := range q.groups[r.key] {
		if other == r {
			q.drop(r.key, i, i+1)
			return
		}
	}
}

// drop removes requests of a group.
func (q *queue) drop(key string, begin, end int) {
	group := append(q.groups[key][:begin:begin], q.groups[key][end:]...)
	q.length -= end - begin
	if q.groups[key] = group; len(group) == 0 {
		delete(q.groups, key)
	}
}

// take waits for a batch; nil: the queue is closed and empty.
func (q *queue) take() *batch {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for {
		key, ready := q.oldest()
		if key == nil && q.closed {
			return nil
		}
		if key != nil && ready <= 0 {
			return q.form(*key)
		}
		var timer *time.Timer
		if key != nil {
			timer = time.AfterFunc(ready, q.changed.Broadcast)
		}
		q.changed.Wait()
		if timer != nil {
			timer.Stop()
		}
	}
}

// oldest is the group that is ready, or becomes ready first, and the time until then.
func (q *queue) oldest() (found *string, ready time.Duration) {
	var queued time.Time
	for key, group := range q.groups {
		key, left := key, q.wait-time.Since(group[0].queued)
		if q.closed || q.fill(group) < len(group) || q.isFull(group) {
			left = 0
		}
		if left < 0 {
			left = 0
		}
		if found == nil || left < ready || left == ready && group[0].queued.Before(queued) {
			found, ready, queued = &key, left, group[0].queued
		}
	}
	return found, ready
}

func (q *queue) isFull(group []*request) bool {
	rows := int64(0)
	for _, r := range group {
		rows += r.rows
	}
	return q.batching == nil || rows >= q.batching.maxRows
}

// fill is the number of requests that the next batch of a group takes: as many as have at most maxRows rows, or one.
func (q *queue) fill(group []*request) int {
	if q.batching == nil {
		return 1
	}
	rows := group[0].rows
	for i, r := range group[1:] {
		if rows += r.rows; rows > q.batching.maxRows {
			return i + 1
		}
	}
	return len(group)
}

func (q *queue) form(key string) *batch {
	count := q.fill(q.groups[key])
	b := &batch{requests: append([]*request{}, q.groups[key][:count]...), waiting: count}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	for _, r := range b.requests {
		r.batch = b
	}
	q.drop(key, 0, count)
	return b
}

// close lets take return the rest, and then nil.
func (q *queue) close() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// Length is the number of requests that wait.
func (q *queue) Length() int {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return q.length
}
