#include "exec/cuda/cublas_lt_gemm.h"

#include <climits>

#include "graph/dtype.h"

namespace tailor {
namespace {

using namespace cublas_lt;  // NOLINT: the library's own names

// A row-major matrix, or the transpose of one, as the column-major library sees its memory.
struct Stored {
  uint64_t rows, columns;  // contiguous columns of `rows` elements
  int64_t ld;
  bool transposed;  // the operand is this matrix transposed (CUBLAS_OP_T)
};

// The layout of a [rows, columns] matrix with these batch, row and column strides; false if neither rows nor columns
// are contiguous.
bool ReadStrides(int64_t rows, int64_t columns, const int64_t* strides, Stored* out) {
  const auto row_count = static_cast<uint64_t>(rows), column_count = static_cast<uint64_t>(columns);
  if (strides[2] == 1 && strides[1] >= columns) {
    *out = {column_count, row_count, strides[1], false};
    return true;
  }
  if (strides[1] == 1 && strides[2] >= rows) {
    *out = {row_count, column_count, strides[2], true};
    return true;
  }
  return false;
}

bool TypeOf(int64_t dtype, DataType* type) {
  switch (static_cast<DType>(dtype)) {
    case DType::kF32:
      return *type = kReal32F, true;
    case DType::kF16:
      return *type = kReal16F, true;
    case DType::kBF16:
      return *type = kReal16BF, true;
    default:
      return false;
  }
}

}  // namespace

std::string CublasLtGemm::Make(const CublasLt& library, Handle handle, const GemmArgs& gemm,
                               const CublasLtLimits& limits, std::unique_ptr<const CublasLtGemm>* out) {
  std::unique_ptr<CublasLtGemm> made(new CublasLtGemm(library, handle));
  if (std::string why = made->Describe(gemm); !why.empty()) return why;
  if (std::string why = made->FindAlgorithm(limits); !why.empty()) return why;
  *out = std::move(made);
  return "";
}

CublasLtGemm::~CublasLtGemm() {
  if (gemm_ != nullptr) library_.MatmulDescDestroy(gemm_);
  for (MatrixLayout layout : {lhs_, rhs_, out_}) {
    if (layout != nullptr) library_.MatrixLayoutDestroy(layout);
  }
}

std::string CublasLtGemm::Describe(const GemmArgs& p) {
  DataType type = kReal32F;
  Stored lhs = {}, rhs = {};
  if (!TypeOf(p.dtype, &type)) return "the type is neither f32 nor f16 nor bf16";
  if (!ReadStrides(p.m, p.k, p.lhs_strides, &lhs) || !ReadStrides(p.k, p.n, p.rhs_strides, &rhs) || p.batch > INT_MAX) {
    return "the operands' strides are none that cuBLASLt takes";
  }
  if (library_.MatmulDescCreate(&gemm_, kCompute32F, kReal32F) != kSuccess) return "cublasLtMatmulDescCreate fails";
  for (const auto& [attribute, transposed] : {std::pair{kTransA, rhs.transposed}, {kTransB, lhs.transposed}}) {
    const int32_t op = transposed ? kTransposed : 0;
    if (library_.MatmulDescSetAttribute(gemm_, attribute, &op, sizeof op) != kSuccess) {
      return "cublasLtMatmulDescSetAttribute fails";
    }
  }
  const auto batch = static_cast<int32_t>(p.batch);
  const auto layout = [&](MatrixLayout* made, const Stored& stored, int64_t batch_stride) {
    if (library_.MatrixLayoutCreate(made, type, stored.rows, stored.columns, stored.ld) != kSuccess) return false;
    if (batch == 1) return true;
    return library_.MatrixLayoutSetAttribute(*made, kBatchCount, &batch, sizeof batch) == kSuccess &&
           library_.MatrixLayoutSetAttribute(*made, kStridedBatchOffset, &batch_stride, sizeof batch_stride) ==
               kSuccess;
  };
  const Stored out = {static_cast<uint64_t>(p.n), static_cast<uint64_t>(p.m), p.n, false};
  if (!layout(&lhs_, lhs, p.lhs_strides[0]) || !layout(&rhs_, rhs, p.rhs_strides[0]) ||
      !layout(&out_, out, p.m * p.n)) {
    return "cublasLtMatrixLayoutCreate fails";
  }
  return "";
}

std::string CublasLtGemm::FindAlgorithm(const CublasLtLimits& limits) {
  MatmulPreference preference = nullptr;
  if (library_.MatmulPreferenceCreate(&preference) != kSuccess) return "cublasLtMatmulPreferenceCreate fails";
  const auto set = [&](MatmulPreferenceAttribute attribute, const auto& value) {
    return library_.MatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value) == kSuccess;
  };
  bool done = set(kMaxWorkspaceBytes, limits.workspace_bytes) && set(kReductionSchemeMask, limits.reductions);
  for (auto attribute : {kMinAlignmentABytes, kMinAlignmentBBytes, kMinAlignmentCBytes, kMinAlignmentDBytes}) {
    done = done && set(attribute, limits.alignment);
  }
  int found = 0;
  const Status status =
      done ? library_.MatmulAlgoGetHeuristic(handle_, gemm_, rhs_, lhs_, out_, out_, preference, 1, &found_, &found)
           : kInvalidValue;
  library_.MatmulPreferenceDestroy(preference);
  if (!done) return "cublasLtMatmulPreferenceSetAttribute fails";
  return status == kSuccess && found > 0 && found_.state == kSuccess ? "" : "cuBLASLt has no algorithm";
}

Status CublasLtGemm::Multiply(const void* lhs, const void* rhs, void* out, void* workspace, cuda::Stream stream) const {
  constexpr float kOne = 1, kZero = 0;
  return library_.Matmul(handle_, gemm_, &kOne, rhs, rhs_, lhs, lhs_, &kZero, out, out_, out, out_, &found_.algorithm,
                         workspace, found_.workspace_bytes, stream);
}

}  // namespace tailor
