#include "tests/gpu/measure/cublas_lt.h"

#include <memory>

#include "exec/cuda/cublas_lt_gemm.h"
#include "tailor/runtime.h"

namespace tailor::bench {
namespace {

// As the library is used by default.
constexpr CublasLtLimits kLimits = {
    .workspace_bytes = uint64_t{64} << 20, .alignment = 256, .reductions = cublas_lt::kAnyReduction};

void Require(const Failure& failure) {
  if (!failure.ok()) throw NotMeasured(failure.message);
}

void SetStrides(int64_t rows, int64_t columns, bool transposed, int64_t* strides) {
  strides[0] = rows * columns;
  strides[1] = transposed ? 1 : columns;
  strides[2] = transposed ? rows : 1;
}

}  // namespace

CublasLtPeer* CublasLtPeer::Find(std::string* why) {
  static CublasLtPeer peer;
  static const Failure absent = CublasLt::Load(CublasLtPaths(), &peer.library_);
  *why = absent.message;
  return absent.ok() ? &peer : nullptr;
}

std::function<void()> CublasLtPeer::Matmul(const Gpu& gpu, const GpuMatmulShape& shape, const GpuMemory& x,
                                           const GpuMemory& w, const GpuMemory& y) {
  if (handle_ == nullptr) {
    Require(library_.FailureOf(library_.Create(&handle_), "cublasLtCreate", "the peer of matmuls"));
  }
  GemmArgs args = {};
  args.dtype = TAILOR_BF16;
  args.batch = 1;
  args.m = shape.m;
  args.n = shape.n;
  args.k = shape.k;
  SetStrides(shape.m, shape.k, shape.x_transposed, args.lhs_strides);
  SetStrides(shape.k, shape.n, shape.w_transposed, args.rhs_strides);
  std::unique_ptr<const CublasLtGemm> made;
  if (const std::string why = CublasLtGemm::Make(library_, handle_, args, kLimits, &made); !why.empty()) {
    throw NotMeasured(why);
  }
  const auto workspace = std::make_shared<GpuMemory>(gpu, kLimits.workspace_bytes);
  return [this, workspace, matmul = std::shared_ptr(std::move(made)), &gpu, &x, &w, &y] {
    Require(library_.FailureOf(matmul->Multiply(x.data(), w.data(), y.data(), workspace->data(), gpu.stream()),
                               "cublasLtMatmul", "the peer of matmuls"));
  };
}

}  // namespace tailor::bench
