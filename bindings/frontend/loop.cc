#include "bindings/frontend/loop.h"

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "bindings/frontend/error.h"
#include "bindings/frontend/ops.h"
#include "bindings/frontend/random.h"

namespace tailor::frontend {
namespace {

constexpr int64_t kNoBound = INT32_MAX;  // exporters' trip counts from here on mean that there is no bound

// Groups of state dims that the body changes alike. Each dim is fixed or belongs to a class.
class DimClasses {
 public:
  explicit DimClasses(const std::vector<Tensor>& states) {
    for (const Tensor& state : states) classes_.emplace_back(static_cast<size_t>(state.rank()), kFixed);
  }

  // All dims of state `i`, now of that rank, are fixed.
  void Restart(size_t i, int rank) { classes_[i].assign(static_cast<size_t>(rank), kFixed); }

  // The shape of state `i`: fixed(dim) for the dims of `shape` that are fixed, `symbols` for the others by class; new
  // symbols are added.
  template <typename Fixed>
  Shape ShapeOf(size_t i, const Shape& shape, Dims& dims, std::map<int, Dim>* symbols, Fixed fixed) const {
    Shape out;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int number = classes_[i][d];
      if (number == kFixed) {
        out.push_back(fixed(shape[d]));
        continue;
      }
      if (!symbols->contains(number)) symbols->emplace(number, dims.Fresh("n"));
      out.push_back(symbols->at(number));
    }
    return out;
  }

  // Splits classes whose dims the body does not change alike. `initial`: the states before the loop; `before` and
  // `after`: those of a body. Returns whether anything changed.
  bool Refine(const std::vector<Tensor>& initial, const std::vector<Tensor>& before, const std::vector<Tensor>& after) {
    struct Place {
      size_t state, dim;
    };
    std::map<std::string, std::map<std::string, std::vector<Place>>> kinds;  // by class or initial dim, then new dim
    for (size_t i = 0; i < before.size(); ++i) {
      for (size_t d = 0; d < classes_[i].size(); ++d) {
        const Dim &old_dim = before[i].shape()[d], &new_dim = after[i].shape()[d];
        const int number = classes_[i][d];
        if (number == kFixed && old_dim == new_dim) continue;
        const std::string kind = number == kFixed ? "dim " + initial[i].builder().dims().Text(initial[i].shape()[d])
                                                  : "class " + std::to_string(number);
        kinds[kind][after[i].builder().dims().Text(new_dim)].push_back({i, d});
      }
    }
    bool changed = false;
    for (const auto& [kind, groups] : kinds) {
      if (kind.starts_with("class") && groups.size() == 1) continue;
      for (const auto& [text, places] : groups) {
        for (const Place& place : places) classes_[place.state][place.dim] = next_;
        ++next_;
        changed = true;
      }
    }
    return changed;
  }

 private:
  static constexpr int kFixed = -1;
  std::vector<std::vector<int>> classes_;  // of each dim of each state
  int next_ = 0;
};

// The body's graph for one assumption on the dims that it changes.
struct Body {
  Body(const Loop& loop, const DimClasses& classes) : region(loop.closure, "body") {
    iteration = region.Input(loop.names[0], DType::kI64, {}, {});
    region.builder().set_run_state_source([this] { return InIteration(region.CaptureRunState(), iteration); });
    std::map<int, Dim> symbols;
    for (size_t i = 0; i < loop.states.size(); ++i) {
      const Tensor& state = loop.states[i];
      const Shape shape = classes.ShapeOf(i, state.shape(), region.builder().dims(), &symbols,
                                          [&](const Dim& dim) { return region.Inner(dim); });
      // Whatever the body reads may be in a state.
      const Tensor argument = region.Input(loop.names[1 + i], state.dtype(), shape, loop.closure.sources());
      states.push_back(argument.With(state.narrow()));
    }
    step = loop.body(region, region.Capture(), iteration, states);
    for (size_t i = 0; i < states.size(); ++i) {
      Tensor& after = step.states[i];
      if (loop.unread.contains(i) && !IsAlike(states[i], after)) {
        begin.emplace(i, Zeros(loop.closure.builder(), after));
        continue;
      }
      CheckAlike(loop.names[1 + i], states[i], after);
      if (after.rank() < states[i].rank()) after = Reshape(after, states[i].shape()).With(after.narrow());
      if (after.rank() > states[i].rank())
        begin.emplace(i, Reshape(loop.states[i], after.shape()).With(after.narrow()));
    }
  }

  // Of the type of `after` outside of the loop.
  Tensor Zeros(Builder& outside, const Tensor& after) {
    Shape shape;
    for (const Dim& dim : after.shape()) shape.push_back(region.Outer(dim).value_or(Dim(0)));
    return Broadcast(outside.Scalar(after.dtype(), 0), shape).With(after.narrow());
  }

  static bool IsAlike(const Tensor& before, const Tensor& after) {
    return before.dtype() == after.dtype() && before.rank() == after.rank() && before.narrow() == after.narrow();
  }

  // Types have to be alike. So do ranks, unless both tensors are one element.
  static void CheckAlike(const std::string& name, const Tensor& before, const Tensor& after) {
    const bool one = before.dtype() == after.dtype() && before.narrow() == after.narrow() && IsOneElement(before) &&
                     IsOneElement(after);
    if (!one && !IsAlike(before, after)) Refuse(name, before, after);
  }

  [[noreturn]] static void Refuse(const std::string& name, const Tensor& before, const Tensor& after) {
    const auto text = [](const Tensor& x) {
      return std::string(NameOf(x.dtype())) + " of rank " + std::to_string(x.rank());
    };
    Fail("the body gets " + text(before) + " as \"" + name + "\", but returns " + text(after));
  }

  Region region;
  Tensor iteration;
  std::vector<Tensor> states;  // before the step
  LoopStep step;
  std::map<size_t, Tensor> begin;  // what states have to begin with instead
};

// The value of a constant of one element. Absent: true.
std::optional<bool> KnownCondition(const Tensor& condition) {
  if (!condition) return true;
  const Array* array = condition.array();
  if (array == nullptr || array->size() != 1) return std::nullopt;
  return array->number(0) != 0;
}

// The trip count of a loop that only its first condition may end.
Element TripsUnlessFalse(Builder& builder, const std::optional<Element>& trips, const Tensor& condition) {
  const std::optional<bool> known = KnownCondition(condition);
  if (known == false) return Element(int64_t{0});
  if (!trips) Fail("it never ends: it has neither a trip count nor a condition that changes");
  if (known == true) return *trips;
  return builder.Parts(Select(condition, builder.NumberOf(*trips), 0)).value().at(0);
}

// Appends the loop around a body: what it carries, in order, and what its results mean.
class Appender {
 public:
  Appender(const Loop& loop, const DimClasses& classes, Body& body)
      : body_(body),
        region_(body.region),
        builder_(loop.closure.builder()),
        inner_(body.region.builder()),
        reversed_(loop.reversed) {
    carried_.push_back({builder_.Scalar(DType::kI64, 0), body.iteration, body.iteration + 1, {}});
    std::map<int, Dim> symbols;
    for (size_t i = 0; i < loop.states.size(); ++i) {
      const Shape after =
          classes.ShapeOf(i, loop.states[i].shape(), builder_.dims(), &symbols, [](const Dim& dim) { return dim; });
      carried_.push_back({loop.states[i], body.states[i], body.step.states[i], after});
    }
    changes_ = !symbols.empty();
    const size_t first = carried_.size();
    for (size_t i = 0; i < region_.captured().size(); ++i) {
      const Tensor &outer = region_.captured()[i], &argument = region_.inputs()[first + i].tensor;
      carried_.push_back({outer, argument, argument, outer.shape()});
    }
    const bool early = KnownCondition(body.step.condition) != true;
    Limit(early ? loop.trips : TripsUnlessFalse(builder_, loop.trips, loop.condition), early);
    if (!early) return;
    const Tensor going = loop.condition ? loop.condition : builder_.Scalar(DType::kBool, 1);
    end_ = Carry("condition", going, {});
    carried_[*end_].next = Reshape(body.step.condition, {});
  }

  LoopResults Append(size_t state_count) {
    std::vector<std::function<Tensor()>> stacks;
    for (size_t i = 0; i < body_.step.rows.size(); ++i) stacks.push_back(Stack(i, body_.step.rows[i]));
    for (size_t i = 0; i < carried_.size(); ++i) inner_.Output(region_.inputs()[i].name, carried_[i].next);
    results_ = AppendWhile();
    LoopResults out;
    for (size_t i = 0; i < state_count; ++i) {
      out.states.push_back(results_[1 + i].With(body_.step.states[i].narrow()));
    }
    for (size_t i = 0; i < stacks.size(); ++i) out.rows.push_back(stacks[i]().With(body_.step.rows[i].narrow()));
    return out;
  }

 private:
  struct Carried {
    Tensor operand, argument, next;  // outside; in the body, before and after an iteration
    Shape after;                     // of the result
  };

  // Carries one more value, which the body returns unchanged unless told otherwise; its place.
  size_t Carry(const std::string& name, const Tensor& operand, const Shape& shape) {
    const Tensor argument = region_.Input(name, operand.dtype(), shape, {});
    carried_.push_back({operand, argument, argument, operand.shape()});
    return carried_.size() - 1;
  }

  // The bound as a value and, where rows are stacked up to it, as a dim.
  void Limit(std::optional<Element> trips, bool early) {
    if (early && trips && trips->is_number() && trips->dim.number() >= kNoBound) trips.reset();
    if (!trips) return;
    if (!trips->is_dim() && !body_.step.rows.empty() && !early) {
      trips = Element(builder_.DimOf(Element(Max(builder_.NumberOf(*trips), 0))));
    }
    if (trips->is_dim()) bound_ = builder_.dims().Max(trips->dim, 0);
    stop_ = Carry("trips", bound_ ? builder_.Number(*bound_) : builder_.NumberOf(*trips), {});
  }

  std::vector<Tensor> AppendWhile() {
    const Region::Twin condition = Condition();
    std::vector<Tensor> operands;
    std::vector<tailor_value> values;
    Shape shapes;
    for (const Carried& carried : carried_) {
      operands.push_back(carried.operand);
      values.push_back(carried.operand.value());
      if (changes_) shapes.insert(shapes.end(), carried.after.begin(), carried.after.end());
    }
    const std::vector<tailor_dim> dims = builder_.dims().Handles(shapes);
    return builder_.AppendSeveral(operands, values.size(), [&](tailor_value* outs) {
      return tailor_graph_while(builder_.graph(), values.data(), values.size(), condition.builder->graph(),
                                inner_.graph(), dims.data(), dims.size(), outs);
    });
  }

  Region::Twin Condition() {
    Region::Twin twin = region_.Alike("condition");
    Tensor more;
    if (stop_) more = twin.inputs[0] < twin.inputs[*stop_];
    if (end_) more = more ? more & twin.inputs[*end_] : twin.inputs[*end_];
    twin.builder->Output("more", more);
    return twin;
  }

  // Carries what gathers row `i` of every iteration; the function makes the stack after the loop.
  std::function<Tensor()> Stack(size_t i, const Tensor& row) {
    std::vector<std::optional<Dim>> known;
    Shape outer;
    for (const Dim& dim : row.shape()) {
      known.push_back(region_.Outer(dim));
      if (known.back()) outer.push_back(*known.back());
    }
    if (outer.size() < known.size()) return Flat(i, row, known);
    return bound_ ? Written(i, row, outer) : Grown(i, row, outer);
  }

  // Rows written into a tensor with room for the most iterations.
  std::function<Tensor()> Written(size_t i, const Tensor& row, const Shape& outer) {
    if (!span_) span_ = bound_->known() ? *bound_ : inner_.dims().Fresh("n");
    const Shape room = Joined(*bound_, outer);
    const size_t place = Carry("rows", Broadcast(builder_.Scalar(row.dtype(), 0), room), Joined(*span_, row.shape()));
    Tensor index = body_.iteration;
    if (reversed_.contains(i)) index = carried_[*stop_].argument - index - 1;
    Carried& stack = carried_[place];
    stack.next = Scatter(stack.argument, Reshape(index, {1, 1}), Reshape(row, Joined(1, row.shape())), "set");
    return [this, place, outer] {
      const Tensor& all = results_[place];
      if (!end_) return all;
      return Slice(all, Shape(outer.size() + 1, 0), Joined(Count(), outer));
    };
  }

  // Rows appended, where no bound is known.
  std::function<Tensor()> Grown(size_t i, const Tensor& row, const Shape& outer) {
    const Dim length = inner_.dims().Fresh("n");
    const size_t place = CarryGrowing(row.dtype(), Joined(length, row.shape()), outer);
    Extend(place, i, Reshape(row, Joined(1, row.shape())));
    return [this, place, outer] { return Reshape(results_[place], Joined(Count(), outer)); };
  }

  // Elements appended, where only the body knows the dims of a row: those of the last row are carried out.
  std::function<Tensor()> Flat(size_t i, const Tensor& row, const std::vector<std::optional<Dim>>& known) {
    const size_t place = CarryGrowing(row.dtype(), {inner_.dims().Fresh("n")}, {});
    Extend(place, i, Reshape(row, {inner_.dims().Product(row.shape())}));
    std::vector<size_t> sizes(known.size(), 0);  // places of the others' dims
    for (size_t d = 0; d < known.size(); ++d) {
      if (known[d]) continue;
      sizes[d] = Carry("extent", builder_.Scalar(DType::kI64, 0), {});
      carried_[sizes[d]].next = inner_.Number(row.shape()[d]);
    }
    return [this, place, known, sizes] {
      Shape dims = {Count()};
      for (size_t d = 0; d < known.size(); ++d) {
        dims.push_back(known[d] ? *known[d] : builder_.DimOf(Element(results_[sizes[d]])));
      }
      return Reshape(results_[place], dims);
    };
  }

  // Carries an empty tensor that grows along its first dim; `rest`: its other dims outside.
  size_t CarryGrowing(DType dtype, const Shape& shape, const Shape& rest) {
    const size_t place = Carry("rows", Broadcast(builder_.Scalar(dtype, 0), Joined(0, rest)), shape);
    carried_[place].after = Joined(builder_.dims().Fresh("n"), rest);
    changes_ = true;
    return place;
  }

  // Appends a row, or puts it in front where rows `i` are reversed.
  void Extend(size_t place, size_t i, const Tensor& row) {
    Carried& stack = carried_[place];
    stack.next = reversed_.contains(i) ? Concat({row, stack.argument}, 0) : Concat({stack.argument, row}, 0);
  }

  // The number of iterations.
  Dim Count() { return bound_ && !end_ ? *bound_ : builder_.DimOf(Element(results_[0])); }

  static Shape Joined(const Dim& first, const Shape& rest) {
    Shape out = {first};
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
  }

  Body& body_;
  Region& region_;
  Builder& builder_;  // of the graph around the loop
  Builder& inner_;    // of the body
  const std::set<size_t>& reversed_;
  std::vector<Carried> carried_;  // as the region's inputs
  bool changes_ = false;          // whether some result has other dims than its operand
  std::optional<Dim> bound_;      // of iterations
  std::optional<Dim> span_;       // the bound in the body
  std::optional<size_t> stop_;    // the place of the bound
  std::optional<size_t> end_;     // the place of the condition
  std::vector<Tensor> results_;
};

}  // namespace

LoopResults AppendLoop(const Loop& given) {
  Loop loop = given;
  DimClasses classes(loop.states);
  auto body = std::make_unique<Body>(loop, classes);
  std::set<size_t> changed;  // states that begin as something else
  while (true) {
    if (!body->begin.empty()) {
      for (const auto& [i, state] : body->begin) {
        if (!changed.insert(i).second) Body::Refuse(loop.names[1 + i], body->states[i], body->step.states[i]);
        loop.states[i] = state;
        classes.Restart(i, state.rank());
      }
    } else if (!classes.Refine(loop.states, body->states, body->step.states)) {
      break;
    }
    body = std::make_unique<Body>(loop, classes);
  }
  return Appender(loop, classes, *body).Append(loop.states.size());
}

}  // namespace tailor::frontend
