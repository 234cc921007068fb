package array

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"

	"tailor.internal/tailor"
)

// Arrays in JSON: nested lists, or {"dims": [0, 4], "data": [flat list]} where a dim is 0. NaN and infinities are the strings "NaN",
// "Infinity" and "-Infinity".

// ParseJSON reads an array of an input. Errors name the element at fault.
func ParseJSON(text []byte, info tailor.TensorInfo) (Array, error) {
	array := Array{DType: info.DType}
	given := struct {
		Dims []int64
		Data json.RawMessage
	}{Data: text}
	flat := len(text) > 0 && text[0] == '{'
	if flat {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&given); err != nil || given.Dims == nil || given.Data == nil {
			return array, Invalid(`input %q: an object must have "dims", a list of integers, and "data", a flat list`, info.Name)
		}
	}
	reader := listReader{text: given.Data, input: info.Name, array: &array}
	if err := reader.value(0); err != nil {
		return array, err
	}
	array.Dims = reader.dims
	if !flat {
		return array, nil
	}
	count := Array{Dims: given.Dims}.Count()
	for i, dim := range given.Dims {
		if dim < 0 || dim > math.MaxInt32 {
			return array, Invalid("input %q: dim %d is %d", info.Name, i, dim)
		}
	}
	if len(array.Dims) != 1 || array.Dims[0] != count {
		return array, Invalid("input %q: dims %v have %d elements, but data has dims %v", info.Name, given.Dims, count, array.Dims)
	}
	array.Dims = given.Dims
	return array, nil
}

// listReader reads nested lists of valid JSON.
type listReader struct {
	text  []byte
	input string
	array *Array
	dims  []int64 // -1: not known yet
	leafs int     // depth of elements; 0 until the first was read, then 1 + the depth
}

func (r *listReader) skip() {
	for len(r.text) > 0 && (r.text[0] == ' ' || r.text[0] == '\t' || r.text[0] == '\n' || r.text[0] == '\r') {
		r.text = r.text[1:]
	}
}

// value reads a list or an element.
func (r *listReader) value(depth int) error {
	r.skip()
	if len(r.text) == 0 {
		return Invalid("input %q: no value", r.input)
	}
	if r.text[0] != '[' {
		return r.element(depth)
	}
	if r.leafs != 0 && depth >= r.leafs-1 || depth >= 8 {
		return Invalid("input %q: lists are nested to different depths, or more than 8 deep", r.input)
	}
	if depth == len(r.dims) {
		r.dims = append(r.dims, -1)
	}
	count, err := r.list(depth)
	if err != nil {
		return err
	}
	if r.dims[depth] >= 0 && r.dims[depth] != count {
		return Invalid("input %q: along dim %d there are lists of %d and of %d", r.input, depth, r.dims[depth], count)
	}
	r.dims[depth] = count
	return nil
}

func (r *listReader) list(depth int) (count int64, err error) {
	r.text = r.text[1:]
	for r.skip(); r.text[0] != ']'; r.skip() {
		if r.text[0] == ',' {
			r.text = r.text[1:]
			continue
		}
		if err := r.value(depth + 1); err != nil {
			return 0, err
		}
		count++
	}
	r.text = r.text[1:]
	return count, nil
}

func (r *listReader) element(depth int) error {
	if r.leafs == 0 && depth == len(r.dims) {
		r.leafs = depth + 1
	}
	if depth != r.leafs-1 {
		return Invalid("input %q: lists are nested to different depths", r.input)
	}
	end := bytes.IndexAny(r.text, ",] \t\r\n")
	if end < 0 {
		end = len(r.text)
	}
	token := string(r.text[:end])
	r.text = r.text[end:]
	if !r.array.append(token) {
		index := len(r.array.Data) / int(r.array.DType.Size())
		return Invalid("input %q: element %d of the flattened list is %.40s, which is no %v", r.input, index, token, r.array.DType)
	}
	return nil
}

// append appends an element, unless the text is none of the element type.
func (a *Array) append(text string) bool {
	if isInteger(a.DType) {
		return a.appendInteger(text)
	}
	switch text {
	case `"NaN"`, `"Infinity"`, `"-Infinity"`:
		text = text[1 : len(text)-1]
	}
	bits := 32
	if a.DType == tailor.F64 {
		bits = 64
	}
	value, err := strconv.ParseFloat(text, bits)
	if err != nil {
		return false
	}
	switch a.DType {
	case tailor.F16:
		a.Data = binary.LittleEndian.AppendUint16(a.Data, halfBits(float32(value)))
	case tailor.BF16:
		a.Data = binary.LittleEndian.AppendUint16(a.Data, bfloat16Bits(float32(value)))
	case tailor.F32:
		a.Data = binary.LittleEndian.AppendUint32(a.Data, math.Float32bits(float32(value)))
	default:
		a.Data = binary.LittleEndian.AppendUint64(a.Data, math.Float64bits(value))
	}
	return true
}

func (a *Array) appendInteger(text string) bool {
	if a.DType == tailor.Bool && (text == "true" || text == "false") {
		text = map[string]string{"true": "1", "false": "0"}[text]
	}
	value, err := strconv.ParseInt(text, 10, 64)
	min, max := integerRange(a.DType)
	if err != nil || value < min || value > max {
		return false
	}
	var bytes [8]byte
	binary.LittleEndian.PutUint64(bytes[:], uint64(value))
	a.Data = append(a.Data, bytes[:a.DType.Size()]...)
	return true
}

// AppendJSON writes nested lists.
func (a Array) AppendJSON(text []byte) []byte {
	offset := int64(0)
	var list func(depth int)
	list = func(depth int) {
		if depth == len(a.Dims) {
			text = a.appendElement(text, offset)
			offset += a.DType.Size()
			return
		}
		text = append(text, '[')
		for i := int64(0); i < a.Dims[depth]; i++ {
			if i > 0 {
				text = append(text, ',')
			}
			list(depth + 1)
		}
		text = append(text, ']')
	}
	list(0)
	return text
}

func (a Array) appendElement(text []byte, offset int64) []byte {
	var word [8]byte
	copy(word[:], a.Data[offset:offset+a.DType.Size()])
	bits := binary.LittleEndian.Uint64(word[:])
	switch a.DType {
	case tailor.Bool:
		return strconv.AppendBool(text, bits != 0)
	case tailor.I8:
		return strconv.AppendInt(text, int64(int8(bits)), 10)
	case tailor.I16:
		return strconv.AppendInt(text, int64(int16(bits)), 10)
	case tailor.I32:
		return strconv.AppendInt(text, int64(int32(bits)), 10)
	case tailor.I64:
		return strconv.AppendInt(text, int64(bits), 10)
	case tailor.F16, tailor.BF16, tailor.F32:
		return appendFloat(text, a.float(offset), 32)
	case tailor.F64:
		return appendFloat(text, a.float(offset), 64)
	}
	return strconv.AppendUint(text, bits, 10)
}

// appendFloat writes the shortest text that reads back as the same number.
func appendFloat(text []byte, value float64, bits int) []byte {
	switch {
	case math.IsNaN(value):
		return append(text, `"NaN"`...)
	case math.IsInf(value, 1):
		return append(text, `"Infinity"`...)
	case math.IsInf(value, -1):
		return append(text, `"-Infinity"`...)
	}
	return strconv.AppendFloat(text, value, 'g', -1, bits)
}
