//go:build tailor_static

package graph

/*
#cgo pkg-config: tailor-runtime-static
#error "with the tag tailor_static only package tailor can be used: the compiler is a shared library, which needs the shared runtime"
*/
import "C"
