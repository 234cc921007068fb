//go:build tailor_static

package tailor

// libtailor_runtime.a becomes part of the program.

// #cgo pkg-config: tailor-runtime-static
import "C"
