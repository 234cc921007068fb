// Calls of custom operators: what their C++ functions read and write. Part of tailor/runtime.hpp; C++17.
#ifndef TAILOR_HPP_CUSTOM_OPERATOR_HPP_
#define TAILOR_HPP_CUSTOM_OPERATOR_HPP_

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "tailor/hpp/tensor.hpp"

namespace tailor {
inline namespace TAILOR_HPP {

namespace detail {
struct CustomCallbacks;
}

// One call of a custom operator; valid until the function returns. Operands and results are dense and row-major. After
// the results there is one i64 of rank 0 for each counted result, in order. An index that is out of range, another
// element type, memory of a device, and data while the workspace is sized are INVALID_ARGUMENT.
class CustomCall {
 public:
  CustomCall(const CustomCall&) = delete;

  std::string_view name() const { return raw_.name; }
  // The user's name of the graph node, or "".
  std::string_view node() const { return raw_.node; }
  std::string_view attributes() const { return {raw_.attributes, static_cast<std::size_t>(raw_.attributes_size)}; }

  std::size_t operand_count() const { return static_cast<std::size_t>(raw_.operand_count); }
  std::size_t result_count() const { return static_cast<std::size_t>(raw_.result_count); }
  Result<DType> operand_dtype(std::size_t index) const { return dtype("operand", operands(), index); }
  Result<DType> result_dtype(std::size_t index) const { return dtype("result", results(), index); }
  Result<Shape> operand_shape(std::size_t index) const { return shape("operand", operands(), index); }
  Result<Shape> result_shape(std::size_t index) const { return shape("result", results(), index); }

  template <typename T>
  Result<Span<const T>> operand(std::size_t index) const {
    return elements<const T>("operand", operands(), index);
  }
  // To be written; arbitrary at first.
  template <typename T>
  Result<Span<T>> result(std::size_t index) const {
    return elements<T>("result", results(), index);
  }
  // The memory that the operator asked for; arbitrary at first.
  Result<Span<unsigned char>> workspace() const {
    if (data_ != Data::kHost) return unreadable("the workspace");
    return Span<unsigned char>(static_cast<unsigned char*>(raw_.workspace),
                               static_cast<std::size_t>(raw_.workspace_bytes));
  }

  // Addresses, for operators of a device.
  Result<const void*> operand_address(std::size_t index) const {
    return address("operand", operands(), index).transform([](void* data) { return static_cast<const void*>(data); });
  }
  Result<void*> result_address(std::size_t index) const { return address("result", results(), index); }
  void* workspace_address() const { return raw_.workspace; }
  // CUDA: the CUstream for all work; null on the CPU.
  void* stream() const { return raw_.stream; }

 private:
  friend struct detail::CustomCallbacks;
  enum class Data { kHost, kDevice, kMissing };
  using Tensors = Span<const tailor_custom_tensor>;

  CustomCall(const tailor_custom_call& raw, Data data) : raw_(raw), data_(data) {}

  Tensors operands() const { return {raw_.operands, operand_count()}; }
  Tensors results() const { return {raw_.results, result_count()}; }

  static Error missing(const char* kind, Tensors tensors, std::size_t index) {
    return detail::invalid(std::string("there is no ") + kind + " " + std::to_string(index) + ", only " +
                           std::to_string(tensors.size()));
  }
  Error unreadable(const std::string& what) const {
    return detail::invalid(data_ == Data::kDevice ? what + " is in the device's memory: see its address"
                                                  : what + " has no data while the workspace is sized");
  }
  static Result<DType> dtype(const char* kind, Tensors tensors, std::size_t index) {
    if (index >= tensors.size()) return missing(kind, tensors, index);
    return static_cast<DType>(tensors[index].dtype);
  }
  static Result<Shape> shape(const char* kind, Tensors tensors, std::size_t index) {
    if (index >= tensors.size()) return missing(kind, tensors, index);
    return Shape(Span<const std::int64_t>(tensors[index].dims, static_cast<std::size_t>(tensors[index].rank)));
  }
  template <typename T>
  Result<Span<T>> elements(const char* kind, Tensors tensors, std::size_t index) const {
    if (index >= tensors.size()) return missing(kind, tensors, index);
    const std::string what = std::string(kind) + " " + std::to_string(index);
    if (data_ != Data::kHost) return unreadable(what);
    constexpr DType wanted = dtype_of<std::remove_const_t<T>>();
    const auto dtype = static_cast<DType>(tensors[index].dtype);
    if (dtype != wanted) return detail::invalid(what + " is " + name_of(dtype) + ", not " + name_of(wanted));
    const std::int64_t count = shape(kind, tensors, index)->elements().value_or(0);
    return Span<T>(static_cast<T*>(tensors[index].data), static_cast<std::size_t>(count));
  }
  Result<void*> address(const char* kind, Tensors tensors, std::size_t index) const {
    if (index >= tensors.size()) return missing(kind, tensors, index);
    if (data_ == Data::kMissing) return unreadable(std::string(kind) + " " + std::to_string(index));
    return tensors[index].data;
  }

  const tailor_custom_call& raw_;
  const Data data_;
};

// A custom operator. Its functions are called on the threads that run sessions, from several at once if several
// sessions run. An Error fails the run with its code and message; so does an exception, as INTERNAL with its what().
struct CustomOperator {
  std::function<Result<void>(const CustomCall&)> function;
  // Bytes of workspace, by the dims, element types and attributes of the call alone; may be empty: none.
  std::function<Result<std::size_t>(const CustomCall&)> workspace;
};

namespace detail {

// The C functions of an operator; `user` is a CustomCallbacks of which the library owns one.
struct CustomCallbacks {
  CustomOperator op;
  bool on_device;

  static std::int32_t function(void* user, const tailor_custom_call* raw) noexcept {
    const auto* self = static_cast<CustomCallbacks*>(user);
    const CustomCall call(*raw, self->on_device ? CustomCall::Data::kDevice : CustomCall::Data::kHost);
    return code_of(*raw, [&] { return self->op.function(call); });
  }
  static std::int32_t workspace(void* user, const tailor_custom_call* raw, std::uint64_t* bytes) noexcept {
    const auto* self = static_cast<CustomCallbacks*>(user);
    const CustomCall call(*raw, CustomCall::Data::kMissing);
    return code_of(*raw, [&]() -> Result<void> {
      Result<std::size_t> size = self->op.workspace(call);
      if (!size) return size.error();
      *bytes = *size;
      return {};
    });
  }
  static void released(void* user) noexcept { delete static_cast<CustomCallbacks*>(user); }

 private:
  template <typename F>
  static std::int32_t code_of(const tailor_custom_call& raw, F call) {
#if defined(__cpp_exceptions)
    try {
      return code_of(raw, call());
    } catch (const Error& error) {
      return code_of(raw, error);
    } catch (const std::exception& exception) {
      return code_of(raw, Error(Code::kInternal, exception.what()));
    } catch (...) {
      return code_of(raw, Error(Code::kInternal, "it threw a value that is no std::exception"));
    }
#else
    return code_of(raw, call());
#endif
  }
  static std::int32_t code_of(const tailor_custom_call& raw, const Result<void>& result) {
    return result ? 0 : code_of(raw, result.error());
  }
  static std::int32_t code_of(const tailor_custom_call& raw, const Error& error) {
    if (raw.message_capacity > 0) {
      std::size_t size =
          std::min<std::size_t>(error.message().size(), static_cast<std::size_t>(raw.message_capacity) - 1);
      // A cut inside of a UTF-8 sequence moves to its beginning.
      while (size > 0 && size < error.message().size() && (error.message()[size] & 0xC0) == 0x80) --size;
      std::memcpy(raw.message, error.message().data(), size);
      raw.message[size] = '\0';
    }
    const auto code = static_cast<std::int32_t>(error.code());
    return code == TAILOR_OK ? TAILOR_INTERNAL : code;
  }
};

}  // namespace detail
}  // namespace TAILOR_HPP
}  // namespace tailor

#endif  // TAILOR_HPP_CUSTOM_OPERATOR_HPP_
