#include "codegen/cuda/cuda_target.h"

#include "absl/strings/str_cat.h"

namespace tailor {
namespace {

CudaTarget MakeTarget(const char* name, int ptx_version) {
  CudaTarget target;
  target.name = name;
  target.ptx_version = ptx_version;
  target.traits.vector_bytes = 16;  // one thread's widest memory access
  target.traits.vector_registers = 255;
  target.traits.regional_bytes = 48 << 10;  // shared memory that a block has without opting in
  target.traits.launch_cost_ns = 2500;
  target.traits.row_blocks = false;
  target.traits.warp_size = 32;
  return target;
}

}  // namespace

absl::StatusOr<CudaTarget> FindCudaTarget(absl::string_view name) {
  if (name == "sm_80") return MakeTarget("sm_80", 70);
  if (name == "sm_90") return MakeTarget("sm_90", 78);
  if (name == "sm_90a") return MakeTarget("sm_90a", 80);
  if (name == "simt") return MakeTarget("simt", 0);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown GPU target \"", name, "\"; known are sm_80, sm_90, sm_90a, simt"));
}

}  // namespace tailor
