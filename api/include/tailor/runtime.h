/* Tailor runtime: loads a compiled artifact and runs it at any shape. C99; libtailor_runtime.so.
 *
 * Conventions, for every function of this header and of tailor/compiler.h:
 *  - Errors. A fallible call returns tailor_status*: NULL is success; any other status belongs to the caller, who frees
 *    it with tailor_status_release. Exhausted memory gives a static status that release ignores. On error no
 *    out-parameter is written. No exception leaves the library.
 *  - Handles are opaque. `_create`/`_load` make them; the matching `_release` frees them and accepts NULL. A handle of
 *    the wrong kind is INVALID_ARGUMENT; using a released one is undefined.
 *  - Threads. A `const` handle parameter may be used from many threads at once, a non-const one by one call at a time.
 *    A call that finds its session or graph in use by another call, on any thread or from a callback, is
 *    FAILED_PRECONDITION and changes nothing: "tailor_session_run: the session is in use by another call; ...". The
 *    caller serializes the calls, or retries. Reading a graph is refused while another call changes it.
 *  - Releasing. A session or graph that is released during a call, e.g. from a callback, is freed when that call
 *    returns; until then other calls are FAILED_PRECONDITION. A call that begins after the free is undefined, so
 *    threads that share a handle must agree on who releases it, after the last calls of the others. If another thread
 *    releases it at the very end of a call, the handle's memory may leak.
 *  - Structs that cross the boundary begin with struct_size and only ever grow; the few without it are frozen
 *    (docs/abi.md). Their `_init` function, compiled into the caller, sets the caller's size and the defaults; other
 *    languages do the same. A NULL options pointer means the defaults.
 *  - Strings in are UTF-8 with a length in bytes; SIZE_MAX means NUL-terminated. Strings out are NUL-terminated and
 *    borrowed from the handle that returned them.
 *  - Callbacks must not throw or unwind. Their calls on the session or graph of the enclosing call are refused as
 *    above, except reads of a graph during its compilation.
 *  - Tensors are dense and row-major; dims are int64; data is aligned to its element type.
 *  - An executable runs on the CPU, or on the CUDA device for which it was loaded (docs/gpu.md).
 *  - Artifacts are native code: loading one requires the same trust as loading a shared library. */
#ifndef TAILOR_RUNTIME_H_
#define TAILOR_RUNTIME_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tailor/version.h"

#if defined(__GNUC__)
#define TAILOR_API __attribute__((visibility("default")))
#else
#define TAILOR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ---------------------------------------------------------------------------------- */

#define TAILOR_OK 0
#define TAILOR_CANCELLED 1
#define TAILOR_INVALID_ARGUMENT 3
#define TAILOR_DEADLINE_EXCEEDED 4
#define TAILOR_NOT_FOUND 5
#define TAILOR_RESOURCE_EXHAUSTED 8
#define TAILOR_FAILED_PRECONDITION 9
#define TAILOR_OUT_OF_RANGE 11
#define TAILOR_UNIMPLEMENTED 12
#define TAILOR_INTERNAL 13
#define TAILOR_DATA_LOSS 15

typedef struct tailor_status tailor_status;

/* TAILOR_OK for NULL. */
TAILOR_API int32_t tailor_status_code(const tailor_status* status);
/* "" for NULL. Borrowed from `status`. Message and node are valid UTF-8: U+FFFD replaces NULs and invalid bytes. */
TAILOR_API const char* tailor_status_message(const tailor_status* status);
/* The user's name of the graph node at fault, or "" if unknown. Borrowed from `status`. */
TAILOR_API const char* tailor_status_node(const tailor_status* status);
TAILOR_API void tailor_status_release(tailor_status* status);
/* Makes a status, for callbacks of hosts and for bindings. `code` must not be TAILOR_OK. */
TAILOR_API tailor_status* tailor_status_create(int32_t code, const char* message, size_t message_size, const char* node,
                                               size_t node_size);

/* ---- Types and tensors ----------------------------------------------------------------------- */

#define TAILOR_BOOL 1 /* one byte, 0 or 1 */
#define TAILOR_I8 2
#define TAILOR_I16 3
#define TAILOR_I32 4
#define TAILOR_I64 5
#define TAILOR_U8 6
#define TAILOR_U16 7
#define TAILOR_U32 8
#define TAILOR_U64 9
#define TAILOR_F16 10
#define TAILOR_BF16 11
#define TAILOR_F32 12
#define TAILOR_F64 13

#define TAILOR_MAX_RANK 8

/* Describes memory that belongs to the caller. Runs take arrays of these; `struct_size` is read from the first element
 * and is the stride of the array, in bytes. */
typedef struct tailor_tensor {
  uint64_t struct_size; /* sizeof(tailor_tensor) */
  void* data;           /* may be NULL if the tensor has no elements */
  uint64_t data_bytes;  /* capacity at `data`; with negative strides, from the lowest to the end of the highest
                         * element */
  int32_t dtype;
  int32_t rank;
  int64_t dims[TAILOR_MAX_RANK];
  const int64_t* strides; /* in elements; NULL: dense. Other than dense strides need copy_strided, else
                           * INVALID_ARGUMENT */
  int64_t device;         /* location of data: 0 host memory, 1 memory of the executable's device */
} tailor_tensor;

static inline void tailor_tensor_init(tailor_tensor* tensor) {
  memset(tensor, 0, sizeof(*tensor));
  tensor->struct_size = sizeof(*tensor);
}

/* The library's version, "0.1.0". Borrowed, static. */
TAILOR_API const char* tailor_version(void);
/* The library's TAILOR_VERSION_NUMBER: 100 is 0.1.0. */
TAILOR_API int32_t tailor_version_number(void);
/* "x86-64-v3; uses: ...; cannot use: ...": the level of this machine's CPU, and the CPU features that the library uses
 * or cannot use, with reasons. Borrowed, static. */
TAILOR_API const char* tailor_cpu_features(void);
/* The number of CPUs that the calling thread may use, at least 1: those of its affinity mask (cpusets included), at
 * most the CPU quota of the process's control groups, rounded up. */
TAILOR_API uint64_t tailor_usable_cpus(void);

/* ---- Matmuls by another library -------------------------------------------------------------- */

/* Memory layout of a matmul's rhs. */
#define TAILOR_ROWS_AND_COLUMNS 0 /* row, column and batch strides in rhs_strides */
#define TAILOR_PANELS_16 1        /* [ceil(n/16)][k][16], zero beyond column n */
#define TAILOR_PAIR_PANELS_16 2   /* [ceil(n/16)][ceil(k/2)][16][2], zero beyond column n and row k */

/* One matmul: out[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]. Strides are in elements, for batch, row and
 * column. `out` is dense. An rhs in panels has a batch stride only. */
typedef struct tailor_product {
  uint64_t struct_size;
  int64_t dtype; /* of lhs, rhs and out: TAILOR_F32, or TAILOR_BF16 with sums in f32, rounded once */
  int64_t rhs_layout;
  int64_t rhs_constant; /* 1: rhs is constant until `forget` is called for it */
  int64_t threads;      /* of the session, including the caller's */
  int64_t batch, m, n, k;
  int64_t lhs_strides[3], rhs_strides[3];
  const void* lhs;
  const void* rhs;
  void* out;
} tailor_product;

/* A matmul provider: a library that computes matmuls in place of generated kernels, for programs compiled with
 * tailor_compile_options.offer_products. Its functions are called on any thread that runs a session, concurrently. */
typedef struct tailor_product_provider {
  uint64_t struct_size;
  void* user;
  /* Whether `multiply` accepts matmuls with these dim sizes, strides and, if constant, this rhs; all other addresses
   * are NULL. 0: the program's own kernel runs. Called at a session's first run with new dim sizes: the time to
   * prepare. */
  int32_t (*take)(void* user, const tailor_product* product);
  /* Computes the matmul. Returns 0, or an error code with which the run fails. */
  int32_t (*multiply)(void* user, const tailor_product* product);
  /* The constant at `rhs`, which `take` may never have seen, is about to be freed. May be NULL. */
  void (*forget)(void* user, const void* rhs);
} tailor_product_provider;

static inline void tailor_product_provider_init(tailor_product_provider* provider) {
  memset(provider, 0, sizeof(*provider));
  provider->struct_size = sizeof(*provider);
}

/* ---- Runtime --------------------------------------------------------------------------------- */

typedef struct tailor_runtime tailor_runtime;

/* An executor of the host. Calls task(task_data, i) for every i in [0, count), in any order, concurrently or serially
 * on the calling thread, and returns when all calls have returned. Repeated indices run once; indices that a failing
 * executor omits are run on the calling thread afterwards. It is called on the thread that runs the session, for each
 * kernel worth parallelizing; calls on that session from within are FAILED_PRECONDITION. Neither side may throw or
 * unwind through the other. */
typedef void (*tailor_parallel_for)(void* user, void (*task)(void* task_data, size_t index), void* task_data,
                                    size_t count);

/* Allocator for the library's own memory (workspaces, outputs); NULL functions mean the C library's. The functions are
 * called on any thread that calls the library, concurrently. `alignment` is a power of two; a NULL from allocate is
 * RESOURCE_EXHAUSTED. `message` is valid during the call; it begins with the artifact's path, "model.tlr: ", or for an
 * executable from memory with the name of its graph, "graph \"encoder\": ". */
typedef struct tailor_runtime_options {
  uint64_t struct_size;
  void* (*allocate)(void* user, size_t bytes, size_t alignment);
  void (*deallocate)(void* user, void* data, size_t bytes);
  void (*log)(void* user, int32_t level, const char* message); /* level 0 info, 1 warning, 2 error */
  void* user;
  /* Computes the matmuls that programs offer; NULL: the programs' own kernels do. The struct is copied; the objects
   * that it points to must outlive the runtime and all its executables. */
  const tailor_product_provider* product_provider;
  const char* product_choice;   /* text of a decision tree that selects the matmuls to offer; NULL: all */
  uint64_t product_choice_size; /* in bytes */
  /* 1: on CUDA devices cuBLASLt computes the matmuls that programs offer and product_choice selects. Loads
   * libcublasLt.so.13 or .12, or the library named by the environment variable TAILOR_CUBLASLT; FAILED_PRECONDITION
   * without it. */
  int64_t cublas_lt;
  /* The executor of all sessions that have none of their own, those of tailor_executable_run included. NULL: these
   * sessions use threads of the runtime. */
  tailor_parallel_for parallel_for;
  void* parallel_user;
  /* Threads, or parts for the executor, of sessions whose `threads` is 0, those of tailor_executable_run included.
   * 0: 1, only the caller's thread. */
  uint64_t parallel_threads;
  /* What each executable keeps of the sessions of tailor_executable_run between calls. A session that is beyond
   * pooled_bytes when its call ends is trimmed, as by tailor_session_trim; one beyond pooled_sessions is freed. */
  uint64_t pooled_sessions; /* 0: 16; at most 4096 */
  uint64_t pooled_bytes;    /* memory of all idle sessions of an executable; 0: no limit */
  /* 1: loading appends the generated functions, named by graph, kernel and version, to /tmp/perf-<process>.map, where
   * Linux's perf looks for them. `log` gets a warning if it cannot be written. */
  int64_t perf_map;
  /* Called once, with `user`, when the runtime and all that keeps it alive are gone: executables, sessions, outputs
   * that were taken. None of the functions above is called afterwards, so that what they use may be freed. Called on
   * the thread that releases the last of them, also if tailor_runtime_create fails. May be NULL. */
  void (*released)(void* user);
} tailor_runtime_options;

static inline void tailor_runtime_options_init(tailor_runtime_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
}
/* A NULL tailor_runtime* always means one with default options. */
TAILOR_API tailor_status* tailor_runtime_create(const tailor_runtime_options* options, tailor_runtime** out);
/* Executables keep their runtime alive. */
TAILOR_API void tailor_runtime_release(tailor_runtime* runtime);

#define TAILOR_DEVICE_CPU 0
#define TAILOR_DEVICE_CUDA 1

/* A device on which executables can run. Text is borrowed, static. */
typedef struct tailor_device_info {
  uint64_t struct_size;
  int32_t kind;         /* TAILOR_DEVICE_* */
  int32_t ordinal;      /* index within its kind, for tailor_load_options.device_ordinal */
  const char* name;     /* "NVIDIA H100 80GB HBM3", "x86-64-v4" */
  int32_t major, minor; /* compute capability; 0 for the CPU */
  int32_t processors;   /* multiprocessors; 0 for the CPU */
  int32_t driver;       /* CUDA version that the driver supports, 12040 for 12.4; 0 for the CPU */
  uint64_t memory_bytes;
} tailor_device_info;

static inline void tailor_device_info_init(tailor_device_info* info) {
  memset(info, 0, sizeof(*info));
  info->struct_size = sizeof(*info);
}
/* The number of devices: the CPU, which comes first, and the CUDA devices. The first use of any of these functions
 * loads the CUDA driver: libcuda.so.1, or the library named by the environment variable TAILOR_CUDA_DRIVER. 0 for an
 * invalid runtime; 1 if memory is out while looking for CUDA devices. */
TAILOR_API size_t tailor_runtime_device_count(const tailor_runtime* runtime);
/* Errors: OUT_OF_RANGE for `index`. */
TAILOR_API tailor_status* tailor_runtime_device(const tailor_runtime* runtime, size_t index, tailor_device_info* out);
/* The reason why no CUDA device is available, or "" if there is one. Borrowed, static. */
TAILOR_API const char* tailor_runtime_cuda_absence(const tailor_runtime* runtime);

/* ---- Executable: immutable, shared between threads ------------------------------------------- */

typedef struct tailor_executable tailor_executable;

typedef struct tailor_load_options {
  uint64_t struct_size;
  int32_t verify_constants;   /* 1: verify the hashes of the constants too, not only of header, metadata, images */
  int32_t copy_constants;     /* 1: read constants into memory. 0: map the file, which must then not be written to
                               * (checked by tailor_session_create) */
  const char* target;         /* force a variant by name ("x86-64-v2"); NULL: the best that this machine runs */
  const uint8_t* public_key;  /* Ed25519 public key, 32 bytes: reject artifacts not signed with its secret key;
                               * constants are verified and copied. Or NULL */
  const char* cost_profile;   /* text of this machine's cost profile, by which tilings of matmuls are chosen; or NULL */
  uint64_t cost_profile_size; /* in bytes */
  int32_t device;             /* TAILOR_DEVICE_*: where to run. There is no fallback to another */
  int32_t device_ordinal;     /* ordinal of the CUDA device */
} tailor_load_options;

static inline void tailor_load_options_init(tailor_load_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
}

/* Loads an artifact file.
 * Errors:  NOT_FOUND; DATA_LOSS naming the damaged part; FAILED_PRECONDITION if no variant runs on this machine
 *          (listing each reason), if the device does not exist, or if none of the artifact's device images runs on it;
 *          RESOURCE_EXHAUSTED if the device's memory is out. */
TAILOR_API tailor_status* tailor_executable_load(const tailor_runtime* runtime, const char* path, size_t path_size,
                                                 const tailor_load_options* options, tailor_executable** out);
/* Loads an artifact from memory. The bytes are borrowed until `released(user)` is called, once, when the executable is
 * gone or loading failed. NULL `released`: all needed bytes are copied before this returns. */
TAILOR_API tailor_status* tailor_executable_load_memory(const tailor_runtime* runtime, const void* data, size_t size,
                                                        const tailor_load_options* options,
                                                        void (*released)(void* user), void* user,
                                                        tailor_executable** out);
/* Adds a reference. Each reference needs one release. */
TAILOR_API void tailor_executable_retain(const tailor_executable* executable);
TAILOR_API void tailor_executable_release(tailor_executable* executable);

/* Writes the artifact: to a temporary file beside `path`, then fsync and rename. The bytes equal those loaded. Symbolic
 * links are followed and kept; a replaced file keeps its permissions. Errors: FAILED_PRECONDITION if `path` is a
 * directory, a device, a FIFO or a socket, or a system call fails; then nothing changed. */
TAILOR_API tailor_status* tailor_executable_save(const tailor_executable* executable, const char* path,
                                                 size_t path_size);
/* Writes the artifact to `data`, which has room for `capacity` bytes, and its size in bytes to `*size`. NULL `data`:
 * only the size, which is the same at each call. Errors: INVALID_ARGUMENT if it exceeds `capacity`; FAILED_PRECONDITION
 * if the file from which the executable was loaded was written to since. */
TAILOR_API tailor_status* tailor_executable_save_memory(const tailor_executable* executable, void* data,
                                                        size_t capacity, size_t* size);

/* 0 if the handle is not an executable. */
TAILOR_API size_t tailor_executable_input_count(const tailor_executable* executable);
TAILOR_API size_t tailor_executable_output_count(const tailor_executable* executable);
TAILOR_API size_t tailor_executable_symbol_count(const tailor_executable* executable);

/* One input or output. Pointers are borrowed from the executable. Errors: OUT_OF_RANGE for `index`. */
typedef struct tailor_tensor_info {
  uint64_t struct_size;
  const char* name;
  int32_t dtype;
  int32_t rank;
  int64_t extents[TAILOR_MAX_RANK];       /* constant dim sizes; -1: not constant */
  const char* dim_texts[TAILOR_MAX_RANK]; /* "B", "4*S + 1", "384" */
  int64_t donated;                        /* inputs, 1: runs may write its memory (tailor_compile_options.donated) */
  int64_t memory_of;                      /* outputs: index of the donated input in whose memory it is written, or -1 */
} tailor_tensor_info;

static inline void tailor_tensor_info_init(tailor_tensor_info* info) {
  memset(info, 0, sizeof(*info));
  info->struct_size = sizeof(*info);
  info->memory_of = -1;
}
TAILOR_API tailor_status* tailor_executable_input(const tailor_executable* executable, size_t index,
                                                  tailor_tensor_info* out);
TAILOR_API tailor_status* tailor_executable_output(const tailor_executable* executable, size_t index,
                                                   tailor_tensor_info* out);

typedef struct tailor_symbol_info {
  uint64_t struct_size;
  const char* name;
  int64_t min, max, multiple_of;
} tailor_symbol_info;

static inline void tailor_symbol_info_init(tailor_symbol_info* info) {
  memset(info, 0, sizeof(*info));
  info->struct_size = sizeof(*info);
}
TAILOR_API tailor_status* tailor_executable_symbol(const tailor_executable* executable, size_t index,
                                                   tailor_symbol_info* out);

/* One kernel launch of the program in use. Launches of equal kernels share machine code. Errors: OUT_OF_RANGE for
 * `index`. */
typedef struct tailor_launch_info {
  uint64_t struct_size;
  const char* kernel;  /* name; borrowed from the executable */
  uint64_t versions;   /* number of versions; a run uses one */
  uint64_t dropped;    /* versions left out due to max_versions, max_code_bytes or spills; `describe` lists them */
  uint64_t code;       /* index of the kernel */
  uint64_t code_bytes; /* machine code of all versions, in bytes; 0 if the artifact does not record it */
} tailor_launch_info;

static inline void tailor_launch_info_init(tailor_launch_info* info) {
  memset(info, 0, sizeof(*info));
  info->struct_size = sizeof(*info);
}
/* 0 if the handle is not an executable. */
TAILOR_API size_t tailor_executable_launch_count(const tailor_executable* executable);
TAILOR_API tailor_status* tailor_executable_launch(const tailor_executable* executable, size_t index,
                                                   tailor_launch_info* out);

/* A JSON description of the program: symbols, signature, facts, checks, launches with versions, variants, provenance,
 * sizes. Its `visits` count the nodes, terms and pairs that each compiler pass visited; they are the same on every
 * machine. Borrowed from the executable. */
TAILOR_API tailor_status* tailor_executable_describe(const tailor_executable* executable, const char** json);

/* Describes an artifact file without loading it, on any machine. No variant is in use. take(user, json, size) gets the
 * text, valid during that call. Errors: NOT_FOUND; DATA_LOSS as for loading; then `take` is not called. */
TAILOR_API tailor_status* tailor_artifact_describe(const char* path, size_t path_size,
                                                   void (*take)(void* user, const char* json, size_t size), void* user);

/* ---- Custom operators: functions of the host, called by programs ------------------------------ */

/* An argument of a custom operator. Frozen (docs/abi.md). */
typedef struct tailor_custom_tensor {
  void* data; /* in the device's memory on CUDA; of results to be written. Arbitrary without elements */
  const int64_t* dims;
  int32_t dtype;
  int32_t rank;
} tailor_custom_tensor;

/* One call of a custom operator (tailor_graph_custom). Everything here is valid during the call only, except for name,
 * node and attributes: they live as long as the executable. */
typedef struct tailor_custom_call {
  uint64_t struct_size;
  const char* name;
  const char* node; /* the user's name of the graph node; may be "" */
  const char* attributes;
  uint64_t attributes_size;
  const tailor_custom_tensor* operands; /* dense, row-major; read only */
  uint64_t operand_count;
  const tailor_custom_tensor* results; /* dense, row-major; then one i64[] per counted result, in order */
  uint64_t result_count;
  void* workspace; /* 64-byte aligned, workspace_bytes long, with arbitrary contents; NULL if empty */
  uint64_t workspace_bytes;
  void* stream;              /* CUDA: the CUstream in which to enqueue all work; NULL on the CPU */
  char* message;             /* for the reason of a failure, NUL-terminated UTF-8; "" at first */
  uint64_t message_capacity; /* of `message`, in bytes, at least 256 */
} tailor_custom_call;

typedef struct tailor_custom_operator {
  uint64_t struct_size;
  const char* name;
  size_t name_size;
  int32_t device;   /* TAILOR_DEVICE_*: where its arguments are */
  int32_t reserved; /* 0 */
  /* Computes the results from the operands; nonzero fails the run. Called on the thread that runs the session, from
   * several threads at once if several sessions run. On CUDA the device's context is current, and the work belongs in
   * call->stream, after which the function need not wait. A code of this header is the status's code, others give
   * INTERNAL. C++ exceptions are caught, and fail the run. */
  int32_t (*function)(void* user, const tailor_custom_call* call);
  /* Sets `*bytes` to the workspace that the function needs for the dims of its arguments, whose data is not set; may be
   * NULL: none. Depends on the dims, dtypes and attributes alone. Also called by tailor_executable_plan. Nonzero as
   * above. */
  int32_t (*workspace)(void* user, const tailor_custom_call* call, uint64_t* bytes);
  void* user;
  void (*released)(void* user); /* may be NULL */
} tailor_custom_operator;

static inline void tailor_custom_operator_init(tailor_custom_operator* op) {
  memset(op, 0, sizeof(*op));
  op->struct_size = sizeof(*op);
}
/* Registers a custom operator for artifacts that are loaded with `runtime` from then on. `released(user)` is called
 * once, when the runtime and all executables that use the operator are gone; also if this call fails. Any number of
 * threads may register operators and load artifacts at once. Errors:
 * INVALID_ARGUMENT for an empty name, one that begins with "tailor.", an unknown device, no function, or a name that is
 * registered for the device. */
TAILOR_API tailor_status* tailor_runtime_register(tailor_runtime* runtime, const tailor_custom_operator* op);

/* ---- Session: state of one stream of runs (workspace, threads); one run at a time -------------- */

typedef struct tailor_session tailor_session;

/* A kernel launch that has ended, or the run that launched it. Times are in nanoseconds of CLOCK_MONOTONIC; on a CUDA
 * device they are those of enqueueing the kernel. Calls of custom operators have no events. */
typedef struct tailor_trace_event {
  uint64_t struct_size;
  int32_t launch;  /* index in the order of tailor_executable_describe; -1: the run, after its launches */
  int32_t version; /* of the kernel, by its index there; -1: data-dependent, or the run */
  int64_t begin_ns, end_ns;
} tailor_trace_event;
/* Called on the thread that runs the session. `event` is valid during the call. */
typedef void (*tailor_trace)(void* user, const tailor_trace_event* event);

typedef struct tailor_session_options {
  uint64_t struct_size;
  uint64_t threads;                 /* including the caller's; 1: only the caller's thread; 0: the runtime's
                                     * parallel_threads, 1 unless set */
  tailor_parallel_for parallel_for; /* if set, replaces own threads; splits work in at most `threads` ways. NULL: the
                                     * runtime's, if it has one */
  void* parallel_user;
  int32_t copy_strided; /* 1: accept inputs in host memory with any strides, also negative or zero, and copy them */
  int32_t idle_sleep;   /* 1: own threads sleep between kernels; 0: they first spin for about 1 ms */
  tailor_trace trace;   /* if set, called after each launch and each run that has begun; for profiling */
  void* trace_user;
  void* stream; /* CUDA: the host's CUstream, of the device's primary context, for all work; NULL: a stream of the
                 * session's own. Must outlive the session */
  int32_t asynchronous; /* CUDA, 1: runs return once their work is enqueued; see tailor_session_wait */
  int32_t host_outputs; /* CUDA, 1: outputs that the library provides are in host memory */
  int64_t cuda_graph;   /* CUDA, 1: launch the kernels of a run as one CUDA graph, which the first run creates and
                         * later runs patch. FAILED_PRECONDITION for drivers older than CUDA 11.6, for programs that
                         * read back (tailor_plan_info.reads_back), and if cuBLASLt computes matmuls */
  int64_t timeout_ns;   /* of each run, in nanoseconds; 0: none. See tailor_session_set_timeout */
} tailor_session_options;

static inline void tailor_session_options_init(tailor_session_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
}
/* The session keeps the executable alive. Results do not depend on the number of threads, except for the sign and
 * payload of a NaN. */
TAILOR_API tailor_status* tailor_session_create(const tailor_executable* executable,
                                                const tailor_session_options* options, tailor_session** out);
/* Returns when all work of the session's runs is done. */
TAILOR_API void tailor_session_release(tailor_session* session);

/* Runs once. `inputs` has input_count elements in signature order. `outputs` has output_count:
 *   data != NULL: results are written there. dims and rank must be those of the output; a mismatch or too small
 *                 data_bytes is INVALID_ARGUMENT. A dim size of -1 is left open, and filled in. Outputs must not
 *                 overlap inputs or each other.
 *   data == NULL: the library provides the buffer and fills data, data_bytes, rank and dims. The buffer belongs to the
 *                 session and is valid until its next run or release. It may be an input of that next run, which then
 *                 writes to another buffer: the two take turns, and a cache that grows needs no copy.
 * An output whose tailor_tensor_info.memory_of names an input is written to that input's memory: its data must be the
 * input's data, or NULL for the same effect. Other donated inputs have undefined contents after the run; so do all
 * donated inputs after an error. A donated input must be dense and overlap no other argument. On a CUDA device, tensors
 * in host memory are copied to the device before the run and back after it. Buffers that the library provides are in
 * device memory, unless host_outputs is set. A tensor whose data is not where its `device` says is INVALID_ARGUMENT.
 * Errors name the input or symbol at fault. They leave the outputs' contents unspecified and their structs unchanged.
 * If device memory is out, the run fails with RESOURCE_EXHAUSTED, and later runs may succeed. After the first run at
 * its largest shape, and the first one that reads its outputs, a session allocates nothing. */
TAILOR_API tailor_status* tailor_session_run(tailor_session* session, const tailor_tensor* inputs, size_t input_count,
                                             tailor_tensor* outputs, size_t output_count);

/* Binds the buffers that every tailor_session_run_bound uses. The arrays are copied; the memory that they point to
 * stays the caller's. Outputs need data and all dim sizes. Shapes may be rebound at any time. */
TAILOR_API tailor_status* tailor_session_bind(tailor_session* session, const tailor_tensor* inputs, size_t input_count,
                                              const tailor_tensor* outputs, size_t output_count);
/* Runs with the bound buffers. Errors: as for tailor_session_run; FAILED_PRECONDITION if nothing is bound. */
TAILOR_API tailor_status* tailor_session_run_bound(tailor_session* session);

/* Returns when all runs of the session are done, so that tensors may be read, changed and freed: immediately, except
 * for an asynchronous session. Errors: failures on the device during these runs that no run has reported, such as a
 * failed check or a device fault. During the wait any other call on the session, tailor_session_poll and
 * tailor_session_wait included, is FAILED_PRECONDITION; threads that all need to learn of the end use
 * tailor_session_notify. */
TAILOR_API tailor_status* tailor_session_wait(tailor_session* session);
/* tailor_session_wait without waiting: `*done` is 0 while runs are in progress. When it is 1, errors are those of
 * tailor_session_wait, reported once; `*done` is written also on error. */
TAILOR_API tailor_status* tailor_session_poll(tailor_session* session, int32_t* done);
/* Calls `ended(user)` once, when all enqueued runs have ended, successfully or not; tailor_session_wait then reports
 * the result. For an asynchronous session the callback runs on a thread of the CUDA driver that serves the whole
 * process: it should only wake a waiting thread, and must call neither CUDA nor this library. For other sessions it is
 * called before this function returns, and may use the session. If the device fails, it is called from the
 * tailor_session_wait, _poll or _release that finds the failure. If this function fails, it is not called. */
TAILOR_API tailor_status* tailor_session_notify(tailor_session* session, void (*ended)(void* user), void* user);
/* The CUstream in which the session works, for ordering other work before or after its runs; NULL on the CPU. Belongs
 * to the session, or is the host's own. */
TAILOR_API void* tailor_session_stream(const tailor_session* session);
/* Runs enqueued after this call begin when the work recorded by CUevent `event` is done. Errors: INVALID_ARGUMENT on
 * the CPU and for a NULL `event`; INTERNAL if the driver rejects it. */
TAILOR_API tailor_status* tailor_session_follow(tailor_session* session, void* event);
/* Records CUevent `event`, of the session's device, after the runs enqueued so far. The event stays the host's. Errors
 * as for tailor_session_follow. */
TAILOR_API tailor_status* tailor_session_record(tailor_session* session, void* event);

/* Grows the workspace to the size for these input shapes, without running. Input data is not read. */
TAILOR_API tailor_status* tailor_session_reserve(tailor_session* session, const tailor_tensor* inputs,
                                                 size_t input_count);

/* Cancels the run in progress, or else the next one: it returns CANCELLED. From any thread, also while another runs the
 * session. On a CPU an interrupted run returns within a few milliseconds: it ends at the next launch, iteration, chunk
 * of tasks or part of a long task. Calls of custom operators, matmul providers and parallel_for are completed, as is
 * work enqueued on a CUDA device. Outputs are unspecified, as after every error; the session stays usable. A run that
 * completes just then uses the request up. */
TAILOR_API tailor_status* tailor_session_cancel(const tailor_session* session);
/* Takes back a tailor_session_cancel that has found no run. Threads as for tailor_session_cancel. */
TAILOR_API tailor_status* tailor_session_uncancel(const tailor_session* session);
/* Later runs that take longer than `timeout_ns` nanoseconds are interrupted like cancelled ones, and return
 * DEADLINE_EXCEEDED; 0: no limit. Errors: INVALID_ARGUMENT for a negative timeout. */
TAILOR_API tailor_status* tailor_session_set_timeout(tailor_session* session, int64_t timeout_ns);
/* Frees the session's workspace, growable blocks, output buffers and copies of inputs; the next run allocates again.
 * Outputs that the library provided are no longer valid, except those taken; bound buffers stay bound, and keep their
 * copies. Waits for the session's runs first. Errors: those of tailor_session_wait; then nothing is freed. */
TAILOR_API tailor_status* tailor_session_trim(tailor_session* session);

/* Random operators of the session's later runs compute from `seed`; the runs are numbered from 0. Equal seed and number
 * give equal results, on every device and with any number of threads. Without a seed the runs of all sessions of an
 * executable have one seed, drawn from the system at load, and are numbered together. No effect on other programs. */
TAILOR_API tailor_status* tailor_session_set_seed(tailor_session* session, uint64_t seed);

/* ---- DLPack: tensors of other libraries, without copies --------------------------------------- */

/* Declared in dlpack.h 1.x, which this header does not need. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* Describes the memory of `tensor` in `*out`, as an argument for runs of `executable`. `tensor` stays the caller's and
 * must live until these runs are done; out->strides points into it. kDLCPU and kDLCUDAHost memory is host memory,
 * kDLCUDA memory is the device's. The read-only flag is not checked. Errors: INVALID_ARGUMENT naming the field: an
 * unsupported version, device, type or rank. */
TAILOR_API tailor_status* tailor_tensor_from_dlpack(const tailor_executable* executable,
                                                    const struct DLManagedTensor* tensor, tailor_tensor* out);
TAILOR_API tailor_status* tailor_tensor_from_dlpack_versioned(const tailor_executable* executable,
                                                              const struct DLManagedTensorVersioned* tensor,
                                                              tailor_tensor* out);

/* Transfers output `index` of the session's last run, in a buffer that the library provided, to the caller. The memory
 * belongs to `*out` until its deleter is called, on any thread; the session's next run uses other memory. Without an
 * allocator of the host's, the session then keeps the memory, if it is on the host, for later runs, until
 * tailor_session_trim. The tensor keeps the executable alive. On a CUDA device, `stream`, a CUstream of that device,
 * waits for the run; with NULL the reader must wait as for the run. The deleter waits for all work on the device, since
 * readers are unknown to it. If the session works in a stream of the host, that stream must outlive the tensor. Errors:
 * OUT_OF_RANGE for `index`; FAILED_PRECONDITION if the last run did not provide the output, if it was taken already, or
 * after tailor_session_reserve, tailor_session_bind or a rejected run. */
TAILOR_API tailor_status* tailor_session_take_output(tailor_session* session, size_t index, void* stream,
                                                     struct DLManagedTensor** out);
TAILOR_API tailor_status* tailor_session_take_output_versioned(tailor_session* session, size_t index, void* stream,
                                                               struct DLManagedTensorVersioned** out);

/* Runs once with a session borrowed from the executable. Outputs need data. Thread-safe. */
TAILOR_API tailor_status* tailor_executable_run(const tailor_executable* executable, const tailor_tensor* inputs,
                                                size_t input_count, tailor_tensor* outputs, size_t output_count);

/* Frees the idle sessions that tailor_executable_run keeps. Sessions that the caller created are not affected.
 * Thread-safe. */
TAILOR_API tailor_status* tailor_executable_trim(const tailor_executable* executable);

/* ---- Plan: shapes and memory without running ------------------------------------------------- */

typedef struct tailor_plan_info {
  uint64_t struct_size;
  uint64_t workspace_bytes; /* for a session with `threads` threads */
  uint64_t threads;         /* in: as in tailor_session_options; _init sets 1 */
  uint64_t data_dependent;  /* 1: some dim sizes are data-dependent, so runs allocate beyond workspace_bytes as
                             * needed */
  uint64_t kernels;         /* distinct kernels of the program in use */
  uint64_t versions;        /* total over these kernels */
  uint64_t code_bytes;      /* of the program in use: kernels, host program, tables */
  int32_t* chosen;          /* in: NULL, or launch_count entries; out: each launch's version, -1: data-dependent */
  uint64_t reads_back;      /* CUDA, 1: runs wait midway for values that kernels computed and that steer the run */
} tailor_plan_info;

static inline void tailor_plan_info_init(tailor_plan_info* info) {
  memset(info, 0, sizeof(*info));
  info->struct_size = sizeof(*info);
  info->threads = 1;
}
/* Fills rank, dtype and dims of each output for the given input dims (data is not read), and `info` (may be NULL).
 * Data-dependent dim sizes are -1. Fails exactly where a run at these shapes would fail, except for loops, branches and
 * data-dependent dims. */
TAILOR_API tailor_status* tailor_executable_plan(const tailor_executable* executable, const tailor_tensor* inputs,
                                                 size_t input_count, tailor_tensor* outputs, size_t output_count,
                                                 tailor_plan_info* info);

/* ---- Counters -------------------------------------------------------------------------------- */

/* Counters of one executable, summed over its sessions, including those that ended. The comments name the Prometheus
 * metric: names in _total are counters, others gauges. */
typedef struct tailor_executable_counts {
  uint64_t struct_size;
  uint64_t runs;             /* tailor_runs_total: begun, or refused for their arguments */
  uint64_t failed_runs;      /* tailor_failed_runs_total: returned an error, cancelled ones included */
  uint64_t cancelled_runs;   /* tailor_cancelled_runs_total: cancelled, or beyond their deadline */
  uint64_t runs_in_progress; /* tailor_runs_in_progress: asynchronous runs only until they return */
  uint64_t sessions;         /* tailor_sessions: those that exist, pooled ones included */
  uint64_t pooled_sessions;  /* tailor_pooled_sessions: idle ones, kept for tailor_executable_run */
  uint64_t workspace_bytes;  /* tailor_workspace_bytes: memory that the sessions hold now: workspaces, growable blocks,
                              * output buffers not taken, copies of inputs; on the host and on the device */
  uint64_t constants_bytes;  /* tailor_constants_bytes */
  uint64_t shape_cache_misses; /* tailor_shape_cache_misses_total: runs that computed sizes, versions and layout,
                                * because their shapes differ from the session's previous ones */
  uint64_t workspace_growths;  /* tailor_workspace_growths_total: allocations of the memory in workspace_bytes */
} tailor_executable_counts;

static inline void tailor_executable_counts_init(tailor_executable_counts* counts) {
  memset(counts, 0, sizeof(*counts));
  counts->struct_size = sizeof(*counts);
}
/* Thread-safe. Does not wait for runs in progress and costs them nothing; their counts may lag by one. */
TAILOR_API tailor_status* tailor_executable_counters(const tailor_executable* executable,
                                                     tailor_executable_counts* out);

/* Process-wide counters, for tests of "no growth". */

typedef struct tailor_counters {
  uint64_t struct_size;
  uint64_t images_linked;     /* number of variants mapped as executable code */
  uint64_t workspace_growths; /* number of times that a session's memory grew */
  uint64_t runs;
} tailor_counters;

static inline void tailor_counters_init(tailor_counters* counters) {
  memset(counters, 0, sizeof(*counters));
  counters->struct_size = sizeof(*counters);
}
TAILOR_API void tailor_counters_read(tailor_counters* out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TAILOR_RUNTIME_H_ */
