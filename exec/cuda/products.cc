#include "exec/cuda/products.h"

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

std::string TextOf(const ProductArgs& p) {
  const auto matrix = [](int64_t rows, int64_t columns) {
    return std::to_string(rows) + " x " + std::to_string(columns);
  };
  return (p.batch > 1 ? std::to_string(p.batch) + " times " : "") + matrix(p.m, p.k) + " by " + matrix(p.k, p.n) +
         " in " + NameOf(static_cast<DType>(p.dtype));
}

}  // namespace

Failure CudaProducts::Create(const CudaProgram& program, const CublasLt& library, cuda::Stream stream,
                             const Allocator& memory, std::unique_ptr<CudaProducts>* out) {
  std::unique_ptr<CudaProducts> made(new CudaProducts(program, library, stream, memory));
  Failure f = library.FailureOf(library.Create(&made->handle_), "cublasLtCreate", "a session");
  if (f.ok()) *out = std::move(made);
  return f;
}

CudaProducts::~CudaProducts() {
  made_.clear();
  if (handle_ != nullptr) library_.Destroy(handle_);
}

CudaProducts::Key CudaProducts::KeyOf(const ProductArgs& product) {
  constexpr size_t kFirst = offsetof(ProductArgs, dtype), kEnd = offsetof(ProductArgs, lhs);
  Key key = {};
  static_assert(sizeof(key) == kEnd - kFirst + sizeof(int64_t));
  std::memcpy(key.data(), reinterpret_cast<const std::byte*>(&product) + kFirst, kEnd - kFirst);
  if (product.rhs_constant != 0) key.back() = reinterpret_cast<int64_t>(product.rhs);
  return key;
}

std::string CudaProducts::Make(const ProductArgs& product, Made* made) {
  ProductArgs plain = product;
  if (static_cast<ConstantLayout>(product.rhs_layout) != ConstantLayout::kRowMajor) {
    Failure f = program_.plain_constants().Get(product, stream_, &made->plain);
    if (!f.ok()) return f.message;
    const int64_t strides[] = {product.k * product.n, product.n, 1};
    std::copy_n(strides, 3, plain.rhs_strides);
  }
  const auto element = static_cast<uint32_t>(SizeOf(static_cast<DType>(product.dtype)));
  std::string why = CublasLtProduct::Make(library_, handle_, plain, {.alignment = kAligned}, &made->aligned);
  if (why.empty()) {
    why = CublasLtProduct::Make(library_, handle_, plain, {.alignment = element}, &made->unaligned);
  }
  if (!why.empty()) return why;
  const size_t bytes = std::max(made->aligned->workspace_bytes(), made->unaligned->workspace_bytes());
  if (bytes <= workspace_.size() || workspace_.Grow(bytes)) return "";
  made_.clear();  // whose workspace is gone too
  return "the device has no memory for its workspace";
}

const CudaProducts::Made& CudaProducts::Find(const ProductArgs& product) {
  const Key key = KeyOf(product);
  if (const auto found = made_.find(key); found != made_.end()) return found->second;
  Made made;
  made.refusal = Make(product, &made);
  if (!made.refusal.empty()) {
    program_.runtime().Log(Runtime::kInfo, "cuBLASLt does not compute " + TextOf(product) + ": " + made.refusal);
  }
  if (made_.size() >= kMostMade) made_.clear();
  return made_.emplace(key, std::move(made)).first->second;
}

bool CudaProducts::Take(const ProductArgs& product) {
  return IsAskedFor(program_.runtime().provider(), product) && Find(product).refusal.empty();
}

Failure CudaProducts::Multiply(const ProductArgs& product) {
  const Made& made = Find(product);
  if (!made.refusal.empty()) {
    return {Code::kInternal, "cuBLASLt took " + TextOf(product) + ", but: " + made.refusal, ""};
  }
  const void* rhs = made.plain != nullptr ? made.plain : product.rhs;
  const bool aligned = AreAligned({product.lhs, rhs, product.out});
  const CublasLtProduct& chosen = aligned ? *made.aligned : *made.unaligned;
  const auto status = chosen.Multiply(product.lhs, rhs, product.out, workspace_.data(), stream_);
  if (status == cublas_lt::kSuccess) [[likely]]
    return {};
  return library_.FailureOf(status, "cublasLtMatmul", TextOf(product));
}

}  // namespace tailor
