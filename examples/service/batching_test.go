package main

import (
	"bytes"
	"math/rand"
	"strings"
	"testing"

	"tailor.internal/service/array"
	"tailor.internal/tailor"
)

func opened(t *testing.T, path string, config Config) *Model {
	t.Helper()
	m, err := OpenModel(path, config, NewMetrics())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func TestTheBatchSymbolIsFound(t *testing.T) {
	m := opened(t, saved(t, "encoder", encoder), testConfig())
	if m.batching == nil || m.batching.symbol != "B" || m.batching.maxRows != 8 {
		t.Errorf("%+v: %s", m.batching, m.reason)
	}
}

func TestModelsThatMixRowsAreNotBatched(t *testing.T) {
	path := saved(t, "centred", centred)
	if m := opened(t, path, testConfig()); m.batching != nil || !strings.Contains(m.reason, `output "y" of joined requests differs from that of a request alone by up to `) {
		t.Errorf("%+v: %s", m.batching, m.reason)
	}
	config := testConfig()
	config.BatchInexact = true
	if m := opened(t, path, config); m.batching == nil {
		t.Error(m.reason)
	}
	config.BatchSymbol = "none"
	if m := opened(t, path, config); m.batching != nil {
		t.Error("it is batched")
	}
	config.BatchSymbol = "C"
	if _, err := OpenModel(path, config, NewMetrics()); err == nil || !strings.Contains(err.Error(), `"C" is no symbol of the model: its symbols are B`) {
		t.Error(err)
	}
}

func TestPaddingIsTriedFirst(t *testing.T) {
	config := testConfig()
	config.Pad = "S:mask"
	if m := opened(t, saved(t, "encoder", encoder), config); m.batching == nil || m.batching.padTo != 32 {
		t.Errorf("%+v: %s", m.batching, m.reason)
	}
	mean := saved(t, "mean", meanEncoder)
	if m := opened(t, mean, config); m.batching != nil || !strings.Contains(m.reason, `output "mean"`) {
		t.Errorf("%+v: %s", m.batching, m.reason)
	}
	config.Pad = "S:x_mask"
	if _, err := OpenModel(mean, config, NewMetrics()); err == nil || !strings.Contains(err.Error(), `"x_mask" is no input`) {
		t.Error(err)
	}
}

func TestJoinedArraysAreSplit(t *testing.T) {
	random := rand.New(rand.NewSource(3))
	for axis := 0; axis < 3; axis++ {
		b := &batching{inputs: []int{axis}, outputs: []int{axis}}
		var requests [][]array.Array
		for _, rows := range []int64{2, 1, 3} {
			dims := []int64{2, 3, 4}
			dims[axis] = rows
			requests = append(requests, []array.Array{array.Random(tailor.I16, dims, random, false)})
		}
		joined, first := b.join(requests), int64(0)
		if joined[0].Dims[axis] != 6 {
			t.Fatalf("dims %v", joined[0].Dims)
		}
		for _, request := range requests {
			rows := request[0].Dims[axis]
			if part := b.split(joined, nil, first, rows)[0]; !part.Equal(request[0]) {
				t.Errorf("axis %d: %v, not %v", axis, part, request[0])
			}
			first += rows
		}
	}
}

func TestRequestsAreJoinedByTheirOtherDims(t *testing.T) {
	random := rand.New(rand.NewSource(4))
	b := &batching{inputs: []int{0, -1}, outputs: []int{0}}
	request := func(rows, size int64, scale byte) []array.Array {
		return []array.Array{array.Random(tailor.F32, []int64{rows, size}, random, false), {DType: tailor.U8, Dims: nil, Data: []byte{scale}}}
	}
	key := b.key(request(1, 5, 7))
	if b.key(request(3, 5, 7)) != key || b.key(request(1, 6, 7)) == key || b.key(request(1, 5, 8)) == key {
		t.Error("wrong keys")
	}
	b.padTo, b.padInputs = 4, []int{1, -1}
	if key := b.key(request(1, 5, 7)); b.key(request(1, 8, 7)) != key || b.key(request(1, 9, 7)) == key {
		t.Error("wrong keys of padded requests")
	}
}

func TestPaddedRowsEndInZeros(t *testing.T) {
	b := &batching{inputs: []int{0}, outputs: []int{0}, padTo: 4, padInputs: []int{1}}
	short, long := array.Array{DType: tailor.U8, Dims: []int64{1, 2}, Data: []byte{1, 2}}, array.Array{DType: tailor.U8, Dims: []int64{2, 3}, Data: []byte{3, 4, 5, 6, 7, 8}}
	requests := [][]array.Array{{short}, {long}}
	joined := b.join(requests)
	if !bytes.Equal(joined[0].Data, []byte{1, 2, 0, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("%v", joined[0])
	}
	if !short.Equal(b.split(joined, [][]int64{short.Dims}, 0, 1)[0]) || !long.Equal(b.split(joined, [][]int64{long.Dims}, 1, 2)[0]) {
		t.Error("wrong parts")
	}
}
