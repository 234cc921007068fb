// The ABI between generated host programs and the runtime. Generated code depends on these offsets, so structs only
// grow at their end. RtApi and RtContext start with their size, and a variant states the sizes that it needs
// (Variant::api_size, context_size). Plain data and function pointers: no LLVM, no Abseil, nothing that throws.
#ifndef TAILOR_EXEC_HOST_ABI_H_
#define TAILOR_EXEC_HOST_ABI_H_

#include <cstddef>
#include <cstdint>

namespace tailor {

struct CostProfile;  // codegen/contract/cost_profile.h

// A tensor argument, dense row-major. `dims` has the signature's rank entries. Inputs: set by the runtime, read only.
// Outputs: generated code stores the dims, then RtApi::output sets data.
struct TensorArg {
  void* data;
  int64_t* dims;
};

// A CPU kernel: computes tasks [begin, end). `args` is its argument block: one 8-byte slot per buffer (address), one
// per dim, then further ones (codegen/plan/kernel_signature.h). `worker` in [0, RtContext::workers) owns one slice of
// scratch.
using KernelFn = void (*)(const int64_t* args, int64_t begin, int64_t end, int64_t worker);

// The launch configuration of a device kernel, besides DeviceKernel.
struct LaunchGrid {
  int64_t blocks;        // > 0
  int64_t shared_bytes;  // dynamic shared memory per block
  int64_t cooperative;   // nonzero: cooperative launch; all blocks run at the same time, for grid sync
};

// An external gemm: a matmul that the runtime may compute in place of a kernel (DISC section 4.5):
//   out[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n], out dense.
// Strides are in elements, for batch, row and column. An rhs in panels has a batch stride only.
struct GemmArgs {
  uint64_t struct_size;
  int64_t dtype;         // DType of lhs, rhs and out; bf16 accumulates in f32
  int64_t rhs_layout;    // ConstantLayout
  int64_t rhs_constant;  // nonzero: rhs is constant while its program is loaded
  int64_t workers;       // RtContext::workers
  int64_t batch, m, n, k;
  int64_t lhs_strides[3], rhs_strides[3];
  const void* lhs;
  const void* rhs;
  void* out;
};

// State of one session; one run at a time. Generated code reads and writes these fields directly.
struct RtContext {
  uint64_t struct_size;
  const void* const* constants;  // by constant index; in memory of the variant's device
  uint8_t* workspace;            // 64-byte aligned; null until grown
  uint64_t workspace_bytes;
  // The shape cache: Variant::shape_cache_slots words of host memory, writable by devices too, zeroed at session
  // creation. Keeps the last symbols and their layout between runs. Word 0 is nonzero once the other words are valid:
  // generated code sets it to 1 when it computes them; the runtime then changes it to 2 to count the miss.
  int64_t* shape_cache;
  // Degree of parallelism. On the host: the number of scratch slices and the maximum threads of parallel_for; on a
  // device: its multiprocessors.
  int64_t workers;
  // Size in bytes from which an output would leave the caches before it is read (streaming stores); 0: no output would.
  uint64_t streamed_bytes;
  const CostProfile* costs;  // for the tilings of matmuls; the struct grows only with the artifact version
  // Grid sync on a device: kGridSyncBytes of its memory, used by cooperative launches (LaunchGrid::cooperative) for
  // barriers of the grid. Between launches all words are 0, except the highest bit of the first. Null on the host.
  void* grid_sync;
  // Nonzero: host programs call RtApi::poll, because the run is traced or may end before it is complete. Written by
  // other threads during a run; host programs read it atomically.
  int64_t interrupt;
  // The same question for kernels whose tasks may be long, on any thread of the run: nonzero if it is interrupted. They
  // return early then, and leave it to the host program to fail.
  int32_t (*interrupted)(RtContext* context);
};

inline constexpr uint64_t kGridSyncBytes = 256;

// Callbacks of generated code into the runtime. Functions that can fail return 0 on success; generated code returns a
// nonzero value at once. An invalid number (output, block, kernel) fails the run; an invalid launch in `poll` is
// ignored. `device` 0 is the host, 1 the device of the variant's kernels.
struct RtApi {
  uint64_t struct_size;
  // Makes context->workspace at least `bytes` large; contents are lost.
  int32_t (*grow)(RtContext* context, int32_t device, uint64_t bytes);
  // Provides out[index].data for the dims already stored in out[index].dims.
  int32_t (*output)(RtContext* context, int32_t index, TensorArg* out, uint64_t bytes);
  // Runs tasks [0, count) in chunks of `tasks_per_chunk` and returns when all are done, or when the run is interrupted,
  // which the caller learns from `poll`.
  void (*parallel_for)(RtContext* context, KernelFn kernel, const int64_t* args, int64_t count,
                       int64_t tasks_per_chunk);
  // Records that check `check` failed with these values; returns the nonzero code to return.
  int32_t (*fail)(RtContext* context, int32_t check, int64_t lhs, int64_t rhs);
  // For devices; null in a session on the host.
  //
  // Enqueues a launch of DeviceKernel number `kernel` and returns; launches run in order. Its parameters are the first
  // slots at `args`, which are read before this returns.
  int32_t (*launch)(RtContext* context, int32_t device, int32_t kernel, const int64_t* args, const LaunchGrid* grid);
  // Copies device memory to the host; returns when all earlier launches have run. Called only by programs with
  // Variant::reads_back.
  int32_t (*readback)(RtContext* context, int32_t device, void* to, const void* from, uint64_t bytes);
  // Makes growing block `number` of the session at least `bytes` large and points out->data there; contents are lost.
  // For buffers whose dim sizes are known only during the run.
  int32_t (*block)(RtContext* context, int32_t number, TensorArg* out, uint64_t bytes);
  // Whether the runtime computes this matmul itself while dim sizes do not change: 0 or nonzero. Only a constant's
  // address is set.
  int32_t (*offer)(RtContext* context, const GemmArgs* gemm);
  // Computes a matmul that `offer` accepted.
  int32_t (*gemm)(RtContext* context, const GemmArgs* gemm);
  // Calls the operator of Variant::custom_calls[number]. `arguments` are its operands, then its results. `workspace` is
  // 64-byte aligned and has as many bytes as custom_workspace returned for these dim sizes.
  int32_t (*custom)(RtContext* context, int32_t number, const TensorArg* arguments, void* workspace, uint64_t bytes);
  // Sets `*bytes` to the workspace of that call, a multiple of 64. The dims of `arguments` are set, data is not. Also
  // called by plan functions.
  int32_t (*custom_workspace)(RtContext* context, int32_t number, const TensorArg* arguments, uint64_t* bytes);
  // Called while RtContext::interrupt is nonzero. Whether the run is interrupted: nonzero from the first poll that
  // finds its reason until the run's end. `launch` says where the program is: the number of the kernel launch that has
  // just ended, kBetweenLaunches before a program's first step and after each other step, or kWithinLaunch. A launch
  // begins at the last poll that was not within a launch.
  int32_t (*poll)(RtContext* context, int32_t launch);
};

inline constexpr int32_t kBetweenLaunches = -1, kWithinLaunch = -2;

// Results of the plan function besides output dims.
struct PlanResult {
  uint64_t struct_size;
  uint64_t workspace_bytes;
  int32_t* versions;  // chosen version per launch, Variant::launches entries; -1: data-dependent; may be null
};

// Entry points of a variant's image: run, and plan.
using RunFn = int32_t (*)(const RtApi* api, RtContext* context, const TensorArg* in, TensorArg* out);
// Fills out[i].dims and `plan` from in[i].dims only; accesses neither tensor data nor the shape cache. Fails as run
// does. Data-dependent dim sizes of outputs are -1, and workspace_bytes excludes the blocks that such runs grow.
using PlanFn = int32_t (*)(const RtApi* api, RtContext* context, const TensorArg* in, TensorArg* out, PlanResult* plan);

// Reserved check id: arithmetic on dims left int64 (lhs, rhs unused).
inline constexpr int32_t kCheckOverflow = -1;

static_assert(sizeof(LaunchGrid) == 24 && offsetof(LaunchGrid, shared_bytes) == 8);
static_assert(sizeof(TensorArg) == 16 && offsetof(TensorArg, dims) == 8);
static_assert(sizeof(RtContext) == 88 && offsetof(RtContext, constants) == 8);
static_assert(offsetof(RtContext, workspace) == 16 && offsetof(RtContext, workspace_bytes) == 24);
static_assert(offsetof(RtContext, shape_cache) == 32 && offsetof(RtContext, workers) == 40);
static_assert(offsetof(RtContext, streamed_bytes) == 48 && offsetof(RtContext, costs) == 56);
static_assert(offsetof(RtContext, grid_sync) == 64 && offsetof(RtContext, interrupt) == 72);
static_assert(offsetof(RtContext, interrupted) == 80);
static_assert(sizeof(GemmArgs) == 144 && offsetof(GemmArgs, batch) == 40 && offsetof(GemmArgs, m) == 48);
static_assert(offsetof(GemmArgs, lhs_strides) == 72 && offsetof(GemmArgs, rhs_strides) == 96);
static_assert(offsetof(GemmArgs, lhs) == 120 && offsetof(GemmArgs, out) == 136);
static_assert(sizeof(RtApi) == 104 && offsetof(RtApi, grow) == 8 && offsetof(RtApi, output) == 16);
static_assert(offsetof(RtApi, parallel_for) == 24 && offsetof(RtApi, fail) == 32);
static_assert(offsetof(RtApi, launch) == 40 && offsetof(RtApi, readback) == 48 && offsetof(RtApi, block) == 56);
static_assert(offsetof(RtApi, offer) == 64 && offsetof(RtApi, gemm) == 72 && offsetof(RtApi, custom) == 80);
static_assert(offsetof(RtApi, custom_workspace) == 88 && offsetof(RtApi, poll) == 96);
static_assert(sizeof(PlanResult) == 24 && offsetof(PlanResult, workspace_bytes) == 8 &&
              offsetof(PlanResult, versions) == 16);

}  // namespace tailor

#endif  // TAILOR_EXEC_HOST_ABI_H_
