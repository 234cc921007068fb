package graph

/*
#include <stdlib.h>
#include "tailor/compiler.h"

extern int32_t tailorGraphProgress(uintptr_t compilation, char* phase, double done);
extern void tailorGraphTake(uintptr_t compilation, void* data, size_t size);

static int32_t call_progress(void* compilation, const char* phase, double done) {
	return tailorGraphProgress((uintptr_t)compilation, (char*)phase, done);
}
static void call_take(void* compilation, const void* data, size_t size) {
	tailorGraphTake((uintptr_t)compilation, (void*)data, size);
}

// Loads the result if `executable` is not NULL, else passes its bytes to a function.
static tailor_status* compile(const tailor_graph* graph, const tailor_runtime* runtime, const char* const* targets,
                              size_t target_count, uint64_t threads, const uint8_t* secret_key, uint64_t max_versions,
                              uint64_t max_code_bytes, const char* const* donated, size_t donated_count,
                              int32_t device, int32_t device_ordinal, int32_t direct_convolutions,
                              int64_t allow_tf32, uint64_t memory_limit, int64_t isolated, int64_t optimize,
                              const char* const* without, size_t without_count, const char* cost_profile,
                              size_t cost_profile_size, int64_t denormals, int32_t progress,
                              uintptr_t compilation, tailor_executable** executable) {
	tailor_compile_options options;
	tailor_compile_options_init(&options);
	options.targets = targets;
	options.target_count = target_count;
	options.threads = threads;
	options.secret_key = secret_key;
	if (max_versions > 0) options.max_versions = max_versions;
	if (max_code_bytes > 0) options.max_code_bytes = max_code_bytes;
	options.donated = donated;
	options.donated_count = donated_count;
	options.device = device;
	options.device_ordinal = device_ordinal;
	options.direct_convolutions = direct_convolutions;
	options.allow_tf32 = allow_tf32;
	options.memory_limit = memory_limit;
	options.isolated = isolated;
	options.optimize = optimize;
	options.without = without;
	options.without_count = without_count;
	options.cost_profile = cost_profile;
	options.cost_profile_size = cost_profile_size;
	options.denormals = denormals;
	if (progress) options.progress = call_progress;
	options.progress_user = (void*)compilation;
	if (executable != NULL) return tailor_graph_compile(graph, runtime, &options, executable);
	return tailor_graph_compile_artifact(graph, &options, call_take, (void*)compilation);
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"strings"
	"unsafe"

	"tailor.internal/tailor"
)

// CompileOptions are the options of compiling.
type CompileOptions struct {
	// Runtime that loads the result, for its custom operators; nil: one of its own.
	Runtime *tailor.Runtime
	// CPU targets, of which the best that fits is chosen at load: "x86-64-v2", "x86-64-v3", "x86-64-v4", each also with
	// more features ("x86-64-v4+avx512bf16"), and "host". None: the three levels, and for matmuls in
	// bf16, of u8 by i8 and in i16 those with instructions for them.
	Targets []string
	// Threads to compile with; 0: tailor.UsableCPUs().
	Threads int
	// Progress gets the phase and the share done; false cancels, which gives Cancelled. It must not use the graph. With
	// a context: return ctx.Err() == nil.
	Progress func(phase string, done float64) bool
	// SecretKey, 64 bytes (Ed25519), signs the artifact.
	SecretKey []byte
	// MaxVersions bounds the versions of a kernel; 0: 8. MaxCodeBytes bounds the code of a target; 0: 64 MiB.
	MaxVersions, MaxCodeBytes uint64
	// Donated names inputs whose memory runs may write. MemoryOf of tailor.TensorInfo names the outputs there.
	Donated []string
	// Device is the device to run on; the zero value is the CPU. Targets must have one for it ("cuda": all
	// architectures of GPUs).
	Device tailor.Device
	// AllowTF32: on GPUs, operands of matmuls in f32 are rounded to tf32 (10 bits of mantissa), for tensor cores.
	AllowTF32 bool
	// DirectConvolutions: on CPUs, no convolution uses Winograd's algorithm.
	DirectConvolutions bool
	// MemoryLimit: bytes that compiling may take beyond the constants of the graph; 0: no limit. Beyond it compiling is
	// ResourceExhausted: by an estimate, or exactly if Isolated.
	MemoryLimit uint64
	// Isolated: compile in a process of its own, so that exhausted memory and crashes of the compiler are errors, and
	// Progress cancels at once.
	Isolated bool
	// Unoptimized: of CPU code, code generation optimizes only the micro-kernels of matmuls and convolutions. Compiling
	// takes 0.5 to 0.8 of the time, runs longer; results are the same bits (docs/compiling.md).
	Unoptimized bool
	// Without names passes to leave out, to find what a result or a time is due to (docs/compiling.md).
	Without []string
	// CostProfile is the text of the cost profile of the machine to compile for (tailor tune profile), by which matmuls
	// keep and choose their tilings. Targets must name exactly one CPU target (docs/compiling.md).
	CostProfile string
	// Denormals: whether CPUs flush denormal numbers to zero.
	Denormals Denormals
}

// Denormals says whether arithmetic in runs on CPUs flushes denormal numbers to zero. On Intel CPUs an instruction on a
// denormal takes about 120 cycles.
type Denormals int

const (
	// DenormalsAuto flushes if a constant of at least 257 elements has denormal ones; Describe says which.
	DenormalsAuto Denormals = iota
	// DenormalsKeep computes with denormals as IEEE 754 defines them.
	DenormalsKeep
	// DenormalsFlush takes denormals for zeros of their sign.
	DenormalsFlush
)

// compilation is the state that the callbacks of one compilation share.
type compilation struct {
	progress func(string, float64) bool
	panicked any // the value that progress panicked with, to be raised again after C code
	artifact []byte
}

// Compile compiles for all shapes at once and loads the result; nil options are the defaults. The graph may then
// grow and be compiled again: an error of Compile does not stick.
func (g *Graph) Compile(options *CompileOptions) (*tailor.Executable, error) {
	var executable *C.tailor_executable
	if _, err := g.compile(options, &executable); err != nil {
		return nil, err
	}
	return tailor.FromC(unsafe.Pointer(executable)), nil
}

// CompileArtifact compiles without loading, for other machines too: the bytes of the artifact.
func (g *Graph) CompileArtifact(options *CompileOptions) ([]byte, error) {
	return g.compile(options, nil)
}

func (g *Graph) compile(options *CompileOptions, executable **C.tailor_executable) ([]byte, error) {
	defer runtime.KeepAlive(g)
	if err := g.Err(); err != nil {
		return nil, err
	}
	if err := g.usable(); err != nil {
		return nil, err
	}
	given := orDefault(options, CompileOptions{})
	if len(given.SecretKey) != 0 && len(given.SecretKey) != 64 {
		return nil, invalid("the secret key has %d bytes, not 64", len(given.SecretKey))
	}
	if given.Threads < 0 {
		return nil, invalid("Threads is %d, below 0", given.Threads)
	}
	kind, ordinal, err := given.Device.Numbers()
	if err != nil {
		return nil, err
	}
	targets, err := newStrings(given.Targets)
	if err != nil {
		return nil, err
	}
	defer targets.free()
	donated, err := newStrings(given.Donated)
	if err != nil {
		return nil, err
	}
	defer donated.free()
	without, err := newStrings(given.Without)
	if err != nil {
		return nil, err
	}
	defer without.free()
	profile := []byte(given.CostProfile)

	state := &compilation{progress: given.Progress}
	handle := cgo.NewHandle(state)
	defer handle.Delete()
	withProgress, direct := C.int32_t(0), C.int32_t(0)
	allowTF32, isolated, optimize := C.int64_t(0), C.int64_t(0), C.int64_t(1)
	if given.Progress != nil {
		withProgress = 1
	}
	if given.DirectConvolutions {
		direct = 1
	}
	if given.AllowTF32 {
		allowTF32 = 1
	}
	if given.Isolated {
		isolated = 1
	}
	if given.Unoptimized {
		optimize = 0
	}
	err = given.Runtime.With(func(runtime unsafe.Pointer) error {
		g.compiling = true
		status := C.compile(g.handle, (*C.tailor_runtime)(runtime), targets.first, C.size_t(targets.count),
			C.uint64_t(given.Threads), (*C.uint8_t)(first(given.SecretKey)), C.uint64_t(given.MaxVersions),
			C.uint64_t(given.MaxCodeBytes), donated.first, C.size_t(donated.count), C.int32_t(kind), C.int32_t(ordinal),
			direct, allowTF32, C.uint64_t(given.MemoryLimit), isolated, optimize, without.first,
			C.size_t(without.count), (*C.char)(unsafe.Pointer(first(profile))), C.size_t(len(profile)),
			C.int64_t(given.Denormals), withProgress, C.uintptr_t(handle), executable)
		g.compiling = false
		return check(status)
	})
	if state.panicked != nil {
		panic(state.panicked)
	}
	return state.artifact, err
}

// cStrings is a list of texts in C memory.
type cStrings struct {
	first **C.char
	count int
}

func newStrings(texts []string) (cStrings, error) {
	for _, text := range texts {
		if strings.IndexByte(text, 0) >= 0 {
			return cStrings{}, invalid("%q has a NUL inside", text)
		}
	}
	if len(texts) == 0 {
		return cStrings{}, nil
	}
	first := (**C.char)(C.calloc(C.size_t(len(texts)), C.size_t(unsafe.Sizeof((*C.char)(nil)))))
	list := unsafe.Slice(first, len(texts))
	for i, text := range texts {
		list[i] = C.CString(text)
	}
	return cStrings{first, len(texts)}, nil
}

func (s cStrings) free() {
	for _, text := range unsafe.Slice(s.first, s.count) {
		C.free(unsafe.Pointer(text))
	}
	C.free(unsafe.Pointer(s.first))
}

func invalid(format string, arguments ...any) error {
	return &tailor.Error{Code: tailor.InvalidArgument, Message: fmt.Sprintf(format, arguments...)}
}
