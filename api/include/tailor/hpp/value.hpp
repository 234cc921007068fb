// Tensors of graphs: operators and compound operations. Part of tailor/tailor.hpp; C++17. The primitive ops are in
// tailor/hpp/ops.hpp.
#ifndef TAILOR_HPP_VALUE_HPP_
#define TAILOR_HPP_VALUE_HPP_

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tailor/hpp/ops.hpp"

namespace tailor {
inline namespace TAILOR_HPP {

// Windows over the spatial dims of x [N, C, D...], which are all dims after the second. Each list has one entry per
// spatial dim, or none: strides and dilations 1, no padding.
struct Spatial {
  std::vector<std::int64_t> strides, dilations;
  Dims low, high;  // elements of padding before the first and after the last; negative: crop
};

// A function of gates by its name in tailor_recurrence_options, and its parameters if they differ from the defaults.
struct Activation {
  std::string name;
  std::optional<double> alpha, beta;
};

class Value;
struct Recurrence;
struct ValueAndIndex;
struct RecurrenceResult;
struct Unique;

namespace detail {
struct MakeValue;
}

// A tensor of a graph. Refers to its graph and keeps it alive; cheap to copy. A failed operation gives an invalid value
// and is an error of the graph (Graph::status); so does an operand of another graph. An empty Value stands for an
// operand that is left out.
//
// Operators follow the ops of their names, with values and numbers: x * 2.0f + y; `%` is `rem`. Comparisons are methods
// (x.lt(y), x.eq(y)): there are no operators for them.
class Value : public ValueOps {
 public:
  Value() = default;

  // The element type.
  Result<DType> dtype() const {
    if (graph_ == nullptr) return detail::no_graph("the value");
    std::int32_t out = 0;
    if (auto read = detail::check(tailor_graph_value_type(graph_->raw(), handle_, &out, nullptr, nullptr)); !read) {
      return read.error();
    }
    return static_cast<DType>(out);
  }
  // The dim sizes; none after an error.
  std::vector<Dim> shape() const {
    std::vector<Dim> out;
    if (graph_ == nullptr) return out;
    std::int32_t rank = 0;
    tailor_dim dims[TAILOR_MAX_RANK];
    const auto read = [&](tailor_graph* graph) {
      return tailor_graph_value_type(graph, handle_, nullptr, &rank, dims);
    };
    if (!graph_->build(read)) return out;
    for (std::int32_t i = 0; i < rank; ++i) out.push_back(Dim(graph_, dims[i]));
    return out;
  }
  // One dim size; a negative axis counts from the end. An axis that is out of range is an error of the graph.
  Dim dim(std::int64_t axis) const {
    const std::vector<Dim> dims = shape();
    const auto rank = static_cast<std::int64_t>(dims.size());
    if (axis >= -rank && axis < rank) return dims[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
    if (graph_ == nullptr) return {};
    graph_->fail(Error(Code::kOutOfRange, "Value::dim: there is no axis " + std::to_string(axis) +
                                              " in a value of rank " + std::to_string(rank)));
    return Dim(graph_, 0);
  }
  // Names it, for messages, dumps and traces; returns it. An input keeps its own name.
  const Value& named(std::string_view name) const {
    if (graph_ == nullptr) return *this;
    graph_->build([&](tailor_graph* graph) { return tailor_graph_set_name(graph, handle_, name.data(), name.size()); });
    return *this;
  }

  // e^x / sum(e^x) along `axis`, and its logarithm.
  Value softmax(std::int64_t axis) const;
  Value log_softmax(std::int64_t axis) const;
  // (x - mean) / sqrt(variance + epsilon) * scale + bias over the last axis, whose dim size scale and bias have; either
  // may be empty.
  Value layer_norm(const Value& scale, const Value& bias, double epsilon) const;
  // x / 2 * (1 + erf(x / sqrt(2))), and its approximation by tanh.
  Value gelu() const;
  Value gelu_tanh() const;
  // x / max(||x||, epsilon) along `axis`.
  Value l2_normalize(std::int64_t axis, double epsilon) const;
  // softmax(query key^T * scale + mask) value; this is the query.
  // Shapes: query [B..., M, D], key [B..., N, D], value [B..., N, E] -> [B..., M, E]; mask, which may be empty,
  //   broadcasts to [B..., M, N]. scale 0 means 1/sqrt(D); D must then be constant.
  Value attention(const Value& key, const Value& value, const Value& mask = {}, double scale = 0) const;

  // The convolution of x [N, C, D...] with weights [M, C / groups, K...], plus bias [M], which may be empty.
  Value conv(const Value& weights, const Value& bias = {}, std::int64_t groups = 1, const Spatial& spatial = {}) const;
  // The maximum of each window of `sizes`, one per spatial dim; padding is below every element. Their mean: over the
  // elements of x in it, or with count_include_pad also over its padding, zeros.
  Value max_pool(const Dims& sizes, const Spatial& spatial = {}) const;
  Value average_pool(const Dims& sizes, bool count_include_pad = false, const Spatial& spatial = {}) const;

  // Recurrent layers over the steps of x [T, B, I], with weights w [G * H, I] and r [G * H, H]: tailor_graph_rnn and
  // its siblings state the formulas.
  RecurrenceResult rnn(const Value& w, const Value& r, const Recurrence& options) const;
  RecurrenceResult gru(const Value& w, const Value& r, const Recurrence& options) const;
  RecurrenceResult lstm(const Value& w, const Value& r, const Recurrence& options) const;

  // The elements in order along `axis`, and their indices (i64). NaN is above all numbers; equal elements keep their
  // order.
  ValueAndIndex sort(std::int64_t axis, bool descending = false) const;
  // The k largest elements in descending order, or the smallest in ascending order.
  ValueAndIndex top_k(const DimSize& k, std::int64_t axis, bool largest = true) const;
  // The rows of x [N, ...] where mask, bool[N], is true: [M, ...] with a new symbol M.
  Value compact(const Value& mask) const;
  // The indices of the elements that are not 0, in row-major order: i64[rank, M] with a new symbol M.
  Value nonzero() const;
  // The distinct elements, or slices along an axis; ascending, or in the order of their first occurrence.
  Unique unique(std::optional<std::int64_t> axis = std::nullopt, bool sorted = true) const;

 private:
  friend class Graph;
  friend struct detail::MakeValue;
  using ValueOps::ValueOps;

  template <typename F>
  Value windows(const Spatial& spatial, F function) const;
};

namespace detail {

struct MakeValue {
  static Value of(const GraphPointer& graph, tailor_value handle) { return Value(graph, handle); }
};

// The result of one building call. `graph` may be null, of an empty value or a moved-from graph.
template <typename F>
Value append(const GraphPointer& graph, F&& function) {
  if (graph == nullptr) return {};
  return MakeValue::of(graph, graph->append(std::forward<F>(function)));
}

// The results of a building call that writes `count` handles; invalid after a failure.
template <typename F>
std::vector<Value> append_all(const GraphPointer& graph, std::size_t count, F&& function) {
  std::vector<Value> out(count);
  std::vector<tailor_value> handles(count + 1);  // one more: data() is not null
  if (graph == nullptr) return out;
  const bool built = graph->build([&](tailor_graph* raw) { return function(raw, handles.data()); });
  for (std::size_t i = 0; i < count; ++i) out[i] = MakeValue::of(graph, built ? handles[i] : 0);
  return out;
}

inline std::vector<tailor_value> handles(Span<const Value> values) {
  std::vector<tailor_value> out;
  for (const Value& value : values) out.push_back(value.get());
  return out;
}

template <typename T>
const T* data_or_null(const std::vector<T>& list) {
  return list.empty() ? nullptr : list.data();
}

}  // namespace detail

// Options of a recurrent layer. Values may be empty: zeros, all steps.
struct Recurrence {
  Value bias, recurrent_bias;           // [G * H], added to x w^T and to h r^T
  Value initial_h, initial_c;           // [B, H]; c: lstm only
  Value lengths;                        // i32 or i64 [B]: later steps keep the state and give 0
  Value peepholes;                      // [3 * H], weights of c in the gates i, o, f; lstm only
  bool reverse = false;                 // from the last step to the first
  bool linear_before_reset = false;     // the reset gate of a gru multiplies h r_n^T, not h
  bool input_forget = false;            // the forget gate of an lstm is 1 - i
  double clip = 0;                      // clamp inputs of gate functions to [-clip, clip]; 0: no clamp
  std::vector<Activation> activations;  // the functions f, g, k, as many as the layer has; none: sigmoid and tanh
};

// y [T, B, H] is the state after each step; h and c [B, H] after the last one; c: lstm only.
struct RecurrenceResult {
  Value y, h, c;
};

struct ValueAndIndex {
  Value values, indices;
};

// U distinct elements or slices, a new symbol. indices i64[U]: first occurrences; inverse i64[N]: the index into values
// of each element or slice; counts i64[U]: occurrences.
struct Unique {
  Value values, indices, inverse, counts;
};

// ---- Operators -------------------------------------------------------------------------------

namespace detail {

// `lhs` as a scalar of the element type of `rhs`.
template <typename T>
Value scalar_like(T lhs, const Value& rhs, const GraphPointer& graph) {
  return MakeValue::of(graph, Operand(lhs).handle(graph, rhs.get()));
}

struct GraphOf : ValueBase {
  explicit GraphOf(const ValueBase& value) : ValueBase(value) {}
  const GraphPointer& graph() const { return graph_; }
};

template <typename T>
using IfNumber = std::enable_if_t<std::is_arithmetic_v<T>>;

template <typename T>
Value scalar_like(T lhs, const Value& rhs) {
  return scalar_like(lhs, rhs, GraphOf(rhs).graph());
}

}  // namespace detail

inline Value operator-(const Value& x) { return x.neg(); }
inline Value operator~(const Value& x) { return x.not_(); }
inline Value operator+(const Value& lhs, const Operand& rhs) { return lhs.add(rhs); }
inline Value operator-(const Value& lhs, const Operand& rhs) { return lhs.sub(rhs); }
inline Value operator*(const Value& lhs, const Operand& rhs) { return lhs.mul(rhs); }
inline Value operator/(const Value& lhs, const Operand& rhs) { return lhs.div(rhs); }
inline Value operator%(const Value& lhs, const Operand& rhs) { return lhs.rem(rhs); }
inline Value operator&(const Value& lhs, const Operand& rhs) { return lhs.and_(rhs); }
inline Value operator|(const Value& lhs, const Operand& rhs) { return lhs.or_(rhs); }
inline Value operator^(const Value& lhs, const Operand& rhs) { return lhs.xor_(rhs); }
inline Value operator<<(const Value& lhs, const Operand& rhs) { return lhs.shift_left(rhs); }
inline Value operator>>(const Value& lhs, const Operand& rhs) { return lhs.shift_right(rhs); }
template <typename T, typename = detail::IfNumber<T>>
Value operator+(T lhs, const Value& rhs) {
  return detail::scalar_like(lhs, rhs).add(rhs);
}
template <typename T, typename = detail::IfNumber<T>>
Value operator-(T lhs, const Value& rhs) {
  return detail::scalar_like(lhs, rhs).sub(rhs);
}
template <typename T, typename = detail::IfNumber<T>>
Value operator*(T lhs, const Value& rhs) {
  return detail::scalar_like(lhs, rhs).mul(rhs);
}
template <typename T, typename = detail::IfNumber<T>>
Value operator/(T lhs, const Value& rhs) {
  return detail::scalar_like(lhs, rhs).div(rhs);
}
template <typename T, typename = detail::IfNumber<T>>
Value operator%(T lhs, const Value& rhs) {
  return detail::scalar_like(lhs, rhs).rem(rhs);
}

// ---- Compound operations ---------------------------------------------------------------------

inline Value Value::softmax(std::int64_t axis) const {
  return detail::append(
      graph_, [&](tailor_graph* graph, tailor_value* out) { return tailor_graph_softmax(graph, handle_, axis, out); });
}

inline Value Value::log_softmax(std::int64_t axis) const {
  return detail::append(graph_, [&](tailor_graph* graph, tailor_value* out) {
    return tailor_graph_log_softmax(graph, handle_, axis, out);
  });
}

inline Value Value::layer_norm(const Value& scale, const Value& bias, double epsilon) const {
  return detail::append(graph_, [&](tailor_graph* graph, tailor_value* out) {
    return tailor_graph_layer_norm(graph, handle_, scale.get(), bias.get(), epsilon, out);
  });
}

inline Value Value::gelu() const {
  return detail::append(graph_,
                        [&](tailor_graph* graph, tailor_value* out) { return tailor_graph_gelu(graph, handle_, out); });
}

inline Value Value::gelu_tanh() const {
  return detail::append(
      graph_, [&](tailor_graph* graph, tailor_value* out) { return tailor_graph_gelu_tanh(graph, handle_, out); });
}

inline Value Value::l2_normalize(std::int64_t axis, double epsilon) const {
  return detail::append(graph_, [&](tailor_graph* graph, tailor_value* out) {
    return tailor_graph_l2_normalize(graph, handle_, axis, epsilon, out);
  });
}

inline Value Value::attention(const Value& key, const Value& value, const Value& mask, double scale) const {
  return detail::append(graph_, [&](tailor_graph* graph, tailor_value* out) {
    return tailor_graph_attention(graph, handle_, key.get(), value.get(), mask.get(), scale, out);
  });
}

template <typename F>
Value Value::windows(const Spatial& spatial, F function) const {
  if (graph_ == nullptr) return {};
  const std::size_t counts[] = {spatial.strides.size(), spatial.dilations.size(), spatial.low.size(),
                                spatial.high.size()};
  const std::size_t rank = *std::max_element(std::begin(counts), std::end(counts));
  for (const std::size_t count : counts) {
    if (count == 0 || count == rank) continue;
    graph_->fail(detail::invalid("Spatial has " + std::to_string(counts[0]) + " strides, " + std::to_string(counts[1]) +
                                 " dilations, " + std::to_string(counts[2]) + " low and " + std::to_string(counts[3]) +
                                 " high: each needs one for each spatial dim, or none"));
    return detail::MakeValue::of(graph_, 0);
  }
  const std::vector<tailor_dim> low = spatial.low.handles(graph_), high = spatial.high.handles(graph_);
  tailor_spatial_options c;
  tailor_spatial_options_init(&c);
  c.rank = rank;
  c.strides = detail::data_or_null(spatial.strides);
  c.dilations = detail::data_or_null(spatial.dilations);
  c.low = detail::data_or_null(low);
  c.high = detail::data_or_null(high);
  return detail::append(
      graph_, [&](tailor_graph* graph, tailor_value* out) { return function(graph, rank == 0 ? nullptr : &c, out); });
}

inline Value Value::conv(const Value& weights, const Value& bias, std::int64_t groups, const Spatial& spatial) const {
  return windows(spatial, [&](tailor_graph* graph, const tailor_spatial_options* c, tailor_value* out) {
    return tailor_graph_conv(graph, handle_, weights.get(), bias.get(), groups, c, out);
  });
}

inline Value Value::max_pool(const Dims& sizes, const Spatial& spatial) const {
  const std::vector<tailor_dim> dims = sizes.handles(graph_);
  return windows(spatial, [&](tailor_graph* graph, const tailor_spatial_options* c, tailor_value* out) {
    return tailor_graph_max_pool(graph, handle_, dims.data(), dims.size(), c, out);
  });
}

inline Value Value::average_pool(const Dims& sizes, bool count_include_pad, const Spatial& spatial) const {
  const std::vector<tailor_dim> dims = sizes.handles(graph_);
  return windows(spatial, [&](tailor_graph* graph, const tailor_spatial_options* c, tailor_value* out) {
    return tailor_graph_average_pool(graph, handle_, dims.data(), dims.size(), count_include_pad, c, out);
  });
}

namespace detail {

// The options of a recurrent layer in C's form; borrows from `options`.
class CRecurrence {
 public:
  explicit CRecurrence(const Recurrence& options) {
    constexpr double kDefault = std::numeric_limits<double>::quiet_NaN();
    for (const Activation& activation : options.activations) {
      names_.push_back(activation.name.c_str());
      alphas_.push_back(activation.alpha.value_or(kDefault));
      betas_.push_back(activation.beta.value_or(kDefault));
    }
    tailor_recurrence_options_init(&c_);
    c_.bias = options.bias.get();
    c_.recurrent_bias = options.recurrent_bias.get();
    c_.initial_h = options.initial_h.get();
    c_.initial_c = options.initial_c.get();
    c_.lengths = options.lengths.get();
    c_.peepholes = options.peepholes.get();
    c_.reverse = options.reverse;
    c_.linear_before_reset = options.linear_before_reset;
    c_.input_forget = options.input_forget;
    c_.clip = options.clip;
    c_.activations = data_or_null(names_);
    c_.alphas = data_or_null(alphas_);
    c_.betas = data_or_null(betas_);
    c_.activation_count = names_.size();
  }
  CRecurrence(const CRecurrence&) = delete;
  const tailor_recurrence_options* get() const { return &c_; }

 private:
  std::vector<const char*> names_;
  std::vector<double> alphas_, betas_;
  tailor_recurrence_options c_;
};

}  // namespace detail

inline RecurrenceResult Value::rnn(const Value& w, const Value& r, const Recurrence& options) const {
  const detail::CRecurrence c(options);
  const auto out = detail::append_all(graph_, 2, [&](tailor_graph* graph, tailor_value* results) {
    return tailor_graph_rnn(graph, handle_, w.get(), r.get(), c.get(), &results[0], &results[1]);
  });
  return {out[0], out[1], {}};
}

inline RecurrenceResult Value::gru(const Value& w, const Value& r, const Recurrence& options) const {
  const detail::CRecurrence c(options);
  const auto out = detail::append_all(graph_, 2, [&](tailor_graph* graph, tailor_value* results) {
    return tailor_graph_gru(graph, handle_, w.get(), r.get(), c.get(), &results[0], &results[1]);
  });
  return {out[0], out[1], {}};
}

inline RecurrenceResult Value::lstm(const Value& w, const Value& r, const Recurrence& options) const {
  const detail::CRecurrence c(options);
  const auto out = detail::append_all(graph_, 3, [&](tailor_graph* graph, tailor_value* results) {
    return tailor_graph_lstm(graph, handle_, w.get(), r.get(), c.get(), &results[0], &results[1], &results[2]);
  });
  return {out[0], out[1], out[2]};
}

inline ValueAndIndex Value::sort(std::int64_t axis, bool descending) const {
  const auto out = detail::append_all(graph_, 2, [&](tailor_graph* graph, tailor_value* results) {
    return tailor_graph_sort(graph, handle_, axis, descending, &results[0], &results[1]);
  });
  return {out[0], out[1]};
}

inline ValueAndIndex Value::top_k(const DimSize& k, std::int64_t axis, bool largest) const {
  const std::vector<tailor_dim> dims = Dims{k}.handles(graph_);
  const auto out = detail::append_all(graph_, 2, [&](tailor_graph* graph, tailor_value* results) {
    return tailor_graph_top_k(graph, handle_, dims[0], axis, largest, &results[0], &results[1]);
  });
  return {out[0], out[1]};
}

inline Value Value::compact(const Value& mask) const {
  return detail::append(graph_, [&](tailor_graph* graph, tailor_value* out) {
    return tailor_graph_compact(graph, handle_, mask.get(), out);
  });
}

inline Value Value::nonzero() const {
  return detail::append(
      graph_, [&](tailor_graph* graph, tailor_value* out) { return tailor_graph_nonzero(graph, handle_, out); });
}

inline Unique Value::unique(std::optional<std::int64_t> axis, bool sorted) const {
  const auto out = detail::append_all(graph_, 4, [&](tailor_graph* graph, tailor_value* results) {
    return tailor_graph_unique(graph, handle_, axis ? &*axis : nullptr, sorted, &results[0], &results[1], &results[2],
                               &results[3]);
  });
  return {out[0], out[1], out[2], out[3]};
}

}  // namespace TAILOR_HPP
}  // namespace tailor

#include "tailor/hpp/ops_inline.hpp"

#endif  // TAILOR_HPP_VALUE_HPP_
