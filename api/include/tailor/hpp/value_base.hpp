// What values and operands of graphs are made of. Part of tailor/tailor.hpp; C++17.
#ifndef TAILOR_HPP_VALUE_BASE_HPP_
#define TAILOR_HPP_VALUE_BASE_HPP_

#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "tailor/hpp/dim.hpp"

namespace tailor {
inline namespace TAILOR_HPP {

class Value;

namespace detail {

// A tensor of a graph: a number that refers to its graph and keeps it alive.
class ValueBase {
 public:
  // Whether it is a value: not empty, and no result of a failed operation.
  bool valid() const { return handle_ != 0; }
  // The handle of the C API.
  tailor_value get() const { return handle_; }

 protected:
  ValueBase() = default;
  ValueBase(GraphPointer graph, tailor_value handle) : graph_(std::move(graph)), handle_(handle) {}

  GraphPointer graph_;
  tailor_value handle_ = 0;
};

}  // namespace detail

// An operand that is a value, or a number, which is rounded to the element type of another operand. An integer that
// double cannot represent is an error of the graph.
class Operand {
 public:
  Operand(const detail::ValueBase& value) : handle_(value.get()), is_value_(true) {}  // NOLINT(runtime/explicit)
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Operand(T number) : number_(static_cast<double>(number)) {  // NOLINT(runtime/explicit)
    if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
      constexpr double kLimit = 9007199254740992.0;  // 2^53: all integers up to here are doubles
      exact_ = number_ > -kLimit && number_ < kLimit;
    }
  }

  // The handle of the value, or of a new scalar with the element type of `like`.
  tailor_value handle(const detail::GraphPointer& graph, tailor_value like) const {
    if (is_value_ || graph == nullptr) return handle_;
    if (!exact_) {
      graph->fail(detail::invalid("an integer operand is beyond 2^53: use Graph::constant"));
      return 0;
    }
    std::int32_t dtype = 0;
    const bool typed =
        graph->build([&](tailor_graph* raw) { return tailor_graph_value_type(raw, like, &dtype, nullptr, nullptr); });
    if (!typed) return 0;
    return graph->append(
        [&](tailor_graph* raw, std::uint64_t* out) { return tailor_graph_scalar(raw, dtype, number_, out); });
  }

 private:
  tailor_value handle_ = 0;
  double number_ = 0;
  bool is_value_ = false;
  bool exact_ = true;
};

}  // namespace TAILOR_HPP
}  // namespace tailor

#endif  // TAILOR_HPP_VALUE_BASE_HPP_
