//go:build !tailor_env && !tailor_static

package graph

// #cgo pkg-config: tailor
import "C"
