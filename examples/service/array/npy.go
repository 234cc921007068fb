package array

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"tailor.internal/tailor"
)

// ErrTooLarge is the error of a request that is larger than the limit.
var ErrTooLarge = errors.New("the request is larger than the limit")

const npyMagic = "\x93NUMPY"

// npyTypes are the element types as numpy writes them. "V2" is bf16, as ml_dtypes writes it.
var npyTypes = map[string]tailor.DType{"|b1": tailor.Bool, "|i1": tailor.I8, "<i2": tailor.I16, "<i4": tailor.I32,
	"<i8": tailor.I64, "|u1": tailor.U8, "<u2": tailor.U16, "<u4": tailor.U32, "<u8": tailor.U64, "<f2": tailor.F16,
	"<f4": tailor.F32, "<f8": tailor.F64, "|V2": tailor.BF16, "<V2": tailor.BF16}

var (
	npyDescr   = regexp.MustCompile(`'descr'\s*:\s*'([^']*)'`)
	npyFortran = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	npyShape   = regexp.MustCompile(`'shape'\s*:\s*\(([0-9,\sL]*)\)`)
)

// ParseNpy reads a .npy file. The array has its memory.
func ParseNpy(file []byte, input string) (Array, error) {
	header, data, err := npyHeader(file, input)
	if err != nil {
		return Array{}, err
	}
	descr, order, shape := npyDescr.FindSubmatch(header), npyFortran.FindSubmatch(header), npyShape.FindSubmatch(header)
	if descr == nil || order == nil || shape == nil {
		return Array{}, Invalid("input %q: the .npy header %q is not understood", input, header)
	}
	array := Array{DType: npyTypes[string(descr[1])], Data: data}
	if array.DType == 0 {
		return Array{}, unsupportedType(input, string(descr[1]))
	}
	size := array.DType.Size()
	for _, text := range strings.Split(string(shape[1]), ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		dim, err := strconv.ParseInt(text, 10, 64)
		if err != nil || (dim > 0 && size > math.MaxInt64/dim) {
			return Array{}, Invalid("input %q: the .npy shape is (%s)", input, shape[1])
		}
		array.Dims = append(array.Dims, dim)
		size *= dim
	}
	if string(order[1]) == "True" && len(array.Dims) > 1 {
		return Array{}, Invalid("input %q is in Fortran order: send numpy.ascontiguousarray(x)", input)
	}
	if size != int64(len(data)) {
		return Array{}, Invalid("input %q: the .npy shape (%s) takes %d bytes, but there are %d", input, shape[1], size, len(data))
	}
	return array, nil
}

func unsupportedType(input, descr string) error {
	if strings.HasPrefix(descr, ">") && npyTypes["<"+descr[1:]] != 0 {
		return Invalid(`input %q is big-endian (%q): send x.astype(%q)`, input, descr, "<"+descr[1:])
	}
	return Invalid("input %q: the .npy type %q is not supported: send bool, integers or floats", input, descr)
}

// IsNpy says whether a file begins as a .npy file.
func IsNpy(file []byte) bool { return bytes.HasPrefix(file, []byte(npyMagic)) }

// IsNpz says whether a file begins as a .npz file, which is a zip archive.
func IsNpz(file []byte) bool { return bytes.HasPrefix(file, []byte("PK\x03\x04")) }

func npyHeader(file []byte, input string) (header, data []byte, err error) {
	if len(file) < 12 || !IsNpy(file) {
		return nil, nil, Invalid("input %q is no .npy file of numpy.save (with curl: --data-binary @x.npy)", input)
	}
	size, start := int(binary.LittleEndian.Uint16(file[8:])), 10
	if file[6] >= 2 {
		size, start = int(binary.LittleEndian.Uint32(file[8:])), 12
	}
	if size > len(file)-start {
		return nil, nil, Invalid("input %q: the .npy header is cut off", input)
	}
	return file[start : start+size], file[start+size:], nil
}

// AppendNpy writes a .npy file.
func (a Array) AppendNpy(file []byte) []byte {
	descr := ""
	for text, dtype := range npyTypes {
		if dtype == a.DType && text != "|V2" {
			descr = text
		}
	}
	shape := ""
	for _, dim := range a.Dims {
		shape += fmt.Sprintf("%d, ", dim)
	}
	if len(a.Dims) != 1 {
		shape = strings.TrimSuffix(shape, ", ")
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	file = append(file, npyMagic+"\x01\x00"...)
	file = binary.LittleEndian.AppendUint16(file, uint16(len(header)))
	return append(append(file, header...), a.Data...)
}

// ParseNpz reads a .npz file, as numpy.savez writes it, of at most `limit` bytes when unpacked.
func ParseNpz(file []byte, limit int64) (map[string]Array, error) {
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, Invalid("the body is no .npz file: %v", err)
	}
	arrays := map[string]Array{}
	for _, entry := range archive.File {
		name := strings.TrimSuffix(entry.Name, ".npy")
		if _, given := arrays[name]; given {
			return nil, Invalid("input %q is in the .npz file twice", name)
		}
		opened, err := entry.Open()
		if err != nil {
			return nil, Invalid("input %q: %v", name, err)
		}
		unpacked, err := io.ReadAll(io.LimitReader(opened, limit+1))
		opened.Close()
		if err != nil {
			return nil, Invalid("input %q: %v", name, err)
		}
		if limit -= int64(len(unpacked)); limit < 0 {
			return nil, ErrTooLarge
		}
		if arrays[name], err = ParseNpy(unpacked, name); err != nil {
			return nil, err
		}
	}
	return arrays, nil
}

// WriteNpz writes a .npz file without compression.
func WriteNpz(to io.Writer, names []string, arrays []Array) error {
	archive := zip.NewWriter(to)
	for i, array := range arrays {
		entry, err := archive.CreateHeader(&zip.FileHeader{Name: names[i] + ".npy", Method: zip.Store})
		if err != nil {
			return err
		}
		if _, err := entry.Write(array.AppendNpy(nil)); err != nil {
			return err
		}
	}
	return archive.Close()
}
