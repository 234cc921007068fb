#include "codegen/cuda/ptx/target.h"

#include "absl/strings/str_cat.h"

namespace tailor::cuda {
namespace {

// Shared memory that a block can request. For code that later GPUs may run, the least of them counts: 8.6, 8.9 and 12.0
// have less than 8.0, whose cubins or PTX they run.
constexpr int64_t kSharedOfAll = 99 << 10;
constexpr int64_t kSharedOf90 = 227 << 10;

// Elements of a row per block when blocks share rows: enough loads in flight. The emulator's rows are short, and must
// be shared too.
constexpr int64_t kPartElements = 4096;
constexpr int64_t kEmulatedPartElements = 32;

// Parameters of 8 bytes each; the remaining bytes are for dim sizes, tensor maps and grid-wide state.
constexpr size_t kMostTensors = 480;
static_assert(kMostTensors * 8 < kMostParameterBytes);

CudaTarget MakeTarget(const char* name, int ptx_version, int64_t shared_bytes) {
  CudaTarget target;
  target.name = name;
  target.ptx_version = ptx_version;
  target.traits.vector_bytes = 16;  // one thread's widest memory access
  target.traits.vector_registers = 255;
  target.traits.regional_bytes = shared_bytes;
  target.traits.max_kernel_tensors = kMostTensors;
  target.traits.row_blocks = false;
  target.traits.max_attention_row = 128;  // its sums, and a row's share of them, fit the registers of 128 threads
  target.traits.rows_in_place = false;    // the threads of a row read what other threads write
  target.traits.share_kernels = false;    // constant strides matter more there than the time of compiling
  target.traits.free_index_arithmetic = true;
  target.traits.winograd = false;
  target.traits.images_channels_last = false;  // not measured
  target.traits.device_panels = true;          // warps multiply panels as stored
  target.traits.external_f16_gemm = true;
  target.traits.elements_per_part = target.is_emulated() ? kEmulatedPartElements : kPartElements;
  return target;
}

CudaTarget WithWarpgroups(CudaTarget target) {
  target.traits.warpgroup_matmuls = true;
  return target;
}

}  // namespace

absl::StatusOr<CudaTarget> FindCudaTarget(absl::string_view name) {
  if (name == "sm_80") return MakeTarget("sm_80", 70, kSharedOfAll);
  if (name == "sm_90") return MakeTarget("sm_90", 78, kSharedOfAll);
  if (name == "sm_90a") return WithWarpgroups(MakeTarget("sm_90a", 80, kSharedOf90));
  if (name == "simt") return WithWarpgroups(MakeTarget("simt", 0, kSharedOf90));
  return absl::InvalidArgumentError(
      absl::StrCat("unknown GPU target \"", name, "\"; known are sm_80, sm_90, sm_90a, simt"));
}

}  // namespace tailor::cuda
