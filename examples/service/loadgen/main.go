// Loadgen sends requests of random sizes to the service, and prints throughput and percentiles.
//
//	loadgen -duration 30s -callers 8 -size S=1..128 -max ids=30000 -ones mask
package main

import (
	"flag"
	"fmt"
	"log"
	"strconv"
	"strings"
	"time"

	"tailor.internal/service/load"
)

func main() {
	options := load.Options{Sizes: map[string]load.Range{}, Max: map[string]int64{}}
	flag.StringVar(&options.URL, "url", "http://127.0.0.1:8080", "address of the service")
	flag.DurationVar(&options.Duration, "duration", 10*time.Second, "how long to send")
	flag.IntVar(&options.Callers, "callers", 8, "requests at a time")
	flag.IntVar(&options.Bodies, "requests", 100, "different requests")
	flag.Int64Var(&options.Seed, "seed", 1, "seed of sizes and elements")
	flag.Float64Var(&options.Tolerance, "tolerance", 0, "of floats, for a service that pads; 0: answers must have the same bits")
	flag.Func("size", "`symbol=min..max`: sizes of a symbol (repeatable); others are 1", func(text string) error {
		name, bounds, _ := strings.Cut(text, "=")
		low, high, _ := strings.Cut(bounds, "..")
		min, errOfMin := strconv.ParseInt(low, 10, 64)
		max, errOfMax := strconv.ParseInt(high, 10, 64)
		if errOfMin != nil || errOfMax != nil || min < 0 || max < min {
			return fmt.Errorf("%q is not symbol=min..max", text)
		}
		options.Sizes[name] = load.Range{Min: min, Max: max}
		return nil
	})
	flag.Func("max", "`input=number`: integers of an input are below it (repeatable); others are 0 or 1", func(text string) error {
		name, number, _ := strings.Cut(text, "=")
		max, err := strconv.ParseInt(number, 10, 64)
		options.Max[name] = max
		return err
	})
	flag.Func("ones", "`input` whose elements are 1, as of masks (repeatable)", func(name string) error {
		options.Ones = append(options.Ones, name)
		return nil
	})
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("unknown arguments %q: flags begin with -", flag.Args())
	}
	if options.URL = strings.TrimSuffix(options.URL, "/"); !strings.Contains(options.URL, "://") {
		options.URL = "http://" + options.URL
	}
	report, err := load.Run(options)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report)
	if report.Wrong > 0 {
		log.Fatal("answers differ from those of single requests")
	}
}
