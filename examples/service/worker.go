package main

import (
	"context"

	"tailor.internal/service/array"
	"tailor.internal/tailor"
)

// worker runs batches in a session of its own.
type worker struct {
	session *tailor.Session
	model   *Model
	metrics *Metrics
}

func (w *worker) serve() {
	for b := w.model.queue.take(); b != nil; b = w.model.queue.take() {
		w.run(b)
		b.cancel()
	}
}

func (w *worker) run(b *batch) {
	rows := int64(0)
	requests := make([][]array.Array, len(b.requests))
	for i, r := range b.requests {
		requests[i] = r.inputs
		rows += r.rows
	}
	w.metrics.batch(len(requests), rows)
	if len(requests) == 1 {
		outputs, err := runContext(b.ctx, w.session, requests[0])
		b.requests[0].answered <- answer{outputs, err}
		return
	}
	outputs, err := runContext(b.ctx, w.session, w.model.batching.join(requests))
	if err != nil && b.ctx.Err() == nil { // one of them may be at fault: the others shall not fail
		w.runEach(b)
		return
	}
	first := int64(0)
	for _, r := range b.requests {
		a := answer{err: err}
		if err == nil {
			a.outputs = w.model.batching.split(outputs, r.dims, first, r.rows)
		}
		r.answered <- a
		first += r.rows
	}
}

func (w *worker) runEach(b *batch) {
	for _, r := range b.requests {
		outputs, err := runContext(r.ctx, w.session, r.inputs)
		r.answered <- answer{outputs, err}
	}
}

func runArrays(session *tailor.Session, inputs []array.Array) ([]array.Array, error) {
	return runContext(context.Background(), session, inputs)
}

func runContext(ctx context.Context, session *tailor.Session, inputs []array.Array) ([]array.Array, error) {
	tensors := make([]*tailor.Tensor, len(inputs))
	for i, input := range inputs {
		var err error
		if tensors[i], err = input.Tensor(); err != nil {
			return nil, err
		}
	}
	results, err := session.RunContext(ctx, tensors...)
	if err != nil {
		return nil, err
	}
	outputs := make([]array.Array, len(results))
	for i, result := range results {
		outputs[i] = array.Array{DType: result.DType(), Dims: result.Dims()}
		if outputs[i].Data, err = result.Bytes(); err != nil {
			return nil, err
		}
	}
	return outputs, nil
}
