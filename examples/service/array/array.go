// Package array has the arrays of requests, in JSON and in numpy's files.
package array

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"strconv"

	"tailor.internal/tailor"
)

// Array is a dense row-major array: the elements as bytes in the machine's order, which is little-endian.
type Array struct {
	DType tailor.DType
	Dims  []int64
	Data  []byte
}

// New makes an array of zeros.
func New(dtype tailor.DType, dims []int64) Array {
	a := Array{DType: dtype, Dims: dims}
	a.Data = make([]byte, a.Count()*dtype.Size())
	return a
}

// Random makes an array with floats of [-1, 1), and integers that are 0 or 1; or with ones.
func Random(dtype tailor.DType, dims []int64, random *rand.Rand, ones bool) Array {
	a := Array{DType: dtype, Dims: dims}
	for i := a.Count(); i > 0; i-- {
		text := "1"
		if !ones && isInteger(dtype) {
			text = strconv.Itoa(random.Intn(2))
		} else if !ones {
			text = strconv.FormatFloat(2*random.Float64()-1, 'g', -1, 64)
		}
		a.append(text)
	}
	return a
}

// Count is the number of elements.
func (a Array) Count() int64 {
	count := int64(1)
	for _, dim := range a.Dims {
		count *= dim
	}
	return count
}

// Equal also compares the bits of the elements.
func (a Array) Equal(b Array) bool { return a.Near(b, 0) }

func equalDims(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Near holds for equal arrays, and for floats that differ by at most tolerance * (1 + |b|).
func (a Array) Near(b Array, tolerance float64) bool {
	if a.DType != b.DType || !equalDims(a.Dims, b.Dims) {
		return false
	}
	if tolerance == 0 || isInteger(a.DType) {
		return bytes.Equal(a.Data, b.Data)
	}
	for offset := int64(0); offset < int64(len(a.Data)); offset += a.DType.Size() {
		x, y := a.float(offset), b.float(offset)
		if x != y && !(math.IsNaN(x) && math.IsNaN(y)) && !(math.Abs(x-y) <= tolerance*(1+math.Abs(y))) {
			return false
		}
	}
	return true
}

// MaxDifference is that of floats with equal dims; unknown for others, and where a NaN or an infinity differs.
func (a Array) MaxDifference(b Array) (most float64, known bool) {
	if a.DType != b.DType || !equalDims(a.Dims, b.Dims) || isInteger(a.DType) {
		return 0, false
	}
	for offset := int64(0); offset < int64(len(a.Data)); offset += a.DType.Size() {
		x, y := a.float(offset), b.float(offset)
		if x == y || math.IsNaN(x) && math.IsNaN(y) {
			continue
		}
		apart := math.Abs(x - y)
		if math.IsNaN(apart) || math.IsInf(apart, 0) {
			return 0, false
		}
		most = math.Max(most, apart)
	}
	return most, true
}

// float is the element at this offset, in bytes, of an array of floats.
func (a Array) float(offset int64) float64 {
	var word [8]byte
	copy(word[:], a.Data[offset:offset+a.DType.Size()])
	bits := binary.LittleEndian.Uint64(word[:])
	switch a.DType {
	case tailor.F16:
		return float64(fromHalfBits(uint16(bits)))
	case tailor.BF16:
		return float64(math.Float32frombits(uint32(bits) << 16))
	case tailor.F32:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

// Tensor has the array's memory, or a copy of it if that is not aligned to the elements.
func (a Array) Tensor() (*tailor.Tensor, error) {
	t, err := tailor.FromBytes(a.DType, a.Data, a.Dims...)
	if err == nil {
		return t, nil
	}
	aligned := append(make([]byte, 0, len(a.Data)+8), a.Data...)
	return tailor.FromBytes(a.DType, aligned, a.Dims...)
}

// CopyBlock copies a block of these dims.
func CopyBlock(to Array, toAt []int64, from Array, fromAt, dims []int64) {
	size := to.DType.Size()
	var copyAlong func(axis int, toOffset, fromOffset int64)
	copyAlong = func(axis int, toOffset, fromOffset int64) {
		if axis == len(dims) {
			copy(to.Data[toOffset*size:(toOffset+1)*size], from.Data[fromOffset*size:])
			return
		}
		toOffset = toOffset*to.Dims[axis] + toAt[axis]
		fromOffset = fromOffset*from.Dims[axis] + fromAt[axis]
		if inner := innerCount(to.Dims[axis+1:], dims[axis+1:]); inner >= 0 && inner == innerCount(from.Dims[axis+1:], dims[axis+1:]) {
			copy(to.Data[toOffset*inner*size:(toOffset+dims[axis])*inner*size], from.Data[fromOffset*inner*size:])
			return
		}
		for i := int64(0); i < dims[axis]; i++ {
			copyAlong(axis+1, toOffset+i, fromOffset+i)
		}
	}
	copyAlong(0, 0, 0)
}

// innerCount is the product of the dims if the block has all of them, else -1.
func innerCount(dims, block []int64) int64 {
	count := int64(1)
	for i, dim := range dims {
		if dim != block[i] {
			return -1
		}
		count *= dim
	}
	return count
}

// Error is an error of the client.
type Error struct{ text string }

func (e Error) Error() string { return e.text }

// Invalid makes an Error.
func Invalid(format string, arguments ...any) error { return Error{fmt.Sprintf(format, arguments...)} }

// isInteger also holds for bool.
func isInteger(dtype tailor.DType) bool {
	switch dtype {
	case tailor.F16, tailor.BF16, tailor.F32, tailor.F64:
		return false
	}
	return true
}

// integerRange is the range of an integer type. The range of u64 ends at that of i64's.
func integerRange(dtype tailor.DType) (min, max int64) {
	switch dtype {
	case tailor.Bool:
		return 0, 1
	case tailor.I8:
		return math.MinInt8, math.MaxInt8
	case tailor.I16:
		return math.MinInt16, math.MaxInt16
	case tailor.I32:
		return math.MinInt32, math.MaxInt32
	case tailor.U8:
		return 0, math.MaxUint8
	case tailor.U16:
		return 0, math.MaxUint16
	case tailor.U32:
		return 0, math.MaxUint32
	case tailor.U64:
		return 0, math.MaxInt64
	}
	return math.MinInt64, math.MaxInt64
}

// halfBits rounds to f16, ties to even.
func halfBits(value float32) uint16 {
	bits := math.Float32bits(value)
	sign, magnitude := uint16(bits>>16)&0x8000, bits&0x7fffffff
	switch {
	case magnitude > 0x7f800000:
		return sign | 0x7e00
	case magnitude >= 0x477ff000: // rounds to beyond the largest
		return sign | 0x7c00
	case magnitude < 0x38800000: // subnormal: the sum's ulp is 2^-24
		sum := math.Float32frombits(magnitude) + 0.5
		return sign | uint16(math.Float32bits(sum)-math.Float32bits(0.5))
	}
	return sign | uint16((magnitude-0x38000000+0xfff+(magnitude>>13)&1)>>13)
}

func fromHalfBits(bits uint16) float32 {
	sign, exponent, mantissa := uint32(bits&0x8000)<<16, uint32(bits>>10)&0x1f, uint32(bits)&0x3ff
	switch exponent {
	case 0:
		value := float32(mantissa) / (1 << 24)
		return math.Float32frombits(math.Float32bits(value) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | mantissa<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | mantissa<<13)
}

// bfloat16Bits rounds to bf16, ties to even.
func bfloat16Bits(value float32) uint16 {
	bits := math.Float32bits(value)
	if bits&0x7fffffff > 0x7f800000 {
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + (bits>>16)&1) >> 16)
}
