//go:build tailor_env && !tailor_static

package tailor

// The folders are those of the environment: CGO_CFLAGS=-I..., CGO_LDFLAGS=-L...

// #cgo LDFLAGS: -ltailor_runtime
import "C"
