#include "graph/recurrence.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/builders.h"
#include "graph/loop.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// One layer: its name, options and expected dim sizes.
struct Layer {
  const char* name;
  int64_t gates;
  std::vector<Activation> functions;
  const RecurrenceOptions& options;
  Shape state;  // [B, H]
  DType dtype;

  const DimExpr& hidden() const { return state[1]; }
  DimExpr rows() const { return hidden() * gates; }
};

// One step, inside the loop body.
struct Step {
  Formula& f;
  const Layer& layer;
  Shape state;                 // [B, H] in the body's symbols
  Value inputs;                // [B, G * H]: this step's row of x w^T
  std::vector<Value> weights;  // r; gru without linear_before_reset: rows of gates z and r, then rows of gate n
  Value bias, peepholes;       // as in RecurrenceOptions
  Value h, c;                  // state before the step
};

struct State {
  Value h, c;
};

absl::Status Mismatch(const Graph& graph, const Layer& layer, absl::string_view name, Value v, const Shape& needed) {
  return absl::InvalidArgumentError(absl::StrCat(layer.name, ": operand \"", name, "\" (", graph.NameOf(v),
                                                 ") has type ", graph.TypeText(graph.type(v)), ", needs ",
                                                 graph.TypeText({layer.dtype, needed})));
}

// `v` with the dim sizes `needed`. Where they differ structurally, a reshape checks them at run time.
absl::StatusOr<Value> Shaped(Graph& graph, const Layer& layer, absl::string_view name, Value v, const Shape& needed) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, layer.name, name, v));
  const TensorType& type = graph.type(v);
  bool fits = type.dtype == layer.dtype && type.shape.size() == needed.size();
  for (size_t d = 0; fits && d < needed.size(); ++d) {
    const DimExpr difference = type.shape[d] - needed[d];
    fits = !difference.constant() || *difference.constant() == 0;
  }
  if (!fits) return Mismatch(graph, layer, name, v, needed);
  if (type.shape == needed) return v;
  Formula f(&graph);
  return f.Finish(f.Apply(OpKind::kReshape, {v}, {{"shape", needed}}));
}

absl::StatusOr<Layer> CheckLayer(const Graph& graph, const char* name, int64_t gates,
                                 const std::vector<const char*>& functions, Value x, Value r,
                                 const RecurrenceOptions& options) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, name, "x", x));
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, name, "r", r));
  Layer layer{name, gates, options.activations, options, {}, graph.type(x).dtype};
  for (auto [operand, v, rank] : {std::tuple("x", x, 3), std::tuple("r", r, 2)}) {
    if (graph.type(v).rank() == rank) continue;
    return absl::InvalidArgumentError(absl::StrCat(name, ": operand \"", operand, "\" (", graph.NameOf(v),
                                                   ") has type ", graph.TypeText(graph.type(v)), ", needs rank ",
                                                   rank));
  }
  if (!(options.clip > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": clip is ", options.clip, ", needs to be above 0"));
  }
  for (const char* function : functions) {
    if (options.activations.empty()) layer.functions.push_back({.name = function});
  }
  if (layer.functions.size() != functions.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": there are ", layer.functions.size(), " activation functions, needs ", functions.size()));
  }
  for (const Activation& function : layer.functions) TAILOR_RETURN_IF_ERROR(CheckActivation(name, function));
  layer.state = {graph.type(x).shape[1], graph.type(r).shape[1]};
  return layer;
}

// Rows [first, first + count) of a matrix. Rows of a constant are a constant over the same bytes.
absl::StatusOr<Value> Rows(Graph& graph, Value matrix, const DimExpr& first, const DimExpr& count) {
  const Node& node = graph.node(matrix.node);
  const Shape shape = graph.type(matrix).shape;
  const Shape part = {count, shape[1]};
  if (node.op != OpKind::kConstant) {
    Formula f(&graph);
    return f.Finish(f.Apply(OpKind::kSlice, {matrix}, {{"starts", Shape{first, 0}}, {"sizes", part}}));
  }
  ConstantData data = graph.constant_data(matrix.node);
  const int64_t row = *shape[1].constant() * SizeOf(graph.type(matrix).dtype);
  data.data = static_cast<const char*>(data.data) + *first.constant() * row;
  data.size = static_cast<uint64_t>(*count.constant() * row);
  if (data.declared_hash) *data.declared_hash += static_cast<uint64_t>(*first.constant() + 1) * data.size;
  return graph.AddConstant(absl::StrCat(node.name, "[", *first.constant(), ":]"), graph.type(matrix).dtype, part,
                           std::move(data));
}

// Gate `gate` of gates [B, G * H]: [B, H].
Value Gate(Step& s, Value gates, int64_t gate) {
  return s.f.Apply(OpKind::kSlice, {gates}, {{"starts", Shape{0, s.state[1] * gate}}, {"sizes", s.state}});
}

// x plus c times the weights of peephole `gate`.
Value Peep(Step& s, Value x, int64_t gate, Value c) {
  if (s.peepholes.node < 0) return x;
  Value weights =
      s.f.Apply(OpKind::kSlice, {s.peepholes}, {{"starts", Shape{s.state[1] * gate}}, {"sizes", Shape{s.state[1]}}});
  return s.f.Apply(OpKind::kAdd, {x, s.f.Apply(OpKind::kMul, {weights, c})});
}

Value Activated(Step& s, size_t function, Value x) {
  const double clip = s.layer.options.clip;
  if (!std::isinf(clip)) {
    x = s.f.Apply(OpKind::kMax, {s.f.Apply(OpKind::kMin, {x, s.f.Scalar(x, clip)}), s.f.Scalar(x, -clip)});
  }
  return Activate(s.f, s.layer.functions[function], x);
}

// h w^T
Value Product(Step& s, Value h, size_t weights) {
  return s.f.Apply(OpKind::kDot, {h, s.weights[weights]}, {{"transpose_rhs", int64_t{1}}});
}

Value Sum(Step& s, Value a, Value b) { return s.f.Apply(OpKind::kAdd, {a, b}); }
Value Times(Step& s, Value a, Value b) { return s.f.Apply(OpKind::kMul, {a, b}); }
Value OneMinus(Step& s, Value x) { return s.f.Apply(OpKind::kSub, {s.f.Scalar(x, 1), x}); }

State RnnStep(Step& s) { return {Activated(s, 0, Sum(s, s.inputs, Product(s, s.h, 0))), {}}; }

State GruStep(Step& s) {
  const bool linear = s.layer.options.linear_before_reset;
  Value product = Product(s, s.h, 0);
  if (s.bias.node >= 0) product = Sum(s, product, s.bias);
  Value update = Activated(s, 0, Sum(s, Gate(s, s.inputs, 0), Gate(s, product, 0)));
  Value reset = Activated(s, 0, Sum(s, Gate(s, s.inputs, 1), Gate(s, product, 1)));
  Value state = linear ? Times(s, reset, Gate(s, product, 2)) : Product(s, Times(s, reset, s.h), 1);
  Value fresh = Activated(s, 1, Sum(s, Gate(s, s.inputs, 2), state));
  return {Sum(s, Times(s, OneMinus(s, update), fresh), Times(s, update, s.h)), {}};
}

State LstmStep(Step& s) {
  Value sum = Sum(s, s.inputs, Product(s, s.h, 0));
  Value input = Activated(s, 0, Peep(s, Gate(s, sum, 0), 0, s.c));
  Value forget = s.layer.options.input_forget ? OneMinus(s, input) : Activated(s, 0, Peep(s, Gate(s, sum, 2), 2, s.c));
  Value fresh = Activated(s, 1, Gate(s, sum, 3));
  Value c = Sum(s, Times(s, forget, s.c), Times(s, input, fresh));
  Value output = Activated(s, 0, Peep(s, Gate(s, sum, 1), 1, c));
  return {Times(s, output, Activate(s.f, s.layer.functions[2], c)), c};
}

// The loop's operands.
struct Operands {
  Value inputs;                // x w^T and biases: [T, B, G * H]
  std::vector<Value> weights;  // as in Step
  Value bias, peepholes;       // as in Step
  Value lengths;               // i64[B, 1]; may be absent
  State initial;
  bool has_c;
};

absl::StatusOr<Value> InitialState(Graph& graph, const Layer& layer, absl::string_view name, Value given) {
  if (given.node >= 0) return Shaped(graph, layer, name, given, layer.state);
  TAILOR_ASSIGN_OR_RETURN(Value zero, ScalarConstant(graph, layer.dtype, 0));
  Formula f(&graph);
  return f.Finish(f.Apply(OpKind::kBroadcast, {zero}, {{"shape", layer.state}}));
}

// lengths as i64[B, 1].
absl::StatusOr<Value> Lengths(Graph& graph, const Layer& layer, Value lengths) {
  if (lengths.node < 0) return lengths;
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, layer.name, "lengths", lengths));
  const TensorType& type = graph.type(lengths);
  if (type.rank() != 1 || (type.dtype != DType::kI32 && type.dtype != DType::kI64)) {
    return absl::InvalidArgumentError(absl::StrCat(layer.name, ": operand \"lengths\" (", graph.NameOf(lengths),
                                                   ") has type ", graph.TypeText(type),
                                                   ", needs i32 or i64 of rank 1"));
  }
  Formula f(&graph);
  Value wide = type.dtype == DType::kI64 ? lengths : f.Apply(OpKind::kCast, {lengths}, {{"dtype", DType::kI64}});
  return f.Finish(f.Apply(OpKind::kReshape, {wide}, {{"shape", Shape{layer.state[0], 1}}}));
}

absl::StatusOr<Operands> Prepare(Graph& graph, const Layer& layer, Value x, Value w, Value r) {
  const RecurrenceOptions& options = layer.options;
  const bool gru = layer.gates == 3, lstm = layer.gates == 4, linear = gru && options.linear_before_reset;
  const Shape columns = {layer.rows()};
  TAILOR_ASSIGN_OR_RETURN(w, Shaped(graph, layer, "w", w, {layer.rows(), graph.type(x).shape[2]}));
  TAILOR_ASSIGN_OR_RETURN(r, Shaped(graph, layer, "r", r, {layer.rows(), layer.hidden()}));
  Operands operands{.has_c = lstm};
  Formula f(&graph);
  operands.inputs = f.Apply(OpKind::kDot, {x, w}, {{"transpose_rhs", int64_t{1}}});
  const auto add = [&](Value row) { operands.inputs = f.Apply(OpKind::kAdd, {operands.inputs, row}); };
  if (options.bias.node >= 0) {
    TAILOR_ASSIGN_OR_RETURN(Value row, Shaped(graph, layer, "bias", options.bias, columns));
    add(row);
  }
  if (options.recurrent_bias.node >= 0) {
    TAILOR_ASSIGN_OR_RETURN(Value row, Shaped(graph, layer, "recurrent_bias", options.recurrent_bias, columns));
    if (linear) {
      operands.bias = row;
    } else {
      add(row);
    }
  }
  TAILOR_RETURN_IF_ERROR(f.Finish(operands.inputs).status());
  operands.weights = {r};
  if (gru && !linear) {
    TAILOR_ASSIGN_OR_RETURN(Value gates, Rows(graph, r, 0, layer.hidden() * 2));
    TAILOR_ASSIGN_OR_RETURN(Value fresh, Rows(graph, r, layer.hidden() * 2, layer.hidden()));
    operands.weights = {gates, fresh};
  }
  if (lstm && options.peepholes.node >= 0) {
    TAILOR_ASSIGN_OR_RETURN(operands.peepholes,
                            Shaped(graph, layer, "peepholes", options.peepholes, {layer.hidden() * 3}));
  }
  TAILOR_ASSIGN_OR_RETURN(operands.lengths, Lengths(graph, layer, options.lengths));
  TAILOR_ASSIGN_OR_RETURN(operands.initial.h, InitialState(graph, layer, "initial_h", options.initial_h));
  if (lstm) {
    TAILOR_ASSIGN_OR_RETURN(operands.initial.c, InitialState(graph, layer, "initial_c", options.initial_c));
  }
  return operands;
}

// The operands that only the body reads, without absent ones.
std::vector<Loop::Operand> ReadOperands(const Operands& operands) {
  std::vector<Loop::Operand> read;
  for (Value v : operands.weights) read.push_back({absl::StrCat("r", read.size()), v});
  for (auto [name, v] : {std::pair("xw", operands.inputs), std::pair("bias", operands.bias),
                         std::pair("peepholes", operands.peepholes), std::pair("lengths", operands.lengths)}) {
    if (v.node >= 0) read.push_back({name, v});
  }
  return read;
}

// The number of steps, in a region whose argument 1 is y [T, B, H].
absl::StatusOr<Value> Steps(Graph& region) { return DimSizeValue(region, region.type(Value{1, 0}).shape[0]); }

// Appends one step to the body, whose carried values are t, y, h and c, and returns their new values. `outside` are the
// operands outside of the loop. t counts up in either direction: the host counts such loops
// (codegen/lower/counted_loop.h).
absl::StatusOr<std::vector<Value>> Body(Loop& loop, const Layer& layer, const Operands& outside,
                                        State (*advance)(Step&)) {
  size_t next = 0;
  const auto read = [&](Value operand) { return operand.node < 0 ? operand : loop.read(next++); };
  Formula f(&loop.body());
  const Value count = loop.carried(0), y = loop.carried(1);
  TAILOR_ASSIGN_OR_RETURN(const Value steps, Steps(loop.body()));
  const Value t = layer.options.reverse
                      ? f.Apply(OpKind::kSub, {f.Apply(OpKind::kSub, {steps, count}), f.Scalar(count, 1)})
                      : count;
  const State before{loop.carried(2), outside.has_c ? loop.carried(3) : Value{}};
  std::vector<Value> weights;
  for (Value v : outside.weights) weights.push_back(read(v));
  Value inputs = f.Apply(OpKind::kGather, {read(outside.inputs), t});
  Value bias = read(outside.bias), peepholes = read(outside.peepholes), lengths = read(outside.lengths);
  Step step{f, layer, loop.body().type(before.h).shape, inputs, weights, bias, peepholes, before.h, before.c};
  State after = advance(step);
  Value row = after.h;
  if (lengths.node >= 0) {
    Value counts = f.Apply(OpKind::kLt, {t, lengths});
    row = f.Apply(OpKind::kSelect, {counts, after.h, f.Scalar(before.h, 0)});
    after.h = f.Apply(OpKind::kSelect, {counts, after.h, before.h});
    if (outside.has_c) after.c = f.Apply(OpKind::kSelect, {counts, after.c, before.c});
  }
  Value place = f.Apply(OpKind::kReshape, {t}, {{"shape", Shape{1}}});
  Value written = f.Apply(OpKind::kScatter, {y, place, row}, {{"combiner", "set"}});
  Value following = f.Apply(OpKind::kAdd, {count, f.Scalar(count, 1)});
  TAILOR_RETURN_IF_ERROR(f.Finish(following).status());
  std::vector<Value> values = {following, written, after.h};
  if (outside.has_c) values.push_back(after.c);
  return values;
}

absl::StatusOr<RecurrenceResults> Recur(Graph& graph, const Layer& layer, Value x, Value w, Value r,
                                        State (*advance)(Step&)) {
  TAILOR_ASSIGN_OR_RETURN(const Operands operands, Prepare(graph, layer, x, w, r));
  Formula f(&graph);
  TAILOR_ASSIGN_OR_RETURN(Value first, ScalarConstant(graph, DType::kI64, 0));
  TAILOR_ASSIGN_OR_RETURN(Value zero, ScalarConstant(graph, layer.dtype, 0));
  Value y =
      f.Apply(OpKind::kBroadcast, {zero}, {{"shape", Shape{graph.type(x).shape[0], layer.state[0], layer.state[1]}}});
  TAILOR_RETURN_IF_ERROR(f.Finish(y).status());

  std::vector<Loop::Operand> carried = {{"t", first}, {"y", y}, {"h", operands.initial.h}};
  if (operands.has_c) carried.push_back({"c", operands.initial.c});
  TAILOR_ASSIGN_OR_RETURN(Loop loop, Loop::Create(&graph, std::move(carried), ReadOperands(operands)));
  Formula condition(&loop.condition());
  TAILOR_ASSIGN_OR_RETURN(const Value steps, Steps(loop.condition()));
  Value go_on = condition.Apply(OpKind::kLt, {loop.carried(0), steps});
  TAILOR_RETURN_IF_ERROR(condition.Finish(go_on).status());
  TAILOR_ASSIGN_OR_RETURN(std::vector<Value> next, Body(loop, layer, operands, advance));
  TAILOR_ASSIGN_OR_RETURN(std::vector<Value> results, std::move(loop).Finish(go_on, std::move(next)));
  return RecurrenceResults{results[1], results[2], operands.has_c ? results[3] : Value{}};
}

}  // namespace

absl::StatusOr<RecurrenceResults> Rnn(Graph& graph, Value x, Value w, Value r, const RecurrenceOptions& options) {
  TAILOR_ASSIGN_OR_RETURN(Layer layer, CheckLayer(graph, "rnn", 1, {"tanh"}, x, r, options));
  return Recur(graph, layer, x, w, r, RnnStep);
}

absl::StatusOr<RecurrenceResults> Gru(Graph& graph, Value x, Value w, Value r, const RecurrenceOptions& options) {
  TAILOR_ASSIGN_OR_RETURN(Layer layer, CheckLayer(graph, "gru", 3, {"sigmoid", "tanh"}, x, r, options));
  return Recur(graph, layer, x, w, r, GruStep);
}

absl::StatusOr<RecurrenceResults> Lstm(Graph& graph, Value x, Value w, Value r, const RecurrenceOptions& options) {
  TAILOR_ASSIGN_OR_RETURN(Layer layer, CheckLayer(graph, "lstm", 4, {"sigmoid", "tanh", "tanh"}, x, r, options));
  return Recur(graph, layer, x, w, r, LstmStep);
}

}  // namespace tailor
