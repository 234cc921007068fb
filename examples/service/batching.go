package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand"
	"regexp"
	"strings"

	"tailor.internal/service/array"
	"tailor.internal/tailor"
)

// batching is how requests are joined along one symbol.
type batching struct {
	symbol  string
	maxRows int64
	inputs  []int // by input: the axis with the symbol; -1: the input is the same in all requests of a batch
	outputs []int // by output: the axis

	// A second symbol along which requests of different sizes are padded with zeros; padTo 0: none.
	padTo     int64
	padInputs []int // by input: the axis, or -1
}

// padTolerance is how much answers of padded requests may differ from those alone: the order of sums over padded dims may be another.
const padTolerance = 1e-3

// chooseBatching finds the symbol, and runs random requests alone and joined. Requests are joined only if the answers have the
// same bits; padded ones only if they are near.
func (m *Model) chooseBatching() error {
	b, err := m.findBatching()
	if err != nil {
		if m.config.BatchSymbol != "" && m.config.BatchSymbol != "none" || m.config.Pad != "" {
			return fmt.Errorf("requests cannot be joined as asked: %w", err)
		}
		m.reason = err.Error()
		return nil
	}
	if !m.config.BatchInexact {
		if err := m.probe(b); err != nil {
			m.reason = err.Error()
			return nil
		}
	}
	m.batching = b
	return nil
}

// describeBatching says how requests run.
func (m *Model) describeBatching() string {
	if m.batching == nil {
		return "requests run one by one: " + m.reason
	}
	text := fmt.Sprintf("requests are joined along %s, up to %d rows", m.batching.symbol, m.batching.maxRows)
	if m.batching.padTo > 0 {
		symbol, _, _ := strings.Cut(m.config.Pad, ":")
		text += fmt.Sprintf(", and padded along %s to the next multiple of %d", symbol, m.batching.padTo)
	}
	return text
}

func (m *Model) findBatching() (*batching, error) {
	symbol := m.config.BatchSymbol
	if symbol == "none" {
		return nil, errors.New("-batch-symbol none")
	}
	if symbol == "" {
		if len(m.inputs) == 0 || len(m.inputs[0].Dims) == 0 {
			return nil, errors.New("the first input has no dim")
		}
		symbol = m.inputs[0].Dims[0]
	}
	info, found := m.symbol(symbol)
	if !found {
		return nil, fmt.Errorf("%q is no symbol of the model: %s", symbol, m.describeSymbols())
	}
	b := &batching{symbol: symbol, maxRows: m.config.MaxBatch}
	if info.Max < b.maxRows {
		b.maxRows = info.Max
	}
	var err error
	if b.inputs, err = axesOf(symbol, "input", m.inputs, false); err != nil {
		return nil, err
	}
	if b.outputs, err = axesOf(symbol, "output", m.outputs, true); err != nil {
		return nil, err
	}
	return b, m.findPadding(b)
}

func (m *Model) findPadding(b *batching) (err error) {
	if m.config.Pad == "" {
		return nil
	}
	symbol, mask, _ := strings.Cut(m.config.Pad, ":")
	if _, found := m.symbol(symbol); !found || symbol == b.symbol {
		return fmt.Errorf("-pad: %q is no symbol of the model beside that of batches", symbol)
	}
	if b.padInputs, err = axesOf(symbol, "input", m.inputs, false); err != nil {
		return err
	}
	for i, input := range m.inputs {
		if input.Name == mask && b.padInputs[i] >= 0 && b.inputs[i] >= 0 {
			b.padTo = m.config.PadTo
			return nil
		}
	}
	return fmt.Errorf("-pad: %q is no input with the dims %s and %s", mask, b.symbol, symbol)
}

func (m *Model) symbol(name string) (tailor.SymbolInfo, bool) {
	for _, symbol := range m.symbols {
		if symbol.Name == name {
			return symbol, true
		}
	}
	return tailor.SymbolInfo{}, false
}

func (m *Model) describeSymbols() string {
	if len(m.symbols) == 0 {
		return "it has none"
	}
	names := make([]string, len(m.symbols))
	for i, symbol := range m.symbols {
		names[i] = symbol.Name
	}
	return "its symbols are " + strings.Join(names, ", ")
}

// axesOf finds the one dim of each tensor that is the symbol. An error if it is part of another.
func axesOf(symbol, kind string, infos []tailor.TensorInfo, needed bool) ([]int, error) {
	mention := regexp.MustCompile(`(^|[^\w.])` + regexp.QuoteMeta(symbol) + `($|[^\w.])`)
	axes := make([]int, len(infos))
	for i, info := range infos {
		axes[i] = -1
		for axis, dim := range info.Dims {
			if dim == symbol && axes[i] < 0 {
				axes[i] = axis
			} else if mention.MatchString(dim) {
				return nil, fmt.Errorf("%s %q has dims [%s], where %s is not one dim alone (a range may simplify them: "+
					"-symbol %s=1..1000)", kind, info.Name, strings.Join(info.Dims, ", "), symbol, symbol)
			}
		}
		if needed && axes[i] < 0 {
			return nil, fmt.Errorf("%s %q has dims [%s], none of which is %s", kind, info.Name,
				strings.Join(info.Dims, ", "), symbol)
		}
	}
	return axes, nil
}

// rows is the size of a request along the batch symbol.
func (b *batching) rows(inputs []array.Array) int64 {
	for i, axis := range b.inputs {
		if axis >= 0 {
			return inputs[i].Dims[axis]
		}
	}
	return 1
}

// key is equal for requests that may be joined.
func (b *batching) key(inputs []array.Array) string {
	var key strings.Builder
	for i, input := range inputs {
		for axis, dim := range input.Dims {
			switch {
			case axis == b.inputs[i]:
				key.WriteString("*,")
			case b.padTo > 0 && axis == b.padInputs[i]:
				fmt.Fprintf(&key, "<%d,", (dim+b.padTo-1)/b.padTo)
			default:
				fmt.Fprintf(&key, "%d,", dim)
			}
		}
		if b.inputs[i] < 0 {
			hash := sha256.Sum256(input.Data)
			key.Write(hash[:])
		}
		key.WriteByte(';')
	}
	return key.String()
}

// join concatenates the inputs of requests.
func (b *batching) join(requests [][]array.Array) []array.Array {
	if len(requests) == 1 {
		return requests[0]
	}
	joined := make([]array.Array, len(b.inputs))
	for i, axis := range b.inputs {
		if axis < 0 {
			joined[i] = requests[0][i]
			continue
		}
		dims := append([]int64{}, requests[0][i].Dims...)
		dims[axis] = 0
		for _, request := range requests {
			dims[axis] += request[i].Dims[axis]
			if b.padTo > 0 && b.padInputs[i] >= 0 && request[i].Dims[b.padInputs[i]] > dims[b.padInputs[i]] {
				dims[b.padInputs[i]] = request[i].Dims[b.padInputs[i]]
			}
		}
		joined[i] = array.New(requests[0][i].DType, dims)
		at := make([]int64, len(dims))
		for _, request := range requests {
			array.CopyBlock(joined[i], at, request[i], make([]int64, len(dims)), request[i].Dims)
			at[axis] += request[i].Dims[axis]
		}
	}
	return joined
}

// split is the part of the outputs that belongs to the request whose rows begin at `first`, and whose outputs have the dims
// `alone` without padding.
func (b *batching) split(outputs []array.Array, alone [][]int64, first, rows int64) []array.Array {
	parts := make([]array.Array, len(outputs))
	for i, output := range outputs {
		dims := append([]int64{}, output.Dims...)
		if b.padTo > 0 {
			copy(dims, alone[i])
		}
		dims[b.outputs[i]] = rows
		from := make([]int64, len(dims))
		from[b.outputs[i]] = first
		parts[i] = array.New(output.DType, dims)
		array.CopyBlock(parts[i], make([]int64, len(dims)), output, from, dims)
	}
	return parts
}

// probe runs random requests alone and joined: an error if answers differ in a bit.
func (m *Model) probe(b *batching) error {
	session, err := m.executable.NewSession(m.config.Threads)
	if err != nil {
		return err
	}
	defer session.Close()
	random := rand.New(rand.NewSource(1))
	for _, rows := range [][]int64{{1, 1}, {1, 2, 1, 3}} {
		requests, err := m.randomRequests(b, random, rows)
		if err != nil {
			return fmt.Errorf("no sizes are found for a test run: %w", err)
		}
		if err := m.compareJoined(session, b, requests); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) compareJoined(session *tailor.Session, b *batching, requests [][]array.Array) error {
	joined, err := runArrays(session, b.join(requests))
	if err != nil {
		return fmt.Errorf("a test run of joined requests fails: %w", err)
	}
	first, tolerance := int64(0), 0.
	if b.padTo > 0 {
		tolerance = padTolerance
	}
	for _, request := range requests {
		alone, err := runArrays(session, request)
		if err != nil {
			return fmt.Errorf("a test run fails: %w", err)
		}
		planned, err := m.check(request)
		if err != nil {
			return err
		}
		for i, part := range b.split(joined, planned, first, b.rows(request)) {
			if !part.Near(alone[i], tolerance) {
				return fmt.Errorf("output %q of joined requests differs from that of a request alone%s (-batch-inexact joins "+
					"nevertheless)", m.outputs[i].Name, difference(part, alone[i]))
			}
		}
		first += b.rows(request)
	}
	return nil
}

// difference says by how much floats differ: rounding, or rows that are mixed.
func difference(part, alone array.Array) string {
	most, known := part.MaxDifference(alone)
	if !known {
		return ""
	}
	return fmt.Sprintf(" by up to %.2g", most)
}

// randomRequests have these rows, and for the other symbols the first of some common sizes that the model takes.
func (m *Model) randomRequests(b *batching, random *rand.Rand, rows []int64) (requests [][]array.Array, err error) {
	for _, size := range []int64{16, 64, 224, 5, 1, 256, 1024, 16000} {
		requests = nil
		for i, count := range rows {
			padded := size - int64(i)
			if padded < 1 {
				padded = 1
			}
			inputs := m.randomInputs(b, random, count, size, padded)
			if _, err = m.check(inputs); err != nil {
				break
			}
			requests = append(requests, inputs)
		}
		if err == nil {
			return requests, nil
		}
	}
	return nil, err
}

func (m *Model) randomInputs(b *batching, random *rand.Rand, rows, size, padded int64) []array.Array {
	_, mask, _ := strings.Cut(m.config.Pad, ":")
	inputs := make([]array.Array, len(m.inputs))
	for i, info := range m.inputs {
		dims := append([]int64{}, info.Sizes...)
		for axis := range dims {
			switch {
			case axis == b.inputs[i]:
				dims[axis] = rows
			case b.padTo > 0 && axis == b.padInputs[i]:
				dims[axis] = padded
			case dims[axis] < 0:
				dims[axis] = size
			}
		}
		inputs[i] = array.Random(info.DType, dims, random, info.Name == mask)
	}
	return inputs
}
