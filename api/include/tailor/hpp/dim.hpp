// Dim sizes of graphs: symbols, and expressions over them. Part of tailor/tailor.hpp; C++17.
//
//     tailor::Dim batch = graph.symbol("batch");
//     graph.input("x", tailor::DType::kF32, {batch * 2 + 1, 4});
#ifndef TAILOR_HPP_DIM_HPP_
#define TAILOR_HPP_DIM_HPP_

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tailor/compiler.h"
#include "tailor/runtime.hpp"

namespace tailor {
inline namespace TAILOR_HPP {

namespace detail {

// A graph of the C API and the first error of a call that builds it. Held by the Graph and by its values and dims.
class GraphState {
 public:
  explicit GraphState(tailor_graph* raw) : raw_(raw) {}
  GraphState(const GraphState&) = delete;
  ~GraphState() { tailor_graph_release(raw_); }

  tailor_graph* raw() const { return raw_; }

  // Runs one building call, unless an earlier one failed. True if it succeeded.
  template <typename F>
  bool build(F&& function) {
    if (failed()) return false;
    std::optional<Error> error = take(std::forward<F>(function)(raw_));
    if (!error) return true;
    fail(*std::move(error));
    return false;
  }
  // The handle that a building call gives; 0 after a failure.
  template <typename F>
  std::uint64_t append(F&& function) {
    std::uint64_t out = 0;
    return build([&](tailor_graph* graph) { return function(graph, &out); }) ? out : 0;
  }
  void fail(Error error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  bool failed() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return error_.has_value();
  }
  std::optional<Error> error() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return error_;
  }
  std::optional<Error> take_error() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(error_, std::nullopt);
  }
  // A text, which belongs to the graph until its next one.
  template <typename F>
  Result<std::string> text(F&& function) {
    const std::lock_guard<std::mutex> lock(text_mutex_);
    const char* out = nullptr;
    if (auto read = detail::check(std::forward<F>(function)(raw_, &out)); !read) return read.error();
    return std::string(out);
  }

 private:
  tailor_graph* const raw_;
  mutable std::mutex mutex_;  // guards error_
  std::optional<Error> error_;
  std::mutex text_mutex_;
};

using GraphPointer = std::shared_ptr<GraphState>;

inline Error no_graph(const char* what) {
  return invalid(std::string(what) + " belongs to no graph: it is empty, or was moved from");
}

}  // namespace detail

class Dim;

// One dim size of a shape: a Dim or an integer.
class DimSize {
 public:
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>>
  DimSize(T constant)
      : constant_(static_cast<std::int64_t>(constant)), fits_(fits(constant)) {}  // NOLINT(runtime/explicit)
  inline DimSize(const Dim& dim);                                                 // NOLINT(runtime/explicit)

 private:
  friend class Dim;
  friend class Dims;
  friend class Graph;

  template <typename T>
  static bool fits(T constant) {
    return std::is_signed_v<T> || static_cast<std::uint64_t>(constant) <= INT64_MAX;
  }
  // The handle in `graph`; 0, which every call refuses, for an empty dim and after a failure.
  tailor_dim handle(detail::GraphState& graph) const {
    if (handle_) return *handle_;
    if (!fits_) {
      graph.fail(detail::invalid("a dim size is above the range of int64"));
      return 0;
    }
    return graph.append([&](tailor_graph* raw, std::uint64_t* out) { return tailor_graph_dim(raw, constant_, out); });
  }

  std::optional<tailor_dim> handle_;  // of a Dim
  std::int64_t constant_ = 0;
  bool fits_ = true;
};

// A symbol of a graph, or an expression over symbols. A number that refers to its graph and keeps it alive; cheap to
// copy. A failed operation is an error of the graph (Graph::status). Empty, and of no use, if made without a graph.
class Dim {
 public:
  Dim() = default;

  friend Dim operator+(const Dim& lhs, const DimSize& rhs) { return lhs.combine(tailor_dim_add, lhs, rhs); }
  friend Dim operator-(const Dim& lhs, const DimSize& rhs) { return lhs.combine(tailor_dim_sub, lhs, rhs); }
  friend Dim operator*(const Dim& lhs, const DimSize& rhs) { return lhs.combine(tailor_dim_mul, lhs, rhs); }
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
  friend Dim operator+(T lhs, const Dim& rhs) {
    return rhs.combine(tailor_dim_add, lhs, rhs);
  }
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
  friend Dim operator-(T lhs, const Dim& rhs) {
    return rhs.combine(tailor_dim_sub, lhs, rhs);
  }
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
  friend Dim operator*(T lhs, const Dim& rhs) {
    return rhs.combine(tailor_dim_mul, lhs, rhs);
  }

  // Divisions, rounded down, up and towards 0, and their remainders. Every run checks that the divisor is above 0.
  Dim floordiv(const DimSize& rhs) const { return combine(tailor_dim_floordiv, *this, rhs); }
  Dim mod(const DimSize& rhs) const { return combine(tailor_dim_mod, *this, rhs); }
  Dim ceildiv(const DimSize& rhs) const { return combine(tailor_dim_ceildiv, *this, rhs); }
  Dim truncdiv(const DimSize& rhs) const { return combine(tailor_dim_truncdiv, *this, rhs); }
  Dim truncmod(const DimSize& rhs) const { return combine(tailor_dim_truncmod, *this, rhs); }
  Dim min(const DimSize& rhs) const { return combine(tailor_dim_min, *this, rhs); }
  Dim max(const DimSize& rhs) const { return combine(tailor_dim_max, *this, rhs); }
  // 1 if it holds in a run, else 0.
  Dim less(const DimSize& rhs) const { return combine(tailor_dim_less, *this, rhs); }
  Dim equal(const DimSize& rhs) const { return combine(tailor_dim_equal, *this, rhs); }
  // `lhs` where this is 1, `rhs` where it is 0.
  Dim select(const DimSize& lhs, const DimSize& rhs) const {
    if (graph_ == nullptr) return {};
    const tailor_dim on_true = lhs.handle(*graph_), on_false = rhs.handle(*graph_);
    return {graph_, graph_->append([&](tailor_graph* raw, std::uint64_t* out) {
              return tailor_dim_select(raw, handle_, on_true, on_false, out);
            })};
  }

  // What is known of it in all runs. INT64_MIN and INT64_MAX: no bound.
  Result<std::pair<std::int64_t, std::int64_t>> range() const {
    if (graph_ == nullptr) return detail::no_graph("the dim");
    std::pair<std::int64_t, std::int64_t> out;
    if (auto read = detail::check(tailor_dim_range(graph_->raw(), handle_, &out.first, &out.second)); !read) {
      return read.error();
    }
    return out;
  }
  // Whether it holds in all runs (true), in none (false), or is unknown or different from run to run (nullopt).
  Result<std::optional<bool>> is_equal(const DimSize& rhs) const { return compare(rhs, TAILOR_DIM_EQUAL); }
  Result<std::optional<bool>> is_less(const DimSize& rhs) const { return compare(rhs, TAILOR_DIM_LESS); }
  Result<std::optional<bool>> is_at_most(const DimSize& rhs) const { return compare(rhs, TAILOR_DIM_AT_MOST); }
  // "4*S + 1"
  Result<std::string> text() const {
    if (graph_ == nullptr) return detail::no_graph("the dim");
    return graph_->text([&](tailor_graph* raw, const char** out) { return tailor_dim_text(raw, handle_, out); });
  }

  // Whether it is a dim: not empty, and no failed operation.
  bool valid() const { return handle_ != 0; }
  // The handle of the C API.
  tailor_dim get() const { return handle_; }

 private:
  friend class DimSize;
  friend class Dims;
  friend class Graph;
  friend class Value;
  using Function = tailor_status* (*)(tailor_graph*, tailor_dim, tailor_dim, tailor_dim*);

  Dim(detail::GraphPointer graph, tailor_dim handle) : graph_(std::move(graph)), handle_(handle) {}

  // Of the graph of `this`, which is one of the two.
  Dim combine(Function function, const DimSize& lhs, const DimSize& rhs) const {
    if (graph_ == nullptr) return {};
    const tailor_dim left = lhs.handle(*graph_), right = rhs.handle(*graph_);
    return {graph_,
            graph_->append([&](tailor_graph* raw, std::uint64_t* out) { return function(raw, left, right, out); })};
  }
  Result<std::optional<bool>> compare(const DimSize& rhs, std::int32_t relation) const {
    if (graph_ == nullptr) return detail::no_graph("the dim");
    std::int32_t out = -1;
    const tailor_dim right = rhs.handle(*graph_);
    if (auto read = detail::check(tailor_dim_compare(graph_->raw(), handle_, right, relation, &out)); !read) {
      return read.error();
    }
    return out < 0 ? std::optional<bool>() : std::optional<bool>(out != 0);
  }

  detail::GraphPointer graph_;
  tailor_dim handle_ = 0;
};

inline DimSize::DimSize(const Dim& dim) : handle_(dim.handle_) {}

// The dim sizes of a shape: {batch, 4}, or a vector of dims or integers.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<DimSize> dims) : dims_(dims) {}
  template <typename T, typename = std::enable_if_t<std::is_convertible_v<T, DimSize>>>
  Dims(const std::vector<T>& dims) : dims_(dims.begin(), dims.end()) {}  // NOLINT(runtime/explicit)

  std::size_t size() const { return dims_.size(); }
  // Handles in a graph.
  std::vector<tailor_dim> handles(const detail::GraphPointer& graph) const {
    std::vector<tailor_dim> out;
    if (graph == nullptr) return out;
    for (const DimSize& dim : dims_) out.push_back(dim.handle(*graph));
    return out;
  }

 private:
  std::vector<DimSize> dims_;
};

}  // namespace TAILOR_HPP
}  // namespace tailor

#endif  // TAILOR_HPP_DIM_HPP_
