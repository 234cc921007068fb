// A tensor while a graph is built: a constant, a list of known elements, or a value that running the graph computes.
#ifndef TAILOR_BINDINGS_FRONTEND_TENSOR_H_
#define TAILOR_BINDINGS_FRONTEND_TENSOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bindings/frontend/array.h"
#include "bindings/frontend/dim.h"
#include "bindings/frontend/narrow.h"
#include "tailor/compiler.h"

namespace tailor::frontend {

class Builder;
struct Element;

// dividend / divisor: what a computed f32 or f64 with one element is before it is rounded. Rounding leaves the integer
// part as it is while f32 holds dividend and divisor, that is below 2^23; sizes beyond that are exact in the quotient.
struct Quotient {
  Dim dividend;
  int64_t divisor = 1;
};

// Names of the model's inputs that a tensor's elements depend on.
using Sources = std::set<std::string>;

struct QuantizedSource;
struct Sequence;

// A cheap handle; copies are the same tensor. Belongs to one Builder, which outlives it.
class Tensor {
 public:
  Tensor() = default;  // absent
  explicit operator bool() const { return state_ != nullptr; }
  friend bool operator==(const Tensor&, const Tensor&) = default;  // the same tensor

  Builder& builder() const;
  DType dtype() const;
  const Shape& shape() const;
  int rank() const;
  const Dim& dim(int axis) const;  // a negative axis counts from the end

  // What the tensor holds if it is a sequence of tensors, which only importing knows; else null. A sequence has neither
  // shape nor value: asking for them fails.
  const Sequence* sequence() const;

  // Of a tensor exactly one of the three: array(), elements(), or neither, if the graph computes it.
  const Array* array() const;
  // In row-major order; static shape; at least one is not a number.
  const std::vector<Element>* elements() const;
  const std::optional<Quotient>& quotient() const;  // if it is known
  bool computed() const { return array() == nullptr && elements() == nullptr && sequence() == nullptr; }

  // The value in the graph. Constants and elements are appended when first asked for.
  tailor_value value() const;
  const std::string& name() const;  // of a constant
  // The element type that travels in dtype(), if Tailor does not have it.
  Narrow narrow() const;
  const Sources& sources() const;
  // The operand, if Broadcast appended the tensor; else absent.
  Tensor repeated() const;
  // What the tensor is as a quantized one; null if that is not known.
  const QuantizedSource* quantized() const;
  // Names the node that computes the tensor, for messages and traces, unless it has a name.
  void SetName(const std::string& name) const;

  // Sets of a tensor that nobody else has yet.
  Tensor With(Narrow narrow) const;
  Tensor With(const Quotient& quotient) const;
  Tensor WithSources(const Sources& sources) const;
  Tensor WithRepeated(const Tensor& operand) const;
  Tensor WithQuantized(QuantizedSource source) const;

 private:
  friend class Builder;
  struct State;
  explicit Tensor(std::shared_ptr<State> state) : state_(std::move(state)) {}
  State& state() const;        // fails if absent
  State& TensorState() const;  // fails for a sequence too
  std::shared_ptr<State> state_;
};

// (numbers - zero) * scale. A scale and a zero point of rank 1 run along `axis`; others have one element.
struct QuantizedSource {
  Tensor numbers, scale;
  Tensor zero;  // may be absent
  int axis = 0;
};

// Tensors of one element type. A sequence of which importing does not know the length has tensors of one shape.
struct Sequence {
  std::vector<Tensor> items;
  Tensor rows;  // unless absent: the items are its entries along dim 0
};

// A known element: a dim; or `value`, a computed integer of rank 0.
struct Element {
  Element(Dim known) : dim(known) {}                        // NOLINT(runtime/explicit)
  Element(int64_t number) : dim(number) {}                  // NOLINT(runtime/explicit)
  Element(Tensor computed) : value(std::move(computed)) {}  // NOLINT(runtime/explicit)
  bool is_dim() const { return !value; }
  bool is_number() const { return !value && dim.known(); }

  Dim dim;
  Tensor value;
};

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_TENSOR_H_
