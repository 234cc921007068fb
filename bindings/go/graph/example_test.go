package graph_test

import (
	"fmt"
	"log"

	"tailor.internal/tailor"
	"tailor.internal/tailor/graph"
)

func Example() {
	g, err := graph.New("scale")
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	batch := g.Symbol("batch", &graph.SymbolOptions{Max: 512})
	x := g.Input("x", tailor.F32, batch, graph.Int(4))
	g.Output("y", x.Mul(graph.Number(2)).Softmax(-1))
	executable, err := g.Compile(nil) // once, for every batch; err is the first of all these calls
	if err != nil {
		log.Fatal(err)
	}
	defer executable.Close()

	session, err := executable.NewSession(1)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	input, err := tailor.NewTensor(tailor.F32, 3, 4)
	if err != nil {
		log.Fatal(err)
	}
	defer input.Close()
	outputs, err := session.Run(input)
	if err != nil {
		log.Fatal(err)
	}
	y, err := tailor.Slice[float32](outputs[0])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outputs[0].Dims(), y[:4])
	// Output: [3 4] [0.25 0.25 0.25 0.25]
}
