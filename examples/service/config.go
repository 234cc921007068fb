package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"tailor.internal/service/array"
	"tailor.internal/tailor"
	"tailor.internal/tailor/graph"
	"tailor.internal/tailor/onnx"
)

// Config is the command line.
type Config struct {
	Address  string
	Sessions int
	Threads  int

	BatchSymbol  string
	MaxBatch     int64
	BatchWait    time.Duration
	BatchInexact bool
	Pad          string // "symbol:mask"
	PadTo        int64

	QueueLength     int
	MaxBody         int64
	MaxWorkspace    uint64
	Timeout         time.Duration
	ShutdownTimeout time.Duration

	ONNX      onnx.Options
	PublicKey []byte
}

// DefaultConfig are the defaults of the flags.
func DefaultConfig() Config {
	return Config{Address: "127.0.0.1:8080", Sessions: runtime.NumCPU(), Threads: 1, MaxBatch: 32,
		BatchWait: time.Millisecond, PadTo: 32, QueueLength: 256, MaxBody: 16 << 20, MaxWorkspace: 1 << 30,
		Timeout: 30 * time.Second, ShutdownTimeout: 30 * time.Second,
		ONNX: onnx.Options{Symbols: map[string]graph.SymbolOptions{}, Dims: map[string]string{},
			Fixed: map[string]*tailor.Tensor{}}}
}

// Flags registers the flags that set the config.
func (c *Config) Flags(flags *flag.FlagSet) {
	flags.StringVar(&c.Address, "address", c.Address, "address to listen on")
	flags.IntVar(&c.Sessions, "sessions", c.Sessions, "number of runs at a time")
	flags.IntVar(&c.Threads, "threads", c.Threads, "threads of each run")
	flags.StringVar(&c.BatchSymbol, "batch-symbol", c.BatchSymbol,
		"symbol along which requests are joined; \"none\": never; empty: the first dim of the first input")
	flags.Int64Var(&c.MaxBatch, "max-batch", c.MaxBatch, "rows of a batch")
	flags.DurationVar(&c.BatchWait, "batch-wait", c.BatchWait, "how long a request waits for others to join it")
	flags.BoolVar(&c.BatchInexact, "batch-inexact", c.BatchInexact,
		"join requests without the test run that compares their answers with those to each alone")
	flags.StringVar(&c.Pad, "pad", c.Pad, "symbol and input, as `symbol:mask`: requests with different sizes of the symbol are "+
		"joined, padded with zeros; the input is 0 at the padding; answers may differ from those alone in the last bits")
	flags.Int64Var(&c.PadTo, "pad-to", c.PadTo, "sizes that -pad joins have the same next multiple of this")
	flags.IntVar(&c.QueueLength, "queue", c.QueueLength, "requests that may wait; others get status 429")
	flags.Int64Var(&c.MaxBody, "max-body", c.MaxBody, "bytes of a request")
	flags.Uint64Var(&c.MaxWorkspace, "max-workspace", c.MaxWorkspace, "bytes of memory that the run of a request may take")
	flags.DurationVar(&c.Timeout, "timeout", c.Timeout, "time for a request; 0: no limit")
	flags.DurationVar(&c.ShutdownTimeout, "shutdown-timeout", c.ShutdownTimeout, "time for open requests after SIGTERM")
	flags.Func("symbol", "range of a symbol of an ONNX model, `name=min..max` (repeatable)", c.symbol)
	flags.Func("dim", "dim of an ONNX model, by dim_param or <input>_dim<i>: `name=expression` (repeatable)", c.dim)
	flags.Func("fixed", "elements of an input that compilation has to know: `input=file.npy` (repeatable)", c.fixed)
	flags.Func("public-key", "`file` of tailor keygen (PEM, or 64 hex digits): artifacts must be signed with the secret key", c.publicKey)
}

func (c *Config) symbol(text string) error {
	name, bounds, _ := strings.Cut(text, "=")
	low, high, found := strings.Cut(bounds, "..")
	min, errOfMin := strconv.ParseInt(low, 10, 64)
	max, errOfMax := strconv.ParseInt(high, 10, 64)
	if !found || errOfMin != nil || errOfMax != nil {
		return fmt.Errorf("%q is not name=min..max", text)
	}
	c.ONNX.Symbols[name] = graph.SymbolOptions{Min: min, Max: max}
	return nil
}

func (c *Config) dim(text string) error {
	name, dim, found := strings.Cut(text, "=")
	if !found {
		return fmt.Errorf("%q is not name=expression", text)
	}
	c.ONNX.Dims[name] = dim
	return nil
}

func (c *Config) fixed(text string) error {
	name, path, _ := strings.Cut(text, "=")
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	elements, err := array.ParseNpy(file, name)
	if err != nil {
		return err
	}
	c.ONNX.Fixed[name], err = elements.Tensor()
	return err
}

func (c *Config) publicKey(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	c.PublicKey, err = parsePublicKey(text)
	return err
}

func parsePublicKey(text []byte) ([]byte, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		key, err := hex.DecodeString(strings.TrimSpace(string(text)))
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, errors.New("it holds neither a public key in PEM nor 64 hex digits")
		}
		return key, nil
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("the key is none of Ed25519")
	}
	return key, nil
}

// check is an error if a number is out of range.
func (c *Config) check() error {
	for name, value := range map[string]int64{"sessions": int64(c.Sessions), "threads": int64(c.Threads), "max-batch": c.MaxBatch, "pad-to": c.PadTo,
		"queue": int64(c.QueueLength), "max-body": c.MaxBody} {
		if value < 1 {
			return fmt.Errorf("-%s is %d, but must be at least 1", name, value)
		}
	}
	if c.Pad != "" && strings.Count(c.Pad, ":") != 1 {
		return fmt.Errorf("-pad %q is not symbol:mask", c.Pad)
	}
	return nil
}
