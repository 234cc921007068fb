// Compile_onnx compiles an ONNX model, runs it on f32 ones of dims [2, 4], and saves it:
// compile_onnx model.onnx model.tlr
package main

import (
	"fmt"
	"log"
	"os"

	"tailor.internal/tailor"
	"tailor.internal/tailor/onnx"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: compile_onnx model.onnx model.tlr")
	}
	g := must(onnx.Load(os.Args[1], nil))
	executable := must(g.Compile(nil)) // once, for all shapes
	session := must(executable.NewSession(1))
	x := must(tailor.NewTensor(tailor.F32, 2, 4))
	ones := must(tailor.Slice[float32](x))
	for i := range ones {
		ones[i] = 1
	}
	outputs := must(session.Run(x))
	if err := executable.Save(os.Args[2]); err != nil {
		log.Fatal(err)
	}
	fmt.Println(outputs[0].Dims(), must(tailor.Slice[float32](outputs[0])))
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
