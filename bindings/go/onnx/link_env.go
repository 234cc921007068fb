//go:build tailor_env && !tailor_static

package onnx

// The folders are those of the environment: CGO_CFLAGS=-I..., CGO_LDFLAGS=-L...

// #cgo LDFLAGS: -ltailor_onnx -ltailor -ltailor_runtime
import "C"
