package array

import (
	"bytes"
	"math"
	"math/rand"
	"strings"
	"testing"

	"tailor.internal/tailor"
)

var allTypes = []tailor.DType{tailor.Bool, tailor.I8, tailor.I16, tailor.I32, tailor.I64, tailor.U8, tailor.U16, tailor.U32,
	tailor.U64, tailor.F16, tailor.BF16, tailor.F32, tailor.F64}

func TestArraysOfAllTypesAreWrittenAndRead(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for _, dtype := range allTypes {
		for _, dims := range [][]int64{{}, {3}, {2, 3}, {2, 1, 4}, {3, 0}} {
			want := Random(dtype, dims, random, false)
			info := tailor.TensorInfo{Name: "x", DType: dtype}
			fromJSON, err := ParseJSON(want.AppendJSON(nil), info)
			if err != nil || !fromJSON.Equal(want) {
				t.Errorf("%v %v as JSON: %v %v", dtype, dims, fromJSON, err)
			}
			fromNpy, err := ParseNpy(want.AppendNpy(nil), "x")
			if err != nil || !fromNpy.Equal(want) {
				t.Errorf("%v %v as .npy: %v %v", dtype, dims, fromNpy, err)
			}
		}
	}
}

func TestHalfPrecisionRoundsToNearest(t *testing.T) {
	for bits := 0; bits < 1<<16; bits++ {
		value := fromHalfBits(uint16(bits))
		if math.IsNaN(float64(value)) {
			continue
		}
		if got := halfBits(value); got != uint16(bits) {
			t.Fatalf("%#x is %v, which rounds to %#x", bits, value, got)
		}
		if bits&0x7fff >= 0x7bff { // no finite number follows
			continue
		}
		above := (value + fromHalfBits(uint16(bits+1))) / 2
		if want := uint16(bits + bits&1); halfBits(above) != want {
			t.Fatalf("%v rounds to %#x, not %#x", above, halfBits(above), want)
		}
	}
	if bfloat16Bits(1.00390625) != 0x3f80 || bfloat16Bits(1.01171875) != 0x3f82 || halfBits(65520) != 0x7c00 || halfBits(65519) != 0x7bff {
		t.Error("ties")
	}
}

func TestArraysMayBeNear(t *testing.T) {
	read := func(text string, dtype tailor.DType) Array {
		a, err := ParseJSON([]byte(text), tailor.TensorInfo{Name: "x", DType: dtype})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, dtype := range []tailor.DType{tailor.F16, tailor.BF16, tailor.F32, tailor.F64} {
		a, b := read(`[1, 100, "NaN", "Infinity"]`, dtype), read(`[1.0625, 101, "NaN", "Infinity"]`, dtype)
		if !a.Near(b, .1) || a.Near(b, .001) || a.Equal(b) || !a.Equal(a) || a.Near(read(`[1, 100, "NaN", 5]`, dtype), .1) {
			t.Error(dtype)
		}
	}
	if read(`[1]`, tailor.I32).Near(read(`[2]`, tailor.I32), 10) {
		t.Error("integers are near")
	}
}

func TestTheLargestDifference(t *testing.T) {
	read := func(text string, dtype tailor.DType) Array {
		a, err := ParseJSON([]byte(text), tailor.TensorInfo{Name: "x", DType: dtype})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := read(`[1, "NaN", "Infinity"]`, tailor.F32)
	if most, known := a.MaxDifference(read(`[1.5, "NaN", "Infinity"]`, tailor.F32)); most != .5 || !known {
		t.Error(most, known)
	}
	for _, b := range []Array{read(`[1, 2, "Infinity"]`, tailor.F32), read(`[1, "NaN", 3]`, tailor.F32), read(`[1]`, tailor.F32), read(`[1, 2, 3]`, tailor.I32)} {
		if most, known := a.MaxDifference(b); known {
			t.Error(b, most)
		}
	}
}

func TestNumbersOfJSONThatAreNone(t *testing.T) {
	x := tailor.TensorInfo{Name: "x", DType: tailor.F32}
	for text, want := range map[string]string{
		`[1, "Infinity", -2e3]`:                  "",
		`{"dims": [0, 4], "data": []}`:           "",
		`{"dims": [2, 2], "data": [1, 2, 3, 4]}`: "",
		`[[1, 2], [3]]`:                          "along dim 1 there are lists of 2 and of 1",
		`[1, [2]]`:                               "nested to different depths",
		`[[1], 2]`:                               "nested to different depths",
		`[[], 2]`:                                "nested to different depths",
		`[1, null]`:                              "element 1 of the flattened list is null, which is no f32",
		`[1, "a,b"]`:                             `element 1 of the flattened list is "a`,
		`[{"a": [1]}]`:                           "is no f32",
		`[1, 1e40]`:                              "is no f32",
		`[[[[[[[[[1]]]]]]]]]`:                    "more than 8 deep",
		`{"dims": [3], "data": [1]}`:             "dims [3] have 3 elements",
		`{"dims": [-1], "data": []}`:             "dim 0 is -1",
		`{"shape": [3]}`:                         `an object must have "dims"`,
	} {
		_, err := ParseJSON([]byte(text), x)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s gives %v", text, err)
		}
	}
	for text, dtype := range map[string]tailor.DType{`[256]`: tailor.U8, `[-129]`: tailor.I8, `[1.5]`: tailor.I64, `[2]`: tailor.Bool,
		`[-1]`: tailor.U64, `[99999999999]`: tailor.U32} {
		if _, err := ParseJSON([]byte(text), tailor.TensorInfo{Name: "x", DType: dtype}); err == nil {
			t.Errorf("%s is taken as %v", text, dtype)
		}
	}
}

func TestDamagedFilesAreErrors(t *testing.T) {
	random := rand.New(rand.NewSource(2))
	array := Random(tailor.F32, []int64{2, 3}, random, false)
	var archive bytes.Buffer
	if err := WriteNpz(&archive, []string{"x"}, []Array{array}); err != nil {
		t.Fatal(err)
	}
	npy, npz := array.AppendNpy(nil), archive.Bytes()
	for i := 0; i < 2000; i++ {
		for _, file := range [][]byte{npy, npz} {
			damaged := append([]byte{}, file[:random.Intn(len(file)+1)]...)
			for k := random.Intn(3); k > 0 && len(damaged) > 0; k-- {
				damaged[random.Intn(len(damaged))] = byte(random.Intn(256))
			}
			if read, err := ParseNpy(damaged, "x"); err == nil && read.Count()*read.DType.Size() != int64(len(read.Data)) {
				t.Fatalf("%q is read as %v", damaged, read)
			}
			_, _ = ParseNpz(damaged, 1<<20)
		}
	}
	fortran := bytes.Replace(npy, []byte("False"), []byte("True "), 1)
	if _, err := ParseNpy(fortran, "x"); err == nil || !strings.Contains(err.Error(), "Fortran") {
		t.Error(err)
	}
	if _, err := ParseNpz(npz, 100); err != ErrTooLarge {
		t.Error(err)
	}
	var twice bytes.Buffer
	if err := WriteNpz(&twice, []string{"x", "x"}, []Array{array, array}); err != nil {
		t.Fatal(err)
	}
	if _, err := ParseNpz(twice.Bytes(), 1<<20); err == nil || !strings.Contains(err.Error(), `"x" is in the .npz file twice`) {
		t.Error(err)
	}
}
