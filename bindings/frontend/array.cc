#include "bindings/frontend/array.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "bindings/frontend/error.h"
#include "graph/native.h"

namespace tailor::frontend {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

int64_t CountOf(const std::vector<int64_t>& shape) {
  constexpr int64_t kMost = int64_t{1} << 60;
  for (int64_t dim : shape) {
    if (dim < 0) Fail("a tensor has the negative dim size " + std::to_string(dim));
  }
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t count = 1;
  for (int64_t dim : shape) {
    if (__builtin_mul_overflow(count, dim, &count) || count > kMost) Fail("a tensor has too many elements");
  }
  return count;
}

Array::Array(DType dtype, std::vector<int64_t> shape, std::shared_ptr<const void> owner, const void* data)
    : dtype_(dtype), shape_(std::move(shape)), size_(CountOf(shape_)), owner_(std::move(owner)), data_(data) {}

Array Array::New(DType dtype, std::vector<int64_t> shape) {
  const size_t bytes = static_cast<size_t>(CountOf(shape)) * static_cast<size_t>(SizeOf(dtype));
  const std::shared_ptr<void> memory(::operator new(bytes + 1, kAlignment),
                                     [](void* data) { ::operator delete(data, kAlignment); });
  std::memset(memory.get(), 0, bytes);
  return Array(dtype, std::move(shape), memory, memory.get());
}

Array Array::Scalar(DType dtype, double value) {
  Array out = New(dtype, {});
  out.set(0, value);
  return out;
}

Array Array::Integer(DType dtype, int64_t value, std::vector<int64_t> shape) {
  Array out = New(dtype, std::move(shape));
  for (int64_t i = 0; i < out.size(); ++i) out.set_integer(i, value);
  return out;
}

Array Array::Integers(const std::vector<int64_t>& values, DType dtype) {
  Array out = New(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) out.set_integer(static_cast<int64_t>(i), values[i]);
  return out;
}

Array Array::Floats(const std::vector<float>& values, std::vector<int64_t> shape) {
  Array out = New(DType::kF32, std::move(shape));
  std::memcpy(out.fill<float>(), values.data(), out.bytes());
  return out;
}

int64_t Array::integer(int64_t index) const {
  if (dtype_ == DType::kBool) return as<uint8_t>()[index] != 0;
  return VisitNative(dtype_, [&](auto kind) { return static_cast<int64_t>(as<decltype(kind)>()[index]); });
}

double Array::number(int64_t index) const {
  switch (dtype_) {
    case DType::kBool:
      return as<uint8_t>()[index] != 0 ? 1 : 0;
    case DType::kF16:
      return FloatFromF16(as<uint16_t>()[index]);
    case DType::kBF16:
      return FloatFromBF16(as<uint16_t>()[index]);
    default:
      return VisitNative(dtype_, [&](auto kind) { return static_cast<double>(as<decltype(kind)>()[index]); });
  }
}

void Array::set(int64_t index, double value) {
  switch (dtype_) {
    case DType::kBool:
      fill<uint8_t>()[index] = value != 0;
      return;
    case DType::kF16:
      fill<uint16_t>()[index] = F16FromFloat(static_cast<float>(value));
      return;
    case DType::kBF16:
      fill<uint16_t>()[index] = BF16FromFloat(static_cast<float>(value));
      return;
    default:
      VisitNative(dtype_, [&](auto kind) {
        using T = decltype(kind);
        if constexpr (std::is_integral_v<T>) {
          fill<T>()[index] = Saturate<T>(value);
        } else {
          fill<T>()[index] = static_cast<T>(value);
        }
      });
  }
}

void Array::set_integer(int64_t index, int64_t value) {
  if (dtype_ == DType::kBool || dtype_ == DType::kF16 || dtype_ == DType::kBF16) {
    set(index, static_cast<double>(value));
    return;
  }
  VisitNative(dtype_, [&](auto kind) { fill<decltype(kind)>()[index] = static_cast<decltype(kind)>(value); });
}

void Array::NormalizeBools() {
  if (dtype_ != DType::kBool) return;
  for (int64_t i = 0; i < size_; ++i) fill<uint8_t>()[i] = as<uint8_t>()[i] != 0;
}

Array Array::Reshaped(std::vector<int64_t> shape) const {
  Array out(dtype_, std::move(shape), owner_, data_);
  if (out.size() != size_) {
    Fail("a constant of " + std::to_string(size_) + " elements is reshaped to " + std::to_string(out.size()));
  }
  return out;
}

}  // namespace tailor::frontend
