//go:build tailor_env && !tailor_static

package graph

// The folders are those of the environment: CGO_CFLAGS=-I..., CGO_LDFLAGS=-L...

// #cgo LDFLAGS: -ltailor -ltailor_runtime
import "C"
