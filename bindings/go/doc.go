// Package tailor loads and runs artifacts that the Tailor compiler saved. It needs libtailor_runtime.so and its C header, which
// pkg-config finds (tailor-runtime); with -tags tailor_env the folders are those of CGO_CFLAGS and CGO_LDFLAGS instead, and with
// -tags tailor_static libtailor_runtime.a is linked in. Package graph builds and compiles graphs, package onnx imports models.
//
// Tensors live in Go memory: fill them in place through slices, which keep that memory alive. Outputs of Run are in their
// session's memory, and slices of them are copies; RunInto writes to tensors of the caller, and allocates nothing. C code gets
// addresses of Go memory in structs while runs use it: that memory is kept alive, and Go does not move it, since it is on the
// heap.
//
// Errors are *Error; errors.Is takes a Code.
package tailor
