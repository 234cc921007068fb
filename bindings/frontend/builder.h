// Builds one graph. Ops on its tensors are free functions (frontend/ops.h).
#ifndef TAILOR_BINDINGS_FRONTEND_BUILDER_H_
#define TAILOR_BINDINGS_FRONTEND_BUILDER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bindings/frontend/dims.h"
#include "bindings/frontend/op_kinds.h"
#include "bindings/frontend/tensor.h"

namespace tailor::frontend {

// Lists of known elements have at most so many, and every op folds constants up to so many.
inline constexpr int64_t kMaxElements = 1024;
// Evaluated constants may grow by so many elements beyond those of the weights: 256 MB of i64.
inline constexpr int64_t kMaxGrowth = int64_t{1} << 25;
// Computed integers of at most so many elements may be the dims of a shape.
inline constexpr int64_t kMaxComputedDims = 16;

// What random numbers of a graph depend on (frontend/random.h): u64 of rank 0.
struct RunState {
  Tensor seed;  // the caller's
  Tensor run;   // the number of runs before; inside of a loop, each iteration has its own
};

class Builder {
 public:
  explicit Builder(const std::string& name);
  // Of a region of another builder's graph.
  Builder(const std::string& name, const Builder& around);
  Builder(const Builder&) = delete;
  ~Builder();

  tailor_graph* graph() const { return graph_; }
  tailor_graph* Release();  // the finished graph; the caller owns it
  Dims& dims() { return dims_; }

  Tensor Input(const std::string& name, DType dtype, const Shape& shape);
  void Output(const std::string& name, const Tensor& tensor);

  // The array is borrowed by the graph. `name`: for messages and the graph's text.
  Tensor Constant(Array array, const std::string& name = "");
  Tensor Scalar(DType dtype, double value) { return Constant(Array::Scalar(dtype, value)); }
  // The dim as an i64 of rank 0.
  Tensor Number(const Dim& dim) { return Of({dim}, DType::kI64, {}); }
  // Whether views of large constants (Transpose, Reshape) are evaluated. A front end says no where the constant is read
  // as it is too: the graph would have both.
  bool folds_views() const { return folds_views_; }
  void set_folds_views(bool folds) { folds_views_ = folds; }
  // Evaluated constants may have this many elements more than their operands, together with those of regions: a chain
  // of Concat or Pad grows exponentially. AllowGrowth: for the elements of weights.
  void AllowGrowth(int64_t elements) { *growth_ += elements; }
  bool TakeGrowth(int64_t elements);  // whether there is room for so many more
  // A tensor of known elements: an integer or bool constant if all are numbers.
  Tensor Of(std::vector<Element> elements, DType dtype, std::vector<int64_t> shape);
  Tensor List(std::vector<Element> elements, DType dtype = DType::kI64);  // rank 1
  Tensor OfSequence(Sequence sequence, DType dtype);                      // whose tensors are of type `dtype`

  // The elements if all are dims: of an integer or bool constant with at most kMaxElements, or of known elements.
  std::optional<std::vector<Element>> KnownElements(const Tensor& tensor);
  // The elements of a list whose length is known; those that the graph computes as values. nullopt for others.
  std::optional<std::vector<Element>> Parts(const Tensor& tensor);
  // One of Parts() as a dim. A computed one is at least `min`: a run where it is less fails. The same value gives the
  // same symbol.
  Dim DimOf(const Element& element, int64_t min = 0);
  // One of Parts() as an i64 of rank 0.
  Tensor NumberOf(const Element& element);

  // Appended when first asked for. `source` gives a region's: that of the graph around it.
  const RunState& run_state();
  bool has_run_state() const { return run_state_.has_value(); }
  void set_run_state_source(std::function<RunState()> source) { run_state_source_ = std::move(source); }

  // The inputs that a symbol's value depends on, if running the graph computes it. nullopt: dims of inputs give it.
  std::optional<Sources> OriginOf(const Dim& symbol) const;
  void SetOrigin(const Dim& symbol, std::optional<Sources> origin);

  // Inputs that the tensor's elements or dims depend on.
  Sources SourcesOf(const Tensor& tensor);

  // Appends an op: `call` passes operands' values to the C API and sets `out`. The results depend on what `operands`
  // depend on.
  Tensor Append(const std::vector<Tensor>& operands, const std::function<tailor_status*(tailor_value* out)>& call);
  std::vector<Tensor> AppendSeveral(const std::vector<Tensor>& operands, size_t count,
                                    const std::function<tailor_status*(tailor_value* outs)>& call);
  // A value that the C API returned.
  Tensor OfValue(tailor_value value, const Sources& sources);

 private:
  friend class Tensor;
  tailor_value Materialize(Tensor::State& state);
  tailor_value AppendConstant(const Tensor::State& state);
  tailor_value AppendElements(const Tensor::State& state);
  tailor_value ValueOf(const Element& element, DType dtype);
  // The dim as an i64 of rank 0 that the graph computes.
  tailor_value ValueOf(const Dim& dim);
  tailor_value Reshaped(tailor_value x, const Shape& shape);

  tailor_graph* graph_ = nullptr;
  Dims dims_;
  bool folds_views_ = true;
  std::shared_ptr<int64_t> growth_;                        // elements that evaluation may still add
  std::map<tailor_value, Dim> bound_;                      // symbols of bound values
  std::unordered_map<tailor_dim, tailor_value> counts_;    // values of bound symbols
  std::unordered_map<tailor_dim, Sources> bound_sources_;  // what bound symbols depend on
  std::unordered_map<tailor_dim, std::optional<Sources>> origins_;
  std::function<RunState()> run_state_source_;  // empty: of the graph that is run
  std::optional<RunState> run_state_;
};

// Raw access to the C API by kind.
tailor_status* AppendUnary(UnaryOp op, tailor_graph* graph, tailor_value x, tailor_value* out);
tailor_status* AppendBinary(BinaryOp op, tailor_graph* graph, tailor_value lhs, tailor_value rhs, tailor_value* out);

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_BUILDER_H_
