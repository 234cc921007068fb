// Error and Result<T>: what fallible calls return. Part of tailor/runtime.hpp; C++17.
//
//     tailor::Result<tailor::Executable> executable = tailor::Executable::load("model.tlr");
//     if (!executable) return fail(executable.error().message());
//     executable->save("copy.tlr").value();  // throws tailor::Error, or aborts with its text without exceptions
//
// `value()`, `*` and `->` check: without a value they throw the error, or without exceptions print it and abort.
#ifndef TAILOR_HPP_RESULT_HPP_
#define TAILOR_HPP_RESULT_HPP_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tailor/hpp/span.hpp"
#include "tailor/runtime.h"

namespace tailor {
inline namespace TAILOR_HPP {

enum class Code : std::int32_t {
  kCancelled = TAILOR_CANCELLED,
  kInvalidArgument = TAILOR_INVALID_ARGUMENT,
  kDeadlineExceeded = TAILOR_DEADLINE_EXCEEDED,
  kNotFound = TAILOR_NOT_FOUND,
  kResourceExhausted = TAILOR_RESOURCE_EXHAUSTED,
  kFailedPrecondition = TAILOR_FAILED_PRECONDITION,
  kOutOfRange = TAILOR_OUT_OF_RANGE,
  kUnimplemented = TAILOR_UNIMPLEMENTED,
  kInternal = TAILOR_INTERNAL,
  kDataLoss = TAILOR_DATA_LOSS,
};

// "INVALID_ARGUMENT"; "code 99" for a code that this header does not know.
inline std::string name_of(Code code) {
  switch (code) {
    case Code::kCancelled:
      return "CANCELLED";
    case Code::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case Code::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case Code::kNotFound:
      return "NOT_FOUND";
    case Code::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case Code::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case Code::kOutOfRange:
      return "OUT_OF_RANGE";
    case Code::kUnimplemented:
      return "UNIMPLEMENTED";
    case Code::kInternal:
      return "INTERNAL";
    case Code::kDataLoss:
      return "DATA_LOSS";
  }
  return "code " + std::to_string(static_cast<std::int32_t>(code));
}

// A failure. Copies share one text.
class Error : public std::exception {
 public:
  // `node`: the user's name of the graph node at fault, if any.
  explicit Error(Code code, std::string_view message, std::string_view node = {})
      : text_(std::make_shared<const Text>(code, message, node)) {}

  Code code() const { return text_ ? text_->code : Code::kInternal; }
  const std::string& message() const { return text_ ? text_->message : none(); }
  const std::string& node() const { return text_ ? text_->node : none(); }
  // "INVALID_ARGUMENT: message (node "name")"
  const char* what() const noexcept override { return text_ ? text_->what.c_str() : "an error that was moved from"; }

 private:
  struct Text {
    Text(Code given_code, std::string_view given_message, std::string_view given_node)
        : code(given_code), message(given_message), node(given_node), what(name_of(code) + ": " + message) {
      if (!node.empty()) what += " (node \"" + node + "\")";
    }
    Code code;
    std::string message, node, what;
  };
  static const std::string& none() {
    static const std::string empty;
    return empty;
  }
  std::shared_ptr<const Text> text_;
};

namespace detail {

[[noreturn]] inline void raise(const Error& error) {
#if defined(__cpp_exceptions)
  throw error;
#else
  std::fprintf(stderr, "tailor::Error: %s\n", error.what());
  std::abort();
#endif
}

inline Error invalid(std::string_view message) { return Error(Code::kInvalidArgument, message); }

// Takes over a status of the C API; nullopt for success.
inline std::optional<Error> take(tailor_status* status) {
  if (status == nullptr) return std::nullopt;
  Error error(static_cast<Code>(tailor_status_code(status)), tailor_status_message(status), tailor_status_node(status));
  tailor_status_release(status);
  return error;
}

template <typename T>
struct IsResult : std::false_type {};

}  // namespace detail

// A T, or an Error.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : value_(std::move(value)) {}      // NOLINT(runtime/explicit)
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(runtime/explicit)
  template <typename U,
            typename = std::enable_if_t<std::is_convertible_v<U&&, T> && !std::is_convertible_v<U&&, Error> &&
                                        !detail::IsResult<std::decay_t<U>>::value>>
  Result(U&& value) : value_(std::forward<U>(value)) {}  // NOLINT(runtime/explicit)

  bool has_value() const { return value_.has_value(); }
  explicit operator bool() const { return has_value(); }

  T& value() & { return checked(), *value_; }
  const T& value() const& { return checked(), *value_; }
  // By value, so that `for (auto& info : *executable.inputs())` keeps what it visits.
  T value() && { return checked(), std::move(*value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  template <typename U>
  T value_or(U&& other) const& {
    return has_value() ? *value_ : static_cast<T>(std::forward<U>(other));
  }

  // Without an error, one that says so.
  const Error& error() const {
    static const Error none(Code::kFailedPrecondition, "the result has a value, not an error");
    return error_ ? *error_ : none;
  }

  // `function(value)`, which returns a Result; an error is handed on.
  template <typename F>
  auto and_then(F&& function) && -> std::invoke_result_t<F, T&&> {
    if (!has_value()) return error();
    return std::forward<F>(function)(std::move(*value_));
  }
  template <typename F>
  auto and_then(F&& function) & -> std::invoke_result_t<F, T&> {
    if (!has_value()) return error();
    return std::forward<F>(function)(*value_);
  }
  // `function(value)` as a Result; an error is handed on.
  template <typename F>
  auto transform(F&& function) && -> Result<std::invoke_result_t<F, T&&>> {
    if (!has_value()) return error();
    return std::forward<F>(function)(std::move(*value_));
  }

 private:
  void checked() const {
    if (!value_) detail::raise(error());
  }

  std::optional<T> value_;
  std::optional<Error> error_;
};

// Success, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(runtime/explicit)

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  void value() const {
    if (error_) detail::raise(*error_);
  }
  const Error& error() const {
    static const Error none(Code::kFailedPrecondition, "the result is a success, not an error");
    return error_ ? *error_ : none;
  }
  template <typename F>
  auto and_then(F&& function) const -> std::invoke_result_t<F> {
    if (!has_value()) return error();
    return std::forward<F>(function)();
  }

 private:
  std::optional<Error> error_;
};

namespace detail {

template <typename T>
struct IsResult<Result<T>> : std::true_type {};

// Takes over a status of the C API.
inline Result<void> check(tailor_status* status) {
  if (std::optional<Error> error = take(status)) return *std::move(error);
  return {};
}

// Keeps an exception of a host callback until the C call that called it has returned.
class Caught {
 public:
  // Calls `function`; false if it threw.
  template <typename F>
  bool run(F&& function) noexcept {
#if defined(__cpp_exceptions)
    try {
      std::forward<F>(function)();
    } catch (...) {
      if (!exception_) exception_ = std::current_exception();
      return false;
    }
#else
    std::forward<F>(function)();
#endif
    return true;
  }
  // Throws what was caught, once.
  void rethrow() {
#if defined(__cpp_exceptions)
    if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
#endif
  }

 private:
#if defined(__cpp_exceptions)
  std::exception_ptr exception_;
#endif
};

}  // namespace detail
}  // namespace TAILOR_HPP
}  // namespace tailor

#endif  // TAILOR_HPP_RESULT_HPP_
