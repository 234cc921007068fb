// Encoder runs a sentence encoder: encoder ARTIFACT INPUTS OUTPUTS. INPUTS has i64 numbers: B, S, ids[B, S], mask[B, S] of one
// batch after the other. Prints the milliseconds until the artifact is loaded and until the first result.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"tailor.internal/tailor"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: encoder ARTIFACT INPUTS OUTPUTS")
	}
	in, out := bufio.NewReader(must(os.Open(os.Args[2]))), must(os.Create(os.Args[3]))

	begin := time.Now()
	executable := must(tailor.Load(os.Args[1]))
	session := must(executable.NewSession(1))
	loaded, first := time.Since(begin), time.Duration(0)
	for {
		var size [2]int64
		if err := binary.Read(in, binary.LittleEndian, &size); err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		var inputs [2]*tailor.Tensor // ids, mask
		for i := range inputs {
			inputs[i] = must(tailor.NewTensor(tailor.I64, size[:]...))
			must(io.ReadFull(in, must(inputs[i].Bytes())))
		}
		outputs := must(session.Run(inputs[:]...))
		if first == 0 {
			first = time.Since(begin)
		}
		must(out.Write(must(outputs[0].Bytes())))
	}
	must(0, out.Close())
	fmt.Printf("%.2f %.2f\n", loaded.Seconds()*1e3, first.Seconds()*1e3)
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
