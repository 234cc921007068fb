// Service answers requests over HTTP with a model: an artifact (.tlr) or an ONNX model.
//
//	service [flags] model.onnx
//
// SIGHUP reloads the file, SIGTERM and SIGINT end the service after open requests are answered.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	config := DefaultConfig()
	config.Flags(flag.CommandLine)
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: service [flags] model.onnx|model.tlr")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		fmt.Fprintf(flag.CommandLine.Output(), "\nservice: expected one model after the flags, got %q\n", flag.Args())
		os.Exit(2)
	}
	if err := config.check(); err != nil {
		log.Fatal(err)
	}
	if err := serve(flag.Arg(0), config); err != nil {
		log.Fatal(err)
	}
}

// serve listens at once, so that /healthz answers while the model is loaded, until a signal ends it.
func serve(path string, config Config) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	listener, err := net.Listen("tcp", config.Address)
	if err != nil {
		return err
	}
	service := NewService(path, config)
	defer service.Close()
	server := &http.Server{Handler: service.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute}
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(listener) }()
	log.Printf("listening on http://%s", listener.Addr())
	loads := make(chan bool, 1) // one that waits: signals during a load ask for one more load
	loads <- true
	go func() { failed <- service.load(loads) }()
	for {
		select {
		case err := <-failed:
			return err
		case received := <-signals:
			if received != syscall.SIGHUP {
				return shutDown(server, service, config)
			}
			select {
			case loads <- true:
			default:
			}
		}
	}
}

// load loads the model each time that it is asked to. An error of the first load ends it.
func (s *Service) load(asked <-chan bool) error {
	for range asked {
		began := time.Now()
		err := s.Reload()
		if err != nil && !s.ready() {
			if strings.Contains(err.Error(), s.path) { // as those of reading files
				return err
			}
			return fmt.Errorf("%s: %w", s.path, err)
		}
		s.metrics.load(err)
		if err != nil {
			log.Printf("%s: the model stays, since it cannot be reloaded: %v", s.path, err)
			continue
		}
		log.Printf("%s: ready after %v", s.path, time.Since(began).Round(time.Millisecond))
	}
	return nil
}

// shutDown refuses new requests, and answers those that there are.
func shutDown(server *http.Server, service *Service, config Config) error {
	log.Print("ending: open requests are answered")
	service.Drain()
	ctx, cancel := context.WithTimeout(context.Background(), config.ShutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil && !errors.Is(err, http.ErrServerClosed) {
		_ = server.Close()
		return fmt.Errorf("requests were open after %v", config.ShutdownTimeout)
	}
	return nil
}
