#include "codegen/cuda/ptx/target.h"

#include "absl/strings/str_cat.h"

namespace tailor::cuda {
namespace {

// Shared memory that a block can ask for. What later GPUs may run has no more than the least of them: those of 8.6, 8.9
// and 12.0 have less than 8.0, whose cubins and PTX they take.
constexpr int64_t kSharedOfAll = 99 << 10;
constexpr int64_t kSharedOf90 = 227 << 10;

// Elements of a row that a block has for itself: enough loads to be under way at the same time. The emulator's rows are
// short, and are to be shared too.
constexpr int64_t kPartElements = 4096;
constexpr int64_t kEmulatedPartElements = 32;

// Parameters of 8 bytes each; what remains is for dim sizes, maps and what blocks share.
constexpr size_t kMostTensors = 480;
static_assert(kMostTensors * 8 < kMostParameterBytes);

CudaTarget MakeTarget(const char* name, int ptx_version, int64_t shared_bytes) {
  CudaTarget target;
  target.name = name;
  target.ptx_version = ptx_version;
  target.traits.vector_bytes = 16;  // one thread's widest memory access
  target.traits.vector_registers = 255;
  target.traits.regional_bytes = shared_bytes;
  target.traits.launch_cost_ns = 2500;
  target.traits.most_tensors = kMostTensors;
  target.traits.row_blocks = false;
  target.traits.joined_dim_size = 128;  // its sums, and a row's share of them, fit the registers of 128 threads
  target.traits.rows_in_place = false;  // the threads that share a row read what others of them write
  target.traits.free_index_arithmetic = true;
  target.traits.winograd = false;
  target.traits.pair_panels = false;  // warps multiply panels as they are
  target.traits.external_f16_gemm = true;
  target.traits.part_elements = target.is_emulated() ? kEmulatedPartElements : kPartElements;
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
