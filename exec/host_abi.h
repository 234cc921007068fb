// What generated host programs and the runtime share. Generated code is built against these
// offsets, so structs only grow at their end; RtApi and RtContext start with their size and a variant
// states the sizes it needs (Variant::api_size, context_size). Plain data and function pointers:
// no LLVM, no Abseil, nothing that could throw.
#ifndef TAILOR_EXEC_HOST_ABI_H_
#define TAILOR_EXEC_HOST_ABI_H_

#include <cstddef>
#include <cstdint>

namespace tailor {

struct CostProfile;  // codegen/contract/cost_profile.h

// One tensor at the boundary. Dense row-major; `dims` has the signature's rank entries.
// Inputs: all set by the runtime, read only. Outputs: generated code stores the dims, then RtApi::output sets data.
struct TensorArg {
  void* data;
  int64_t* dims;
};

// A kernel computes tasks [begin, end). `args` is its KernelArgs block: one 8-byte slot per buffer
// (address), then one per dim. `worker` in [0, RtContext::workers) owns one slice of scratch.
using KernelFn = void (*)(const int64_t* args, int64_t begin, int64_t end, int64_t worker);

// How a device runs a kernel, besides what DeviceKernel says.
struct LaunchGrid {
  int64_t blocks;        // more than 0
  int64_t shared_bytes;  // dynamic shared memory of a block
  int64_t cooperative;   // not 0: all blocks run at the same time, for they wait for each other at barriers of the grid
};

// A matmul that the runtime may compute in a kernel's place (DISC section 4.5):
//   out[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n], out dense.
// Strides are in elements, of batch, row and column. Of an rhs in panels only the batch has one.
struct GemmArgs {
  uint64_t struct_size;
  int64_t dtype;         // DType of all three; bf16 sums in f32
  int64_t rhs_layout;    // ConstantLayout
  int64_t rhs_constant;  // not 0: rhs stays as it is while its program is loaded
  int64_t workers;       // RtContext::workers
  int64_t batch, m, n, k;
  int64_t lhs_strides[3], rhs_strides[3];
  const void* lhs;
  const void* rhs;
  void* out;
};

// Per session; one run at a time. Generated code reads and writes these fields directly.
struct RtContext {
  uint64_t struct_size;
  const void* const* constants;  // by constant index; in the memory of the variant's device
  uint8_t* workspace;            // 64-byte aligned; null until grown
  uint64_t workspace_bytes;
  // Variant::shape_cache_slots words of host memory, which devices can write too, zeroed at session creation: what the
  // program keeps between runs (the last symbols and the layout computed for them). Word 0 is nonzero once the rest is
  // valid.
  int64_t* shape_cache;
  // What works at the same time. On the host, as many scratch slices, and threads of parallel_for at most; on a device,
  // its multiprocessors.
  int64_t workers;
  // Outputs of at least so many bytes would leave the caches before anyone reads them; 0: none would.
  uint64_t streamed_bytes;
  const CostProfile* costs;  // by which matmuls choose how they are cut; it grows with the artifact's version
  // On a device: kGridSyncBytes of its memory for the session's launches, at whose begins and ends they are 0 but for
  // the highest bit of the first word, at which blocks of a grid meet (LaunchGrid::cooperative). Null on the host.
  void* grid_sync;
};

inline constexpr uint64_t kGridSyncBytes = 256;

// What a run may ask of the runtime. Every function that can fail returns 0 on success; the generated
// code then returns the nonzero value at once. A number that names nothing (output, block, kernel) is a failure of the
// run, a launch step that does not exist is not traced. `device` 0 is the host, 1 the device of the variant's kernels.
struct RtApi {
  uint64_t struct_size;
  // Makes context->workspace at least `bytes` large; contents are not kept.
  int32_t (*grow)(RtContext* context, int32_t device, uint64_t bytes);
  // Provides out[index].data for the given dims (already stored in out[index].dims).
  int32_t (*output)(RtContext* context, int32_t index, TensorArg* out, uint64_t bytes);
  // Runs tasks [0, count) in chunks of `chunk size`, returns when all are done. Never fails.
  void (*parallel_for)(RtContext* context, KernelFn kernel, const int64_t* args, int64_t count,
                       int64_t tasks_per_chunk);
  // Records that check `check` failed with these values; returns the code to return. Never 0.
  int32_t (*fail)(RtContext* context, int32_t check, int64_t lhs, int64_t rhs);
  // Marks the begin (phase 0) and end (phase 1) of kernel launch `step` when profiling is on; null otherwise.
  void (*trace)(RtContext* context, int32_t step, int32_t phase);
  // Of devices other than the host; null in a session on the host.
  //
  // Asks for a launch of DeviceKernel number `kernel` and goes on at once; launches run in the order in which they are
  // asked for. Its parameters are the first slots at `args`, read before this returns.
  int32_t (*launch)(RtContext* context, int32_t device, int32_t kernel, const int64_t* args, const LaunchGrid* grid);
  // From the device's memory to the host's; returns when all launches before it have run. Only called by programs whose
  // variant says so (Variant::reads_back).
  int32_t (*readback)(RtContext* context, int32_t device, void* to, const void* from, uint64_t bytes);
  // Makes growing block `number` of the session at least `bytes` large and points out->data there; contents are not
  // kept. What a program needs whose dim sizes are known only during the run.
  int32_t (*block)(RtContext* context, int32_t number, TensorArg* out, uint64_t bytes);
  // Whether the runtime computes this matmul itself as long as no dim size changes: 0, or not 0. Of the addresses only
  // that of a constant is set.
  int32_t (*offer)(RtContext* context, const GemmArgs* gemm);
  // Computes a matmul that was taken.
  int32_t (*gemm)(RtContext* context, const GemmArgs* gemm);
};

// What the plan function reports besides output dims.
struct PlanResult {
  uint64_t struct_size;
  uint64_t workspace_bytes;
  int32_t* versions;  // chosen version per launch step, Variant::launches entries; -1: told by data; may be null
};

// Entry points of a variant's image.
using RunFn = int32_t (*)(const RtApi* api, RtContext* context, const TensorArg* in, TensorArg* out);
// Fills out[i].dims and `plan` from in[i].dims alone; touches no tensor data and no shape cache. Fails as run does. Dim sizes
// of outputs that data tells are -1, and workspace_bytes is without the blocks that such runs grow.
using PlanFn = int32_t (*)(const RtApi* api, RtContext* context, const TensorArg* in, TensorArg* out, PlanResult* plan);

// Reserved check id: arithmetic on dims left int64 (lhs, rhs unused).
inline constexpr int32_t kCheckOverflow = -1;

static_assert(sizeof(LaunchGrid) == 24 && offsetof(LaunchGrid, shared_bytes) == 8);
static_assert(sizeof(TensorArg) == 16 && offsetof(TensorArg, dims) == 8);
static_assert(sizeof(RtContext) == 72 && offsetof(RtContext, constants) == 8);
static_assert(offsetof(RtContext, workspace) == 16 && offsetof(RtContext, workspace_bytes) == 24);
static_assert(offsetof(RtContext, shape_cache) == 32 && offsetof(RtContext, workers) == 40);
static_assert(offsetof(RtContext, streamed_bytes) == 48 && offsetof(RtContext, costs) == 56);
static_assert(offsetof(RtContext, grid_sync) == 64);
static_assert(sizeof(GemmArgs) == 144 && offsetof(GemmArgs, batch) == 40 && offsetof(GemmArgs, m) == 48);
static_assert(offsetof(GemmArgs, lhs_strides) == 72 && offsetof(GemmArgs, rhs_strides) == 96);
static_assert(offsetof(GemmArgs, lhs) == 120 && offsetof(GemmArgs, out) == 136);
static_assert(sizeof(RtApi) == 88 && offsetof(RtApi, grow) == 8 && offsetof(RtApi, output) == 16);
static_assert(offsetof(RtApi, parallel_for) == 24 && offsetof(RtApi, fail) == 32 && offsetof(RtApi, trace) == 40);
static_assert(offsetof(RtApi, launch) == 48 && offsetof(RtApi, readback) == 56 && offsetof(RtApi, block) == 64);
static_assert(offsetof(RtApi, offer) == 72 && offsetof(RtApi, gemm) == 80);
static_assert(sizeof(PlanResult) == 24 && offsetof(PlanResult, workspace_bytes) == 8 &&
              offsetof(PlanResult, versions) == 16);

}  // namespace tailor

#endif  // TAILOR_EXEC_HOST_ABI_H_
