#include "exec/cuda/gemms.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "exec/cuda/program.h"
#include "graph/dtype.h"

namespace tailor {
namespace {

constexpr uint32_t kAligned = 16;

bool AreAligned(std::initializer_list<const void*> addresses) {
  return std::all_of(addresses.begin(), addresses.end(),
                     [](const void* address) { return reinterpret_cast<uintptr_t>(address) % kAligned == 0; });
}

std::string TextOf(const GemmArgs& p) {
  const auto matrix = [](int64_t rows, int64_t columns) {
    return std::to_string(rows) + " x " + std::to_string(columns);
  };
  return (p.batch > 1 ? std::to_string(p.batch) + " times " : "") + matrix(p.m, p.k) + " by " + matrix(p.k, p.n) +
         " in " + NameOf(static_cast<DType>(p.dtype));
}

}  // namespace

Failure CudaGemms::Create(const CudaProgram& program, const CublasLt& library, cuda::Stream stream,
                          const Allocator& memory, std::unique_ptr<CudaGemms>* out) {
  std::unique_ptr<CudaGemms> made(new CudaGemms(program, library, stream, memory));
  Failure f = library.FailureOf(library.Create(&made->handle_), "cublasLtCreate", "a session");
  if (f.ok()) *out = std::move(made);
  return f;
}

CudaGemms::~CudaGemms() {
  prepared_.clear();
  if (handle_ != nullptr) library_.Destroy(handle_);
}

CudaGemms::Key CudaGemms::KeyOf(const GemmArgs& gemm) {
  constexpr size_t kFirst = offsetof(GemmArgs, dtype), kEnd = offsetof(GemmArgs, lhs);
  Key key = {};
  static_assert(sizeof(key) == kEnd - kFirst + sizeof(int64_t));
  std::memcpy(key.data(), reinterpret_cast<const std::byte*>(&gemm) + kFirst, kEnd - kFirst);
  if (gemm.rhs_constant != 0) key.back() = reinterpret_cast<int64_t>(gemm.rhs);
  return key;
}

std::string CudaGemms::Make(const GemmArgs& gemm, Prepared* made) {
  GemmArgs row_major_rhs = gemm;
  if (static_cast<ConstantLayout>(gemm.rhs_layout) != ConstantLayout::kRowMajor) {
    Failure f = program_.row_major_constants().Get(gemm, stream_, &made->row_major_rhs);
    if (!f.ok()) return f.message;
    const int64_t strides[] = {gemm.k * gemm.n, gemm.n, 1};
    std::copy_n(strides, 3, row_major_rhs.rhs_strides);
  }
  const auto element = static_cast<uint32_t>(SizeOf(static_cast<DType>(gemm.dtype)));
  std::string why = CublasLtGemm::Make(library_, handle_, row_major_rhs, {.alignment = kAligned}, &made->aligned);
  if (why.empty()) {
    why = CublasLtGemm::Make(library_, handle_, row_major_rhs, {.alignment = element}, &made->unaligned);
  }
  if (!why.empty()) return why;
  const size_t bytes = std::max(made->aligned->workspace_bytes(), made->unaligned->workspace_bytes());
  if (bytes <= workspace_.size() || workspace_.Grow(bytes)) return "";
  prepared_.clear();  // the failed Grow freed their workspace too
  return "the device has no memory for its workspace";
}

const CudaGemms::Prepared& CudaGemms::Find(const GemmArgs& gemm) {
  const Key key = KeyOf(gemm);
  if (const auto found = prepared_.find(key); found != prepared_.end()) return found->second;
  Prepared made;
  made.refusal = Make(gemm, &made);
  if (!made.refusal.empty()) {
    program_.runtime().Log(Runtime::kInfo, program_.program(),
                           "cuBLASLt does not compute " + TextOf(gemm) + ": " + made.refusal);
  }
  if (prepared_.size() >= kMostMade) prepared_.clear();
  return prepared_.emplace(key, std::move(made)).first->second;
}

bool CudaGemms::Take(const GemmArgs& gemm) {
  return IsSelected(program_.runtime().provider(), gemm) && Find(gemm).refusal.empty();
}

Failure CudaGemms::Multiply(const GemmArgs& gemm) {
  const Prepared& made = Find(gemm);
  if (!made.refusal.empty()) {
    return {Code::kInternal, "cuBLASLt took " + TextOf(gemm) + ", but: " + made.refusal, ""};
  }
  const void* rhs = made.row_major_rhs != nullptr ? made.row_major_rhs : gemm.rhs;
  const bool aligned = AreAligned({gemm.lhs, rhs, gemm.out});
  const CublasLtGemm& chosen = aligned ? *made.aligned : *made.unaligned;
  const auto status = chosen.Multiply(gemm.lhs, rhs, gemm.out, workspace_.data(), stream_);
  if (status == cublas_lt::kSuccess) [[likely]]
    return {};
  return library_.FailureOf(status, "cublasLtMatmul", TextOf(gemm));
}

}  // namespace tailor
