package tailor

/*
#include <stdlib.h>
#include "tailor/runtime.h"

extern int32_t tailorCustomFunction(uintptr_t op, void* call);
extern int32_t tailorCustomWorkspace(uintptr_t op, void* call, uint64_t* bytes);
extern void tailorReleased(uintptr_t handle);

static int32_t call_function(void* op, const tailor_custom_call* call) {
	return tailorCustomFunction((uintptr_t)op, (void*)call);
}
static int32_t call_workspace(void* op, const tailor_custom_call* call, uint64_t* bytes) {
	return tailorCustomWorkspace((uintptr_t)op, (void*)call, bytes);
}
static void call_released(void* op) { tailorReleased((uintptr_t)op); }

extern void tailorLog(uintptr_t callbacks, int32_t level, char* message);
static void call_log(void* user, int32_t level, const char* message) {
	tailorLog((uintptr_t)user, level, (char*)message);
}
extern void tailorRuntimeParallelFor(uintptr_t callbacks, void* task, void* data, size_t count);
static void call_runtime_parallel_for(void* user, void (*task)(void*, size_t), void* data, size_t count) {
	tailorRuntimeParallelFor((uintptr_t)user, (void*)task, data, count);
}
static tailor_status* create_runtime(tailor_runtime_options options, uintptr_t callbacks, int32_t log, int32_t parallel,
                                     tailor_runtime** out) {
	if (log) options.log = call_log;
	if (parallel) options.parallel_for = call_runtime_parallel_for;
	if (callbacks != 0) options.released = call_released; // also if this fails
	options.user = options.parallel_user = (void*)callbacks;
	return tailor_runtime_create(&options, out);
}

static tailor_status* register_operator(tailor_runtime* runtime, const char* name, size_t name_size, int32_t device,
                                        int32_t sized, uintptr_t handle) {
	tailor_custom_operator op;
	tailor_custom_operator_init(&op);
	op.name = name;
	op.name_size = name_size;
	op.device = device;
	op.function = call_function;
	if (sized) op.workspace = call_workspace;
	op.user = (void*)handle;
	op.released = call_released;
	return tailor_runtime_register(runtime, &op);
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"runtime/cgo"
	"sync"
	"unsafe"
)

// Runtime loads executables, which may call the custom operators registered with it, and which keep them alive: see
// LoadOptions, and CompileOptions of package graph. It may be used from many goroutines.
type Runtime struct {
	mutex   sync.Mutex // of what follows
	handle  *C.tailor_runtime
	calls   int  // in progress
	closing bool // the last call in progress releases the runtime when it ends
}

// RuntimeOptions are the options of a runtime. The library's memory is that of C: an allocator cannot be a Go function.
type RuntimeOptions struct {
	// Log gets the library's messages, on any goroutine, at several at once. Executables that the runtime loaded keep it. A panic
	// in it is reported to standard error, since it would unwind C code. With log/slog:
	//	func(level tailor.LogLevel, message string) { slog.Log(ctx, slog.Level(4*level), message) }
	Log func(level LogLevel, message string)
	// Threads of sessions that ask for 0, and of Executable.RunInto, the caller's included; 0: only the caller's.
	Threads int
	// ParallelFor is the executor of all sessions that have none of their own, of Executable.RunInto too: see NewSessionOn.
	// Threads bounds the parts. A panic in it propagates when the run returns, with complete results.
	ParallelFor func(task func(index int), count int)
	// PooledSessions, PooledBytes bound what each executable keeps for RunInto between calls: sessions, 0: 16; and the memory of
	// idle ones, 0: no bound.
	PooledSessions, PooledBytes int
	// MatmulProvider, a tailor_product_provider* of a C library, computes the matmuls that programs offer; nil: none. The objects
	// that it points to outlive the runtime and all its executables. MatmulChoice is the text of a decision tree that selects the
	// matmuls to offer; empty: all.
	MatmulProvider unsafe.Pointer
	MatmulChoice   string
	// PerfMap: loading names generated functions for Linux's perf, in /tmp/perf-<process>.map.
	PerfMap bool
	// CuBLASLt: on GPUs cuBLASLt computes them. FailedPrecondition without the library.
	CuBLASLt bool
}

// LogLevel is the severity of a message.
type LogLevel int32

const (
	LogInfo    LogLevel = 0
	LogWarning LogLevel = 1
	LogError   LogLevel = 2
)

func (l LogLevel) String() string {
	switch l {
	case LogInfo:
		return "info"
	case LogWarning:
		return "warning"
	case LogError:
		return "error"
	}
	return fmt.Sprintf("level %d", int32(l))
}

// runtimeCallbacks are the caller's functions of a runtime.
type runtimeCallbacks struct {
	log         func(LogLevel, string)
	parallelFor func(task func(index int), count int)
}

func (c *runtimeCallbacks) logged(level LogLevel, message string) {
	defer func() {
		if panicked := recover(); panicked != nil {
			fmt.Fprintf(os.Stderr, "tailor: the log function panicked: %v, for the message: %s\n", panicked, message)
		}
	}()
	c.log(level, message)
}

// NewRuntime makes a runtime with default options.
func NewRuntime() (*Runtime, error) { return NewRuntimeWith(RuntimeOptions{}) }

// NewRuntimeWith makes a runtime with options.
func NewRuntimeWith(options RuntimeOptions) (*Runtime, error) {
	for name, value := range map[string]int{"Threads": options.Threads, "PooledSessions": options.PooledSessions,
		"PooledBytes": options.PooledBytes} {
		if value < 0 {
			return nil, invalid("%s is %d, below 0", name, value)
		}
	}
	var created C.tailor_runtime_options
	C.tailor_runtime_options_init(&created)
	created.parallel_threads = C.uint64_t(options.Threads)
	created.pooled_sessions, created.pooled_bytes = C.uint64_t(options.PooledSessions), C.uint64_t(options.PooledBytes)
	created.product_provider = (*C.tailor_product_provider)(options.MatmulProvider)
	created.perf_map = C.int64_t(truth(options.PerfMap))
	created.cublas_lt = C.int64_t(truth(options.CuBLASLt))
	if options.MatmulChoice != "" {
		created.product_choice = C.CString(options.MatmulChoice)
		created.product_choice_size = C.uint64_t(len(options.MatmulChoice))
		defer C.free(unsafe.Pointer(created.product_choice))
	}
	var pin cgo.Handle // the library's, until it is released
	if options.Log != nil || options.ParallelFor != nil {
		pin = cgo.NewHandle(&runtimeCallbacks{options.Log, options.ParallelFor})
	}
	r := &Runtime{}
	if err := check(C.create_runtime(created, C.uintptr_t(pin), truth(options.Log != nil), truth(options.ParallelFor != nil),
		&r.handle)); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(r, (*Runtime).Close)
	return r, nil
}

// Close releases the runtime; executables that it loaded stay usable. During a call it does not wait: the runtime is released
// when the call ends. It may be called twice.
func (r *Runtime) Close() {
	if r == nil {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.closing = true
	if r.calls == 0 {
		r.release()
	}
}

// release needs the mutex.
func (r *Runtime) release() {
	C.tailor_runtime_release(r.handle)
	r.handle = nil
	runtime.SetFinalizer(r, nil)
}

func (r *Runtime) enter() error {
	if r == nil {
		return closed("runtime")
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.handle == nil || r.closing {
		return closed("runtime")
	}
	r.calls++
	return nil
}

func (r *Runtime) leave() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.calls--
	if r.closing && r.calls == 0 {
		r.release()
	}
}

// With calls function with the tailor_runtime*, which stays live during the call, for package graph. It is NULL, which means
// one with default options, if r is nil.
func (r *Runtime) With(function func(handle unsafe.Pointer) error) error {
	if r == nil {
		return function(nil)
	}
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	return function(unsafe.Pointer(r.handle))
}

// Register registers a custom operator for executables that are loaded from then on, on any device of that kind. Its function
// is called on the thread of the run, from several goroutines at once if several sessions run. An error fails the run with
// its text and, if it is an *Error, its code; a panic fails it with Internal.
//
// The runtime and all executables that use the operator keep the function. Errors: InvalidArgument for an empty name, one
// that begins with "tailor.", one that is registered already, and no function.
func (r *Runtime) Register(name string, device Device, function func(call *CustomCall) error) error {
	return r.register(name, device, &customOperator{function: function})
}

// RegisterWithWorkspace is Register for a function that needs memory of its own: workspace gives its size in bytes, by the
// dims, element types and attributes of the call alone.
func (r *Runtime) RegisterWithWorkspace(name string, device Device, workspace func(call *CustomCall) (int64, error),
	function func(call *CustomCall) error) error {
	if workspace == nil {
		return noFunction(name, "workspace function")
	}
	return r.register(name, device, &customOperator{function: function, workspace: workspace})
}

func (r *Runtime) register(name string, device Device, op *customOperator) error {
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	if op.function == nil {
		return noFunction(name, "function")
	}
	kind, _, err := device.Numbers()
	if err != nil {
		return err
	}
	op.onDevice = device.kind != CPU.kind
	cName := C.CString(name)
	defer C.free(unsafe.Pointer(cName))
	return check(C.register_operator(r.handle, cName, C.size_t(len(name)), C.int32_t(kind), truth(op.workspace != nil),
		C.uintptr_t(cgo.NewHandle(op))))
}

func noFunction(name, kind string) error {
	return invalid("custom operator %q: the %s is nil", name, kind)
}
