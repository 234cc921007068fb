package onnx

/*
#include <stdlib.h>
#include "tailor/onnx.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"unsafe"

	"tailor.internal/tailor"
	"tailor.internal/tailor/graph"
)

// toC is the options in C memory, since Go passes C no structs that point to Go memory.
func (o *Options) toC(memory *cMemory) (C.tailor_onnx_options, error) {
	var options C.tailor_onnx_options
	symbols := allocate[C.tailor_onnx_symbol](memory, len(o.Symbols))
	for _, name := range names(o.Symbols) {
		symbols[options.symbol_count] = symbolToC(memory, name, o.Symbols[name])
		options.symbol_count++
	}
	dims := allocate[C.tailor_onnx_dim](memory, len(o.Dims))
	for _, name := range names(o.Dims) {
		dim := &dims[options.dim_count]
		dim.name, dim.name_size = memory.text(name)
		dim.text, dim.text_size = memory.text(o.Dims[name])
		options.dim_count++
	}
	domains := allocate[*C.char](memory, len(o.CustomDomains))
	for i, domain := range o.CustomDomains {
		if strings.IndexByte(domain, 0) >= 0 {
			return options, invalid("CustomDomains: a domain holds a NUL")
		}
		domains[i], _ = memory.text(domain)
	}
	options.custom_domains, options.custom_domain_count = first(domains), C.size_t(len(domains))
	fixed := allocate[C.tailor_onnx_fixed](memory, len(o.Fixed))
	for _, name := range names(o.Fixed) {
		var err error
		input := &fixed[options.fixed_count]
		input.name, input.name_size = memory.text(name)
		if input.tensor, err = tensorToC(memory, o.Fixed[name]); err != nil {
			return options, invalid(fmt.Sprintf("the fixed input %q: %s", name, messageOf(err)))
		}
		options.fixed_count++
	}
	options.symbols, options.dims, options.fixed = first(symbols), first(dims), first(fixed)
	if o.Directory != "" {
		options.directory, options.directory_size = memory.text(o.Directory)
	}
	return options, nil
}

func symbolToC(memory *cMemory, name string, given graph.SymbolOptions) C.tailor_onnx_symbol {
	var symbol C.tailor_onnx_symbol
	symbol.name, symbol.name_size = memory.text(name)
	symbol.min, symbol.max, symbol.multiple_of = C.int64_t(given.Min), math.MaxInt32, 1
	if given.Max != 0 {
		symbol.max = C.int64_t(given.Max)
	}
	if given.MultipleOf != 0 {
		symbol.multiple_of = C.int64_t(given.MultipleOf)
	}
	likely := allocate[C.int64_t](memory, len(given.Likely))
	for i, value := range given.Likely {
		likely[i] = C.int64_t(value)
	}
	symbol.likely, symbol.likely_count = first(likely), C.size_t(len(likely))
	return symbol
}

// tensorToC is the tensor with a copy of its elements.
func tensorToC(memory *cMemory, given *tailor.Tensor) (C.tailor_tensor, error) {
	var tensor C.tailor_tensor
	data, size, unpin, err := given.Pin()
	if err != nil {
		return tensor, err
	}
	defer unpin()
	C.tailor_tensor_init(&tensor)
	dims := given.Dims()
	tensor.dtype, tensor.rank = C.int32_t(given.DType()), C.int32_t(len(dims))
	for i, dim := range dims {
		tensor.dims[i] = C.int64_t(dim)
	}
	elements := allocate[byte](memory, int(size))
	copy(elements, unsafe.Slice((*byte)(data), size))
	tensor.data, tensor.data_bytes = unsafe.Pointer(first(elements)), C.uint64_t(size)
	return tensor, nil
}

// cMemory is C memory that is freed together.
type cMemory struct{ blocks []unsafe.Pointer }

func (m *cMemory) text(text string) (*C.char, C.size_t) {
	block := C.CString(text)
	m.blocks = append(m.blocks, unsafe.Pointer(block))
	return block, C.size_t(len(text))
}

func (m *cMemory) free() {
	for _, block := range m.blocks {
		C.free(block)
	}
}

// allocate gives zeroed C memory.
func allocate[T any](memory *cMemory, count int) []T {
	var zero T
	if count == 0 {
		return nil
	}
	block := C.calloc(C.size_t(count), C.size_t(unsafe.Sizeof(zero)))
	memory.blocks = append(memory.blocks, block)
	return unsafe.Slice((*T)(block), count)
}

// first points to the elements of a list; NULL if there are none.
func first[T any](list []T) *T {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// names are the keys, in an order that does not vary.
func names[V any](of map[string]V) []string {
	list := make([]string, 0, len(of))
	for name := range of {
		list = append(list, name)
	}
	sort.Strings(list)
	return list
}

func messageOf(err error) string {
	var failure *tailor.Error
	if errors.As(err, &failure) {
		return failure.Message
	}
	return err.Error()
}
