//go:build !tailor_env && !tailor_static

package tailor

// #cgo pkg-config: tailor-runtime
import "C"
