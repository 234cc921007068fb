// Span<T>: a borrowed array. Part of tailor/runtime.hpp; C++17.
//
// The headers use no std::span, whose presence depends on the language version: units compiled as C++17 and as C++20
// can then be linked. A Span converts from arrays, vectors, std::span and all else that has data() and size().
#ifndef TAILOR_HPP_SPAN_HPP_
#define TAILOR_HPP_SPAN_HPP_

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <utility>

// The inline namespace of the C++ layer keeps its symbols apart from the libraries' own. Units with and without
// exceptions have different ones, because functions that throw in one abort in the other: handles that pass between
// two such units are a link error.
#if defined(__cpp_exceptions)
#define TAILOR_HPP v1
#else
#define TAILOR_HPP v1_no_exceptions
#endif

namespace tailor {
inline namespace TAILOR_HPP {

template <typename T>
class Span {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  constexpr Span() = default;
  constexpr Span(T* data, std::size_t size) : data_(data), size_(size) {}
  // Of a container or array of T; a Span<const T> also of a temporary, for the length of the full expression.
  template <typename C, typename P = decltype(std::data(std::declval<C&>())),
            typename = std::enable_if_t<std::is_convertible_v<std::remove_pointer_t<P> (*)[], T (*)[]> &&
                                        !std::is_same_v<std::decay_t<C>, Span>>,
            typename = std::enable_if_t<std::is_lvalue_reference_v<C> || std::is_const_v<T>>>
  constexpr Span(C&& container)
      : data_(std::data(container)), size_(std::size(container)) {}  // NOLINT(runtime/explicit)
  template <typename U = T, typename = std::enable_if_t<std::is_const_v<U>>>
  constexpr Span(std::initializer_list<value_type> list) {  // NOLINT(runtime/explicit)
    data_ = list.begin();
    size_ = list.size();
  }

  constexpr T* data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  // As of a vector: not checked.
  constexpr T& operator[](std::size_t index) const { return data_[index]; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace TAILOR_HPP
}  // namespace tailor

#endif  // TAILOR_HPP_SPAN_HPP_
