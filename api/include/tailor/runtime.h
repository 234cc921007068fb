/* Tailor runtime: load a compiled artifact and run it at any shape. C99; libtailor_runtime.so.
 *
 * Conventions, for every function of this header and of tailor/compiler.h:
 *  - Errors. A fallible call returns tailor_status*: NULL is success, anything else belongs to the
 *    caller and is freed with tailor_status_release. Running out of memory gives a static status that
 *    release ignores. On error no out-parameter is touched. No exception leaves the library.
 *  - Handles are opaque. `_create`/`_load` make them, the matching `_release` frees them and accepts
 *    NULL. A handle of the wrong kind is INVALID_ARGUMENT; using a released one is undefined.
 *  - Threads. A `const` handle parameter may be used from many threads at once; a non-const one by one
 *    call at a time. A call that meets another one in its session or graph, from whatever thread or callback, is
 *    FAILED_PRECONDITION and changes nothing: "tailor_session_run: the session is in use by another call; ...". The
 *    caller orders the calls, or calls again. A call that only reads a graph is refused while another changes it.
 *  - Releasing. A session or graph that is released during a call, as by a callback of it, is freed when that call
 *    leaves; until then other calls are FAILED_PRECONDITION. A call that begins after the free is undefined, so
 *    threads that share a handle agree on who releases it, after the others' last calls: a release by another thread
 *    at the very end of a call may leave the handle's memory to the process.
 *  - Structs that cross the boundary begin with struct_size and only ever grow. Their `_init` function, compiled
 *    into the caller, sets the size that the caller knows and the defaults; other languages do the same. A NULL
 *    options pointer means the defaults.
 *  - Strings in are UTF-8 with a length; SIZE_MAX means NUL-terminated. Strings out are borrowed
 *    from the handle they were read from and NUL-terminated.
 *  - Callbacks must not throw or unwind. What they call on the session or graph that their call is about is refused as
 *    above, but for what only reads a graph during compilation.
 *  - Tensors are dense and row-major; dims are int64; data is aligned to its element type.
 *  - An executable runs on the CPU, or on a CUDA device where it was loaded for one (docs/gpu.md).
 *  - Artifacts are native code: loading one means trusting it as much as a shared library. */
#ifndef TAILOR_RUNTIME_H_
#define TAILOR_RUNTIME_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
/* "" for NULL. Borrowed from `status`. UTF-8 whatever it quotes, as the node is: U+FFFD stands for what is no text. */
TAILOR_API const char* tailor_status_message(const tailor_status* status);
/* The user's name of the graph node at fault, or "" where unknown. Borrowed from `status`. */
TAILOR_API const char* tailor_status_node(const tailor_status* status);
TAILOR_API void tailor_status_release(tailor_status* status);
/* Makes a status, for hosts' own callbacks and bindings. `code` must not be TAILOR_OK. */
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

/* Describes memory that belongs to the caller. An array of these is passed to run; `struct_size` is read
 * from the first element and is the stride of the array. */
typedef struct tailor_tensor {
  uint64_t struct_size; /* sizeof(tailor_tensor) */
  void* data;           /* may be NULL when the tensor has no elements */
  uint64_t data_bytes;  /* capacity at `data`; with negative strides from the lowest element to the highest's end */
  int32_t dtype;
  int32_t rank;
  int64_t dims[TAILOR_MAX_RANK];
  const int64_t* strides; /* in elements; NULL means dense. Others are INVALID_ARGUMENT, unless copy_strided */
  int64_t device;         /* where data is: 0 host memory, 1 memory of the device that the executable runs on */
} tailor_tensor;

static inline void tailor_tensor_init(tailor_tensor* tensor) {
  memset(tensor, 0, sizeof(*tensor));
  tensor->struct_size = sizeof(*tensor);
}

/* "x86-64-v3", then what the library can and cannot use and why; borrowed, static. */
TAILOR_API const char* tailor_version(void);

/* ---- Products by another library ------------------------------------------------------------- */

/* How the right operand of a product lies in memory. */
#define TAILOR_ROWS_AND_COLUMNS 0 /* as rhs_strides say */
#define TAILOR_PANELS_16 1        /* [ceil(n/16)][k][16], zeros beyond column n */
#define TAILOR_PAIR_PANELS_16 2   /* [ceil(n/16)][ceil(k/2)][16][2], zeros beyond column n and row k */

/* out[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]. Strides are in elements, of batch, row and column; `out` is
 * dense. Of an rhs in panels only the batch has a stride. */
typedef struct tailor_product {
  uint64_t struct_size;
  int64_t dtype; /* of all three: TAILOR_F32, or TAILOR_BF16, whose sums are to be in f32 and rounded once */
  int64_t rhs_layout;
  int64_t rhs_constant; /* 1: rhs holds the same until `forget` names it */
  int64_t threads;      /* of the session, including the caller's */
  int64_t batch, m, n, k;
  int64_t lhs_strides[3], rhs_strides[3];
  const void* lhs;
  const void* rhs;
  void* out;
} tailor_product;

/* A library that computes matrix products in the place of generated kernels, for programs compiled with
 * tailor_compile_options.offer_products. Functions are called on whatever threads run sessions, at once. */
typedef struct tailor_product_provider {
  uint64_t struct_size;
  void* user;
  /* Whether `multiply` will compute products with these dim sizes, strides and, where it is constant, this rhs; 0: the
   * program's own kernel does. Other addresses are NULL. Asked at the first run of a session at new dim sizes: the time
   * to prepare. */
  int32_t (*take)(void* user, const tailor_product* product);
  /* Computes it; 0, or a code with which the run fails. */
  int32_t (*multiply)(void* user, const tailor_product* product);
  /* The constant at `rhs`, which may be one that was never seen, is about to be freed. May be NULL. */
  void (*forget)(void* user, const void* rhs);
} tailor_product_provider;

static inline void tailor_product_provider_init(tailor_product_provider* provider) {
  memset(provider, 0, sizeof(*provider));
  provider->struct_size = sizeof(*provider);
}

/* ---- Runtime --------------------------------------------------------------------------------- */

typedef struct tailor_runtime tailor_runtime;

/* Memory of the library's own (workspaces, outputs) comes from here; NULL functions mean the C library's.
 * All three are called on whatever threads call the library, at once. `alignment` is a power of two; NULL from
 * allocate is RESOURCE_EXHAUSTED. `message` is valid during the call. */
typedef struct tailor_runtime_options {
  uint64_t struct_size;
  void* (*allocate)(void* user, size_t bytes, size_t alignment);
  void (*deallocate)(void* user, void* data, size_t bytes);
  void (*log)(void* user, int32_t level, const char* message); /* level 0 info, 1 warning, 2 error */
  void* user;
  /* Computes the products that programs offer; NULL: their own kernels do. Copied; what it points to lives as long as
   * the runtime and all executables. */
  const tailor_product_provider* product_provider;
  const char* product_choice;   /* text of a tree that tells which products it is asked for; NULL: all */
  uint64_t product_choice_size; /* in bytes */
  /* 1: on CUDA devices cuBLASLt computes the products that programs offer, or those of them that product_choice names:
   * libcublasLt.so.13 or .12, or what TAILOR_CUBLASLT in the environment names; FAILED_PRECONDITION without it. */
  int64_t cublas_lt;
} tailor_runtime_options;

static inline void tailor_runtime_options_init(tailor_runtime_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
}
/* A NULL tailor_runtime* everywhere means one with default options. */
TAILOR_API tailor_status* tailor_runtime_create(const tailor_runtime_options* options, tailor_runtime** out);
/* Executables keep their runtime alive. */
TAILOR_API void tailor_runtime_release(tailor_runtime* runtime);

#define TAILOR_DEVICE_CPU 0
#define TAILOR_DEVICE_CUDA 1

/* What executables can run on. Text is borrowed, static. */
typedef struct tailor_device_info {
  uint64_t struct_size;
  int32_t kind;         /* TAILOR_DEVICE_* */
  int32_t ordinal;      /* of its kind: what tailor_load_options.device_ordinal says */
  const char* name;     /* "NVIDIA H100 80GB HBM3", "x86-64-v4" */
  int32_t major, minor; /* compute capability; 0 for the CPU */
  int32_t processors;   /* multiprocessors; 0 for the CPU */
  int32_t driver;       /* version of CUDA that the driver is made for, 12040 for 12.4; 0 for the CPU */
  uint64_t memory_bytes;
} tailor_device_info;

static inline void tailor_device_info_init(tailor_device_info* info) {
  memset(info, 0, sizeof(*info));
  info->struct_size = sizeof(*info);
}
/* The CPU, which comes first, and the CUDA devices. The first use of any of these loads the CUDA driver: libcuda.so.1,
 * or what the environment variable TAILOR_CUDA_DRIVER names. 0 for what is no runtime; 1 where there is no memory to
 * look for CUDA devices. */
TAILOR_API size_t tailor_runtime_device_count(const tailor_runtime* runtime);
/* Errors: OUT_OF_RANGE for `index`. */
TAILOR_API tailor_status* tailor_runtime_device(const tailor_runtime* runtime, size_t index, tailor_device_info* out);
/* Why there is no CUDA device, or "" where there is one. Borrowed, static. */
TAILOR_API const char* tailor_runtime_cuda_absence(const tailor_runtime* runtime);

/* ---- Executable: immutable, shared between threads ------------------------------------------- */

typedef struct tailor_executable tailor_executable;

typedef struct tailor_load_options {
  uint64_t struct_size;
  int32_t verify_constants;   /* 1: hash the constants too, not only header, metadata and images */
  int32_t copy_constants;     /* 1: read constants into memory instead of mapping the file, which must
                                 then not be written to (tailor_session_create looks) */
  const char* target;         /* force a variant by name ("x86-64-v2"); NULL: the best that this machine runs */
  const uint8_t* public_key;  /* 32 bytes Ed25519: refuse artifacts not signed with its secret key, verify and copy
                                 constants; or NULL */
  const char* cost_profile;   /* text of a profile of this machine, by which products are then cut; or NULL */
  uint64_t cost_profile_size; /* in bytes */
  int32_t device;             /* TAILOR_DEVICE_*: what to run on. Nothing else is taken in its place */
  int32_t device_ordinal;     /* which of the CUDA devices */
} tailor_load_options;

static inline void tailor_load_options_init(tailor_load_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
}

/* Loads an artifact file. Errors: NOT_FOUND; DATA_LOSS where the bytes are not what was saved (naming the
 * part); FAILED_PRECONDITION where this machine lacks what every variant needs (listing each reason), or the device is
 * not there, or none of the artifact's images for devices runs on it; RESOURCE_EXHAUSTED where its memory is out. */
TAILOR_API tailor_status* tailor_executable_load(const tailor_runtime* runtime, const char* path, size_t path_size,
                                                 const tailor_load_options* options, tailor_executable** out);
/* The same from memory. The bytes are borrowed until `released(user)` is called, once, when the executable
 * is gone or loading failed; NULL `released`: everything needed is copied before this returns. */
TAILOR_API tailor_status* tailor_executable_load_memory(const tailor_runtime* runtime, const void* data, size_t size,
                                                        const tailor_load_options* options,
                                                        void (*released)(void* user), void* user,
                                                        tailor_executable** out);
/* Adds a reference; each reference is given back by one release. */
TAILOR_API void tailor_executable_retain(const tailor_executable* executable);
TAILOR_API void tailor_executable_release(tailor_executable* executable);

/* Writes the artifact: to a temporary file beside `path`, fsync, rename. The bytes equal those loaded. Symbolic links
 * are followed and stay links; a file that is replaced keeps its permissions. Errors: FAILED_PRECONDITION where `path`
 * is a directory, a device, a FIFO or a socket, or the system refuses. Then nothing changed. */
TAILOR_API tailor_status* tailor_executable_save(const tailor_executable* executable, const char* path,
                                                 size_t path_size);

/* 0 for what is no executable. */
TAILOR_API size_t tailor_executable_input_count(const tailor_executable* executable);
TAILOR_API size_t tailor_executable_output_count(const tailor_executable* executable);
TAILOR_API size_t tailor_executable_symbol_count(const tailor_executable* executable);

/* One input or output. Pointers are borrowed from the executable. Errors: OUT_OF_RANGE for `index`. */
typedef struct tailor_tensor_info {
  uint64_t struct_size;
  const char* name;
  int32_t dtype;
  int32_t rank;
  int64_t extents[TAILOR_MAX_RANK];       /* the constant dim size, or -1 */
  const char* dim_texts[TAILOR_MAX_RANK]; /* "B", "4*S + 1", "384" */
  int64_t donated;                        /* of an input, 1: runs may write its memory (tailor_compile_options) */
  int64_t memory_of;                      /* of an output: the donated input to whose memory it is written, or -1 */
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

/* One kernel launch of the program in use. Launches of equal kernels share one machine code. Errors: OUT_OF_RANGE for
 * `index`. */
typedef struct tailor_launch_info {
  uint64_t struct_size;
  const char* kernel;  /* its name; borrowed from the executable */
  uint64_t versions;   /* of its code, one of which a run takes */
  uint64_t dropped;    /* versions left out: by max_versions, max_code_bytes, or as they spill; `describe` has them */
  uint64_t code;       /* the kernel's number */
  uint64_t code_bytes; /* machine code of all its versions; 0 in artifacts that do not say */
} tailor_launch_info;

static inline void tailor_launch_info_init(tailor_launch_info* info) {
  memset(info, 0, sizeof(*info));
  info->struct_size = sizeof(*info);
}
/* 0 for what is no executable. */
TAILOR_API size_t tailor_executable_launch_count(const tailor_executable* executable);
TAILOR_API tailor_status* tailor_executable_launch(const tailor_executable* executable, size_t index,
                                                   tailor_launch_info* out);

/* A description of the whole as JSON (symbols, signature, facts, checks, launches with versions, variants,
 * provenance, sizes; `visits`: how many nodes, terms and pairs each pass of the compiler looked at, the same on every
 * machine). Borrowed from the executable. */
TAILOR_API tailor_status* tailor_executable_describe(const tailor_executable* executable, const char** json);

/* The same of an artifact file, without loading it: on any machine, whatever it is for. No variant is in use.
 * take(user, json, size) gets the text, which is valid during the call. Errors: NOT_FOUND; DATA_LOSS as for loading;
 * then `take` is not called. */
TAILOR_API tailor_status* tailor_artifact_describe(const char* path, size_t path_size,
                                                   void (*take)(void* user, const char* json, size_t size), void* user);

/* ---- Session: what one stream of runs needs (workspace, threads); one run at a time ----------- */

typedef struct tailor_session tailor_session;

/* A host's own executor: calls task(task_data, i) for every i in [0, count), in any order, on any threads or one after
 * the other on this one, and returns when all calls have returned. An index counts once; what an executor that fails
 * leaves out is done on this thread when it returns. It is called on the thread that runs the session, for each kernel
 * that is worth it; what it calls on that session is FAILED_PRECONDITION. Neither side may throw or unwind through the
 * other. */
typedef void (*tailor_parallel_for)(void* user, void (*task)(void* task_data, size_t index), void* task_data,
                                    size_t count);

/* Told of each kernel launch of a run, on the calling thread: phase 0 before, 1 after. `launch` counts the launches in
 * the order in which tailor_executable_describe lists them. */
typedef void (*tailor_trace)(void* user, int32_t launch, int32_t phase);

typedef struct tailor_session_options {
  uint64_t struct_size;
  uint64_t threads;                 /* including the caller's; 0 or 1: the caller's thread alone */
  tailor_parallel_for parallel_for; /* if set, used instead of own threads, `threads` ways at most */
  void* parallel_user;
  int32_t copy_strided; /* 1: accept inputs in host memory of any strides, negative and zero too, and copy them */
  int32_t idle_sleep;   /* 1: own threads sleep between kernels; 0: they spin for about a millisecond first */
  tailor_trace trace;   /* if set, told of every launch; for profiling */
  void* trace_user;
  void* stream; /* on a CUDA device: the host's CUstream of its primary context, in which all work is done; NULL:
                 * one of the session's own. Must outlive the session */
  int32_t asynchronous; /* on a CUDA device, 1: runs return once their work is asked for; see tailor_session_wait */
  int32_t host_outputs; /* on a CUDA device, 1: outputs that the library provides are in host memory */
  int64_t cuda_graph;   /* on a CUDA device, 1: the kernels of a run are launched as one CUDA graph, which the first run
                         * makes and later ones patch. FAILED_PRECONDITION where the driver is older than CUDA 11.6, and
                         * for programs that read back (tailor_plan_info.reads_back) or have cuBLASLt multiply */
} tailor_session_options;

static inline void tailor_session_options_init(tailor_session_options* options) {
  memset(options, 0, sizeof(*options));
  options->struct_size = sizeof(*options);
}
/* The session keeps the executable alive. Results never depend on the number of threads, but for the
 * sign and payload of a NaN. */
TAILOR_API tailor_status* tailor_session_create(const tailor_executable* executable,
                                                const tailor_session_options* options, tailor_session** out);
/* Returns when all work of the session's runs is done. */
TAILOR_API void tailor_session_release(tailor_session* session);

/* Runs once. `inputs` has input_count elements in signature order. `outputs` has output_count:
 *   data != NULL: results are written there. dims and rank must be set to the output's; a mismatch or too
 *                 small data_bytes is INVALID_ARGUMENT. A dim size of -1 is left open, and filled in. Outputs must
 *                 not overlap inputs or each other.
 *   data == NULL: the library provides the buffer and fills data, data_bytes, rank and dims. It belongs to the
 *                 session and is valid until its next run or release: an input of that run only where this
 *                 output then has memory of its own.
 * An output whose tailor_tensor_info names an input is in that input's memory: its data is the input's, or NULL, which
 * gives that. Other donated inputs hold nothing of use afterwards, nor does any after an error. A donated input must be
 * dense and overlap no other argument.
 * On a CUDA device, tensors in host memory are copied there before the run and back after it; what the library provides
 * is in device memory, but for host_outputs. A tensor whose data is not where its `device` says is INVALID_ARGUMENT.
 * Errors name the input or symbol at fault and leave the outputs' contents unspecified, their structs untouched. Where
 * device memory is out, the run is RESOURCE_EXHAUSTED, and later ones may succeed.
 * After the first run at its largest shape a session allocates nothing. */
TAILOR_API tailor_status* tailor_session_run(tailor_session* session, const tailor_tensor* inputs, size_t input_count,
                                             tailor_tensor* outputs, size_t output_count);

/* The same, fixed once and then repeated: binds the buffers that every tailor_session_run_bound uses. The arrays are
 * copied; the memory they point to stays the caller's. Outputs need data and all dim sizes. Shapes may be rebound at
 * any time. */
TAILOR_API tailor_status* tailor_session_bind(tailor_session* session, const tailor_tensor* inputs, size_t input_count,
                                              const tailor_tensor* outputs, size_t output_count);
/* Errors: as for run; FAILED_PRECONDITION where nothing is bound. */
TAILOR_API tailor_status* tailor_session_run_bound(tailor_session* session);

/* Returns when all runs of the session are done, so that tensors may be read, changed and freed: at once, but for runs
 * of an asynchronous session. Errors: what the device found during these runs, which no run has reported: a check's, or
 * that it failed. While it waits, any other call on the session, tailor_session_poll and another wait too, is
 * FAILED_PRECONDITION: threads that share a session's end use tailor_session_notify. */
TAILOR_API tailor_status* tailor_session_wait(tailor_session* session);
/* The same without waiting: `*done` is 0 while runs are under way. Where it is 1, errors are those of
 * tailor_session_wait, which are told once, and `*done` is written all the same. */
TAILOR_API tailor_status* tailor_session_poll(tailor_session* session, int32_t* done);
/* Has `ended(user)` called, once, when all runs that were asked for have ended, however they went; tailor_session_wait
 * then tells how. For an asynchronous session a thread of the CUDA driver calls it, which works for the whole process:
 * it should only wake who waits, and must call neither CUDA nor this library. For another session it is called before
 * this returns, and may use the session. Where the device fails, it is called within the tailor_session_wait, _poll or
 * _release that finds that. On error it is not called. */
TAILOR_API tailor_status* tailor_session_notify(tailor_session* session, void (*ended)(void* user), void* user);
/* The CUstream in which the session works, to order other work before or after its runs; NULL on the CPU. Belongs to
 * the session, or is the host's own. */
TAILOR_API void* tailor_session_stream(const tailor_session* session);
/* Runs asked for after this begin when what CUevent `event` was recorded after is done. Errors: INVALID_ARGUMENT on the
 * CPU, and where `event` is NULL; INTERNAL where the driver refuses it. */
TAILOR_API tailor_status* tailor_session_follow(tailor_session* session, void* event);
/* Records CUevent `event`, of the session's device, after the runs that were asked for. It stays the host's. Errors as
 * for tailor_session_follow. */
TAILOR_API tailor_status* tailor_session_record(tailor_session* session, void* event);

/* Grows the workspace to what these input shapes need, without running (data is not read). */
TAILOR_API tailor_status* tailor_session_reserve(tailor_session* session, const tailor_tensor* inputs,
                                                 size_t input_count);

/* ---- DLPack: tensors of other libraries, without copies --------------------------------------- */

/* As dlpack.h 1.x has them, which this header does not need. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* Describes in `*out` the memory of `tensor`, as an argument of runs of `executable`. `tensor` stays the caller's, and
 * lives until these runs are done; out->strides points into it. Memory of kDLCPU and kDLCUDAHost is the host's, of
 * kDLCUDA the device's. Whether it may be written is not looked at. Errors: INVALID_ARGUMENT naming the field: a
 * version, device, type or rank that cannot be used. */
TAILOR_API tailor_status* tailor_tensor_from_dlpack(const tailor_executable* executable,
                                                    const struct DLManagedTensor* tensor, tailor_tensor* out);
TAILOR_API tailor_status* tailor_tensor_from_dlpack_versioned(const tailor_executable* executable,
                                                              const struct DLManagedTensorVersioned* tensor,
                                                              tailor_tensor* out);

/* Gives output `index` of the session's last run away, which the library provided: its memory belongs to `*out` until
 * the deleter there is called, on any thread, and the session's next run takes other memory. The taken tensor keeps the
 * executable alive. On a CUDA device `stream`, a CUstream of it, waits for the run; NULL: whoever reads waits as for
 * the run. The deleter then waits for all work on the device, since it cannot know who still reads. The host's stream,
 * where the session works in one, outlives the tensor. Errors: OUT_OF_RANGE for `index`; FAILED_PRECONDITION where the
 * last run did not provide the output, or it is taken, or tailor_session_reserve, tailor_session_bind or a run that was
 * refused came after. */
TAILOR_API tailor_status* tailor_session_take_output(tailor_session* session, size_t index, void* stream,
                                                     struct DLManagedTensor** out);
TAILOR_API tailor_status* tailor_session_take_output_versioned(tailor_session* session, size_t index, void* stream,
                                                               struct DLManagedTensorVersioned** out);

/* One run with a session borrowed from the executable; outputs need data. Safe from many threads. */
TAILOR_API tailor_status* tailor_executable_run(const tailor_executable* executable, const tailor_tensor* inputs,
                                                size_t input_count, tailor_tensor* outputs, size_t output_count);

/* ---- Plan: shapes and memory without running ------------------------------------------------- */

typedef struct tailor_plan_info {
  uint64_t struct_size;
  uint64_t workspace_bytes; /* of a session with `threads` threads */
  uint64_t threads;         /* in: as in tailor_session_options */
  uint64_t data_dependent;  /* 1: data tells dim sizes, so runs grow memory beyond workspace_bytes as they need it */
  uint64_t kernels;         /* distinct kernels of the program in use */
  uint64_t versions;        /* of all of them together */
  uint64_t code_bytes;      /* of the program in use: kernels, host program, tables */
  int32_t* chosen; /* in: NULL, or room for launch_count numbers: the version that each launch takes, -1: data tells */
  uint64_t reads_back; /* on a CUDA device, 1: runs wait in their middle for what kernels computed, which steers them */
} tailor_plan_info;

static inline void tailor_plan_info_init(tailor_plan_info* info) {
  memset(info, 0, sizeof(*info));
  info->struct_size = sizeof(*info);
  info->threads = 1;
}
/* Fills rank, dtype and dims of each output for inputs of the given dims (data is not read) and `info` (may be NULL).
 * Dim sizes that data tells are -1. Fails exactly where a run at these shapes would, but for loops, branches and what
 * data tells. */
TAILOR_API tailor_status* tailor_executable_plan(const tailor_executable* executable, const tailor_tensor* inputs,
                                                 size_t input_count, tailor_tensor* outputs, size_t output_count,
                                                 tailor_plan_info* info);

/* ---- Counters: process-wide, for tests of "no growth" ----------------------------------------- */

typedef struct tailor_counters {
  uint64_t struct_size;
  uint64_t images_linked;     /* variants mapped executable */
  uint64_t workspace_growths; /* times any session's memory grew */
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
