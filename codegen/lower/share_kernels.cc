#include "codegen/lower/share_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/idioms/idioms.h"
#include "codegen/plan/plan_queries.h"

namespace tailor::lower {
namespace {

constexpr int64_t kLeast = 16;  // smaller sizes decide on lanes and unrolling

// The value of slot `slot`, which differs between launches: equal to no other slot's.
DimExpr UnknownValue(size_t slot) {
  constexpr SymbolId kNoSymbolOfAGraph = 1 << 24;
  return DimExpr::Symbol(kNoSymbolOfAGraph + static_cast<SymbolId>(slot));
}

// A constant that may become a slot: an axis' dim size, the buffer dims that the axis indexes and that have its size,
// and the constant in expressions if it is no other axis' size; or, without an axis, buffer dims of equal size that no
// such axis indexes; or a literal. `value` is the size, or the literal's bits.
struct Parameter {
  int axis = -1;
  int64_t value = 0;
  std::vector<std::pair<int, int>> dims;  // buffer, dim
  ExprId constant = -1;
  bool is_literal = false;
  int link = -1;  // of a chain: the literal is one of this link's plan
};

class Parameters {
 public:
  explicit Parameters(const KernelPlan& plan) : plan_(plan), dims_(plan.axes.size()) {
    for (size_t axis = 0; axis < plan.axes.size(); ++axis) {
      const DimSize& size = plan.axes[axis].dim_size;
      possible_.push_back(size.is_constant() && size.constant >= kLeast);
    }
    for (const Expr& e : plan.exprs) {
      if (e.kind == ExprKind::kLoad) {
        VisitIndices(e.ref, e.args);
        Exclude({e.predicate});
      } else {
        Exclude(e.args);
        Exclude({e.predicate});
      }
    }
    for (const Stage& stage : plan.stages) {
      for (const Statement& statement : stage.statements) {
        VisitIndices(statement.buffer, statement.indices);
        Exclude({statement.value});
      }
    }
  }

  std::vector<Parameter> Found() const {
    std::vector<Parameter> found;
    for (size_t axis = 0; axis < possible_.size(); ++axis) {
      if (!possible_[axis] || IsTransposed(static_cast<int>(axis))) continue;
      Parameter parameter{.axis = static_cast<int>(axis), .value = plan_.axes[axis].dim_size.constant};
      for (const auto& dim : dims_[axis]) {
        const DimSize& size = plan_.buffers[dim.first].dims[dim.second];
        if (size.is_constant() && size.constant == parameter.value) parameter.dims.push_back(dim);
      }
      found.push_back(std::move(parameter));
    }
    AddConstants(found);
    AddOtherDims(found);
    return found;
  }

 private:
  // Whether the dim is innermost, dims of size 1 aside, and an access moves along a dim before it, whose stride it is.
  bool SetsStrides(int buffer, int dim) const {
    const auto first = moving_.lower_bound({buffer, 0});
    return !HasDimsInside(buffer, dim) && first != moving_.end() && *first < std::pair(buffer, dim);
  }
  bool HasDimsInside(int buffer, int dim) const {
    const std::vector<DimSize>& dims = plan_.buffers[buffer].dims;
    return std::any_of(dims.begin() + dim + 1, dims.end(),
                       [](const DimSize& size) { return !(size == DimSize{.constant = 1}); });
  }

  // Whether a loop kernel reads one buffer along the axis and another across it: vectors along other axes then have its
  // size as their stride, and constant strides need no address per element.
  bool IsTransposed(int axis) const {
    if (!std::holds_alternative<LoopForm>(plan_.form)) return false;
    bool along = false, across = false;
    for (const auto& [buffer, dim] : dims_[axis]) {
      along |= SetsStrides(buffer, dim);
      across |= HasDimsInside(buffer, dim);
    }
    return along && across;
  }

  // A mean divides by the size of its axis. Constants that divide indices stay: dividing by a variable is slow.
  void AddConstants(std::vector<Parameter>& found) const {
    std::set<ExprId> divisors;
    for (const Expr& e : plan_.exprs) {
      if (e.kind == ExprKind::kIndexFloorDiv || e.kind == ExprKind::kIndexMod) divisors.insert(e.args[1]);
    }
    for (ExprId id = 0; id < static_cast<ExprId>(plan_.exprs.size()); ++id) {
      const Expr& e = plan_.exprs[id];
      if (e.kind != ExprKind::kDimSize || !e.dim_size.is_constant() || divisors.contains(id)) continue;
      const auto equal = [&](const Parameter& parameter) { return parameter.value == e.dim_size.constant; };
      const auto parameter = std::find_if(found.begin(), found.end(), equal);
      if (parameter != found.end() && std::count_if(found.begin(), found.end(), equal) == 1) parameter->constant = id;
    }
  }

  void AddOtherDims(std::vector<Parameter>& found) const {
    std::set<std::pair<int, int>> taken;
    for (const Parameter& parameter : found) taken.insert(parameter.dims.begin(), parameter.dims.end());
    const size_t of_axes = found.size();
    for (int buffer = 0; buffer < static_cast<int>(plan_.buffers.size()); ++buffer) {
      const std::vector<DimSize>& dims = plan_.buffers[buffer].dims;
      for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
        if (!dims[d].is_constant() || dims[d].constant < kLeast || taken.contains({buffer, d})) continue;
        if (SetsStrides(buffer, d)) continue;
        const auto equal = [&](const Parameter& parameter) { return parameter.value == dims[d].constant; };
        auto parameter = std::find_if(found.begin() + of_axes, found.end(), equal);
        if (parameter == found.end()) parameter = found.insert(found.end(), {.value = dims[d].constant});
        parameter->dims.emplace_back(buffer, d);
      }
    }
  }

  std::optional<int> AxisOf(ExprId id) const {
    if (id < 0 || plan_.exprs[id].kind != ExprKind::kAxis) return std::nullopt;
    return plan_.exprs[id].ref;
  }

  void VisitIndices(int buffer, const std::vector<ExprId>& indices) {
    for (size_t d = 0; d < indices.size(); ++d) {
      if (plan_.exprs[indices[d]].kind != ExprKind::kDimSize) moving_.emplace(buffer, static_cast<int>(d));
      const std::optional<int> axis = AxisOf(indices[d]);
      if (!axis) continue;
      const auto [other, is_new] = axis_of_.try_emplace({buffer, static_cast<int>(d)}, *axis);
      if (!is_new && other->second != *axis) possible_[*axis] = possible_[other->second] = false;
      dims_[*axis].emplace(buffer, static_cast<int>(d));
    }
  }

  void Exclude(const std::vector<ExprId>& users) {
    for (ExprId id : users) {
      if (const std::optional<int> axis = AxisOf(id)) possible_[*axis] = false;
    }
  }

  const KernelPlan& plan_;
  std::vector<bool> possible_;                       // by axis
  std::vector<std::set<std::pair<int, int>>> dims_;  // by axis: the buffer dims that it indexes
  std::map<std::pair<int, int>, int> axis_of_;       // by buffer dim
  std::set<std::pair<int, int>> moving_;             // buffer dims that have other indices than constants
};

// Makes a literal of a link a slot of the link, for a new slot of the chain.
void AddLinkSlot(KernelPlan& chain, const Parameter& parameter) {
  ChainLink& link = std::get<ChainForm>(chain.form).links[parameter.link];
  link.dims.push_back(static_cast<int>(chain.dims.size()));
  chain.dims.push_back({.value = UnknownValue(chain.dims.size() + 1)});
  link.plan.dims.push_back({.value = UnknownValue(link.plan.dims.size() + 1)});
  link.plan.ReplaceConstant(parameter.constant, static_cast<int32_t>(link.plan.dims.size()) - 1);
}

// `plan` with new slots for the parameters whose `facts` are set.
KernelPlan WithSlots(KernelPlan plan, const std::vector<Parameter>& parameters,
                     const std::vector<std::optional<DimSlot>>& facts) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!facts[i]) continue;
    if (parameters[i].link >= 0) {
      AddLinkSlot(plan, parameters[i]);
      continue;
    }
    const DimSize slot{.slot = static_cast<int32_t>(plan.dims.size())};
    plan.dims.push_back(*facts[i]);
    plan.dims.back().value = UnknownValue(plan.dims.size());
    if (parameters[i].axis >= 0) plan.axes[parameters[i].axis].dim_size = slot;
    for (const auto& [buffer, dim] : parameters[i].dims) plan.buffers[buffer].dims[dim] = slot;
    if (parameters[i].constant >= 0) plan.ReplaceConstant(parameters[i].constant, slot.slot);
  }
  return plan;
}

// Bytes of a matmul's rhs if n and k are constant; -1 otherwise.
int64_t RhsBytes(const KernelPlan& plan, const Contraction& matmul) {
  const DimSize &n = plan.axes[matmul.n].dim_size, &k = plan.axes[matmul.k].dim_size;
  if (!n.is_constant() || !k.is_constant()) return -1;
  if (std::max(n.constant, k.constant) >= kLargeRhsBytes) return kLargeRhsBytes;
  return n.constant * k.constant * SizeOf(plan.buffers[matmul.rhs.ref].dtype);
}

// Schedules of matmuls with a large rhs use its sizes. The panels of a Winograd convolution have a layout that depends
// on the number of channels.
bool MayHaveSizeSlots(const KernelPlan& plan) {
  if (!plan.IsContraction()) return std::holds_alternative<LoopForm>(plan.form);
  const Contraction matmul = ContractionOf(plan);
  return RhsBytes(plan, matmul) < kLargeRhsBytes &&
         plan.buffers[matmul.rhs.ref].layout != ConstantLayout::kWinogradPanels16;
}

bool IsZeroPoint(double number) { return std::trunc(number) == number && std::fabs(number) <= kLargestZeroPoint; }

// Whether emitters treat operand `i` of `user`, a literal, as any other number that a parameter may be. They multiply
// by the inverses of powers of two, and recognise what is added to a rounded f32 (RequantizedOf in
// codegen/plan/idioms).
bool IsAnyNumber(const KernelPlan& plan, const Expr& user, size_t i) {
  if (user.kind != ExprKind::kOp || user.args.size() != 2) return false;
  const auto bits = static_cast<uint32_t>(plan.exprs[user.args[i]].bits);
  if (user.dtype == DType::kI16) return user.op == OpKind::kSub && i == 1;
  if (user.dtype == DType::kI32) {
    return user.op == OpKind::kSub && i == 1 && IsZeroPoint(std::bit_cast<int32_t>(bits));
  }
  const auto number = std::bit_cast<float>(bits);
  if (user.op == OpKind::kMul || user.op == OpKind::kSub) return true;
  if (user.op == OpKind::kAdd) {
    const Expr& other = plan.exprs[user.args[1 - i]];
    return other.kind != ExprKind::kOp || other.op != OpKind::kRound || IsZeroPoint(number);
  }
  int exponent;
  return user.op == OpKind::kDiv && i == 1 && std::fabs(std::frexp(number, &exponent)) != 0.5f;
}

// Adds the literals below `id` to `literals`, except those below `end`.
void CollectLiterals(const KernelPlan& plan, ExprId id, ExprId end, std::set<ExprId>& literals) {
  if (id == end) return;
  if (plan.exprs[id].kind == ExprKind::kLiteral) literals.insert(id);
  for (ExprId arg : plan.exprs[id].args) CollectLiterals(plan, arg, end, literals);
}

// Literals such as the scales and zero points of quantized layers; not those that make an idiom. `link`: of a chain,
// whose plan `plan` is.
void AddLiterals(const KernelPlan& plan, int link, std::vector<Parameter>& found) {
  if (plan.IsChain()) {
    for (size_t i = 0; i < plan.links().size(); ++i) AddLiterals(plan.links()[i].plan, static_cast<int>(i), found);
    return;
  }
  const std::vector<ExprId> reachable = ReachableExprs(plan);
  std::set<ExprId> used, excluded;
  for (ExprId id : reachable) {
    const Expr& e = plan.exprs[id];
    if (const auto gelu = GeluOf(plan, e)) CollectLiterals(plan, id, gelu->x, excluded);
    for (size_t i = 0; i < e.args.size(); ++i) {
      const Expr& literal = plan.exprs[e.args[i]];
      if (literal.kind != ExprKind::kLiteral || !MayBeParameter(literal.dtype)) continue;
      (IsAnyNumber(plan, e, i) ? used : excluded).insert(e.args[i]);
    }
  }
  for (const Stage& stage : plan.stages) {
    for (const Statement& statement : stage.statements) excluded.insert(statement.value);
  }
  for (ExprId id : reachable) {
    if (!used.contains(id) || excluded.contains(id)) continue;
    const auto value = static_cast<int64_t>(plan.exprs[id].bits);
    found.push_back({.value = value, .constant = id, .is_literal = true, .link = link});
  }
}

// Whether an index is a position in a window: the sum of a parallel axis and of a tile axis.
bool HasWindows(const KernelPlan& plan) {
  const auto depends = [&](ExprId id, AxisRole role) {
    for (int axis = 0; axis < static_cast<int>(plan.axes.size()); ++axis) {
      if (plan.axes[axis].role == role && DependsOn(plan, id, axis)) return true;
    }
    return false;
  };
  const std::vector<ExprId> reachable = ReachableExprs(plan);
  return std::any_of(reachable.begin(), reachable.end(), [&](ExprId id) {
    return plan.exprs[id].kind == ExprKind::kIndexAdd && depends(id, AxisRole::kParallel) &&
           depends(id, AxisRole::kTile);
  });
}

// Forgets what divides the parallel axes of loops. Schedules ask for it only where lanes may run across windows;
// kernels that differ in their facts are not shared.
void ForgetDivisors(KernelPlan& plan) {
  if (!std::holds_alternative<LoopForm>(plan.form) || HasWindows(plan)) return;
  std::set<int> kept;
  for (const Axis& axis : plan.axes) {
    if (axis.role != AxisRole::kParallel && !axis.dim_size.is_constant()) kept.insert(axis.dim_size.slot);
  }
  for (const Axis& axis : plan.axes) {
    if (axis.role != AxisRole::kParallel || axis.dim_size.is_constant() || kept.contains(axis.dim_size.slot)) continue;
    plan.dims[axis.dim_size.slot].divisor = 1;
  }
}

// On which side of the schedules' thresholds the sizes are.
std::string ClassesOf(const KernelPlan& plan, const std::vector<Parameter>& parameters) {
  std::string classes;
  std::optional<Contraction> matmul;
  if (plan.IsContraction()) matmul = ContractionOf(plan);
  const bool few_columns = matmul && MaxOf(plan, plan.axes[matmul->n].dim_size) <= kMostStagedColumns;
  for (const Parameter& parameter : parameters) {
    if (matmul && parameter.axis == matmul->k) {
      const bool several_blocks = parameter.value > kDepthBytes / SizeOf(matmul->accumulate);
      absl::StrAppend(&classes, parameter.value <= kShortDepth ? "short " : several_blocks ? "blocks " : "long ");
      if (few_columns && parameter.value <= kTransposedDepth) classes += "transposed ";
      if (parameter.value >= kLeastPackedDepth) classes += parameter.value >= kManyLines ? "lines " : "packed ";
    } else if (few_columns && parameter.axis == matmul->n) {
      absl::StrAppend(&classes, parameter.value, " ");
    } else if (parameter.axis >= 0) {
      if (matmul && parameter.axis == matmul->n && parameter.value >= kLeastPackedColumns)
        classes += parameter.value >= kLeastGatheredColumns ? "gathered " : "packed ";
      absl::StrAppend(&classes, parameter.value % kLeast == 0 ? "whole " : "any ");
    }
  }
  if (matmul) classes += RhsBytes(plan, *matmul) < kSmallRhsBytes ? "small" : "large";
  return classes;
}

// Kernels with equal keys differ at most in the values of their parameters. The number of slots is part of a key: with
// parameters as slots, a kernel over [N, 300] may have the text of one over [N, M].
std::string KeyOf(const KernelPlan& plan, const std::vector<Parameter>& parameters) {
  const std::vector<std::optional<DimSlot>> all(parameters.size(), DimSlot());
  return absl::StrCat(plan.dims.size(), " ", WithSlots(plan, parameters, all).Text(), ClassesOf(plan, parameters));
}

}  // namespace

void ShareKernels(LoweredProgram& program) {
  std::vector<std::vector<Parameter>> parameters;  // by kernel
  std::map<std::string, std::vector<int>> groups;
  std::vector<std::string> keys;
  for (int i = 0; i < static_cast<int>(program.kernels.size()); ++i) {
    ForgetDivisors(program.kernels[i]);
    const KernelPlan& plan = program.kernels[i];
    parameters.push_back(MayHaveSizeSlots(plan) ? Parameters(plan).Found() : std::vector<Parameter>());
    AddLiterals(plan, /*link=*/-1, parameters.back());
    keys.push_back(KeyOf(plan, parameters.back()));
    groups[keys.back()].push_back(i);
  }
  std::vector<KernelPlan> kernels;
  std::vector<int> number(program.kernels.size(), -1);               // of the new kernel
  std::vector<std::vector<int64_t>> values(program.kernels.size());  // of its added slots
  for (int i = 0; i < static_cast<int>(program.kernels.size()); ++i) {
    if (number[i] >= 0) continue;
    const std::vector<int>& group = groups.at(keys[i]);
    std::vector<std::optional<DimSlot>> facts(parameters[i].size());
    for (size_t p = 0; p < facts.size(); ++p) {
      const Parameter& first = parameters[i][p];
      DimSlot slot{.divisor = first.value, .max = first.value};
      bool differs = false;
      for (int member : group) {
        const int64_t value = parameters[member][p].value;
        slot.divisor = std::gcd(slot.divisor, value);
        slot.max = std::max(slot.max, value);
        differs |= value != first.value;
      }
      if (!differs) continue;
      facts[p] = first.is_literal ? DimSlot() : slot;
      for (int member : group) values[member].push_back(parameters[member][p].value);
    }
    for (int member : group) number[member] = static_cast<int>(kernels.size());
    kernels.push_back(WithSlots(std::move(program.kernels[i]), parameters[i], facts));
  }
  program.kernels = std::move(kernels);
  for (host::HostProgram& host : program.programs) {
    for (host::Launch& launch : host.launches) {
      for (int64_t value : values[launch.kernel]) launch.dims.push_back(DimExpr(value));
      launch.kernel = number[launch.kernel];
    }
  }
}

}  // namespace tailor::lower
