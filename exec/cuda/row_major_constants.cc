#include "exec/cuda/row_major_constants.h"

#include <string>
#include <vector>

#include "exec/cuda/device_panels.h"
#include "graph/dtype.h"

namespace tailor {
namespace {

constexpr int64_t kColumns = 16;  // per panel

}  // namespace

RowMajorConstants::~RowMajorConstants() {
  if (copies_.empty()) return;
  const CurrentContext current(device_);
  for (const auto& [panels, copy] : copies_) device_.driver().MemFree(copy);
}

Failure RowMajorConstants::Get(const GemmArgs& gemm, cuda::Stream stream, const void** plain) {
  const std::lock_guard lock(mutex_);
  const CudaDriver& driver = device_.driver();
  const auto known = copies_.find(gemm.rhs);
  if (known != copies_.end()) {
    *plain = reinterpret_cast<const void*>(known->second);
    return {};
  }
  const auto bytes = static_cast<size_t>(gemm.batch * gemm.k * gemm.n) * SizeOf(static_cast<DType>(gemm.dtype));
  const std::string purpose = "a row-major copy of a constant of " + std::to_string(bytes) + " bytes";
  cuda::Address copy = 0;
  if (auto result = driver.MemAlloc(&copy, bytes); result != cuda::kSuccess) {
    return CudaFailure(driver, result, "cuMemAlloc", purpose);
  }
  const auto result = Copy(gemm, copy, stream);
  if (result != cuda::kSuccess) {
    driver.MemFree(copy);
    return CudaFailure(driver, result, "cuMemcpy", purpose);
  }
  copies_.emplace(gemm.rhs, copy);
  *plain = reinterpret_cast<const void*>(copy);
  return {};
}

// Copies through the host, where panels are converted, one batch index at a time.
cuda::Result RowMajorConstants::Copy(const GemmArgs& gemm, cuda::Address to, cuda::Stream stream) const {
  const CudaDriver& driver = device_.driver();
  const auto dtype = static_cast<DType>(gemm.dtype);
  const auto bytes = [&](int64_t elements) { return static_cast<size_t>(elements * SizeOf(dtype)); };
  const int64_t panels_each = (gemm.n + kColumns - 1) / kColumns * kColumns * gemm.k;
  std::vector<std::byte> panels(bytes(panels_each)), plain(bytes(gemm.k * gemm.n));
  auto result = cuda::kSuccess;
  for (int64_t batch = 0; batch < gemm.batch && result == cuda::kSuccess; ++batch) {
    const auto from = reinterpret_cast<cuda::Address>(gemm.rhs) + bytes(batch * gemm.rhs_strides[0]);
    result = driver.MemcpyDtoHAsync(panels.data(), from, panels.size(), stream);
    if (result == cuda::kSuccess) result = driver.StreamSynchronize(stream);
    if (result != cuda::kSuccess) return result;
    UnpackPanels(panels.data(), dtype, gemm.k, gemm.n, plain.data());
    result = driver.MemcpyHtoDAsync(to + batch * plain.size(), plain.data(), plain.size(), stream);
    const auto waited = driver.StreamSynchronize(stream);  // the copy reads `plain`
    if (result == cuda::kSuccess) result = waited;
  }
  return result;
}

}  // namespace tailor
