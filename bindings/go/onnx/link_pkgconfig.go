//go:build !tailor_env && !tailor_static

package onnx

// #cgo pkg-config: tailor-onnx
import "C"
