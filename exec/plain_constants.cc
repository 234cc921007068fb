#include "exec/plain_constants.h"

#include <algorithm>
#include <string>

#include "graph/dtype.h"

namespace tailor {
namespace {

constexpr int64_t kColumns = 16;  // of a panel

}  // namespace

PlainConstants::~PlainConstants() {
  if (copies_.empty()) return;
  const CurrentContext current(device_);
  for (const auto& [panels, copy] : copies_) device_.driver().MemFree(copy);
}

Failure PlainConstants::Get(const ProductArgs& product, cuda::Stream stream, const void** plain) {
  const std::lock_guard lock(mutex_);
  const CudaDriver& driver = device_.driver();
  const auto known = copies_.find(product.rhs);
  if (known != copies_.end()) {
    *plain = reinterpret_cast<const void*>(known->second);
    return {};
  }
  const auto bytes =
      static_cast<size_t>(product.batch * product.k * product.n) * SizeOf(static_cast<DType>(product.dtype));
  const std::string purpose = "a row-major copy of a constant of " + std::to_string(bytes) + " bytes";
  cuda::Address copy = 0;
  if (auto result = driver.MemAlloc(&copy, bytes); result != cuda::kSuccess) {
    return CudaFailure(driver, result, "cuMemAlloc", purpose);
  }
  auto result = Copy(product, copy, stream);
  const auto waited = driver.StreamSynchronize(stream);
  if (result == cuda::kSuccess) result = waited;
  if (result != cuda::kSuccess) {
    driver.MemFree(copy);
    return CudaFailure(driver, result, "cuMemcpy2DAsync", purpose);
  }
  copies_.emplace(product.rhs, copy);
  *plain = reinterpret_cast<const void*>(copy);
  return {};
}

// Panel by panel: rows of 16 columns become parts of rows of n.
cuda::Result PlainConstants::Copy(const ProductArgs& product, cuda::Address to, cuda::Stream stream) const {
  const int64_t element = SizeOf(static_cast<DType>(product.dtype));
  const auto bytes = [&](int64_t elements) { return static_cast<size_t>(elements * element); };
  const auto from = reinterpret_cast<cuda::Address>(product.rhs);
  for (int64_t batch = 0; batch < product.batch; ++batch) {
    for (int64_t column = 0; column < product.n; column += kColumns) {
      cuda::Memcpy2D copy = {};
      copy.from_type = copy.to_type = cuda::kMemoryDevice;
      copy.from_device = from + bytes(batch * product.rhs_strides[0] + column * product.k);
      copy.from_pitch = bytes(kColumns);
      copy.to_device = to + bytes(batch * product.k * product.n + column);
      copy.to_pitch = bytes(product.n);
      copy.width_bytes = bytes(std::min(kColumns, product.n - column));
      copy.height = static_cast<size_t>(product.k);
      const auto result = device_.driver().Memcpy2DAsync(&copy, stream);
      if (result != cuda::kSuccess) return result;
    }
  }
  return cuda::kSuccess;
}

}  // namespace tailor
