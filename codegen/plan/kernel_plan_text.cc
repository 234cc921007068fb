// The printed form of a KernelPlan. It is also a kernel's identity: plans with equal text are one kernel.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "codegen/plan/kernel_plan.h"

namespace tailor {
namespace {

std::string DimSizeText(const DimSize& dim_size) {
  return dim_size.is_constant() ? absl::StrCat(dim_size.constant) : absl::StrCat("d", dim_size.slot);
}

std::string LiteralText(DType dtype, uint64_t bits) {
  if (dtype == DType::kF32) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return absl::StrCat(value, "f", absl::Hex(bits, absl::kZeroPad8));
  }
  return absl::StrCat(NameOf(dtype), ":0x", absl::Hex(bits));
}

std::string AxesText(const std::vector<int>& axes) {
  return absl::StrJoin(axes, ", ", [](std::string* out, int axis) { absl::StrAppend(out, "a", axis); });
}

// Prints expressions inline, except that an expression with several uses gets its own line.
class TextWriter {
 public:
  explicit TextWriter(const KernelPlan& plan) : plan_(plan), uses_(plan.exprs.size()), names_(plan.exprs.size()) {
    for (const Stage& stage : plan.stages) {
      for (const Statement& s : stage.statements) {
        CountUses(s.value);
        for (ExprId index : s.indices) CountUses(index);
      }
    }
  }

  std::string Write() {
    WriteSignature();
    if (plan_.IsChain()) {
      for (const ChainLink& link : plan_.links()) WriteLink(link);
    }
    for (size_t i = 0; i < plan_.stages.size(); ++i) WriteStage(static_cast<int>(i));
    return out_;
  }

  // The text of `id`, after lines for the shared expressions below it.
  std::string Use(ExprId id) {
    if (!names_[id].empty()) return names_[id];
    const Expr& e = plan_.exprs[id];
    std::string text = Describe(e);
    const bool trivial = e.kind == ExprKind::kLiteral || e.kind == ExprKind::kAxis || e.kind == ExprKind::kDimSize ||
                         e.kind == ExprKind::kParameter;
    if (uses_[id] < 2 || trivial) return text;
    names_[id] = absl::StrCat("e", next_name_++);
    absl::StrAppend(&out_, "    ", names_[id], " = ", text, "\n");
    return names_[id];
  }

 private:
  void CountUses(ExprId id) {
    if (uses_[id]++ > 0) return;
    const Expr& e = plan_.exprs[id];
    for (ExprId arg : e.args) CountUses(arg);
    if (e.predicate >= 0) CountUses(e.predicate);
  }

  std::string Infix(const Expr& e, const char* sign) {
    std::string lhs = Use(e.args[0]);
    return absl::StrCat("(", lhs, sign, Use(e.args[1]), ")");
  }

  std::string UseAll(const std::vector<ExprId>& ids) {
    std::vector<std::string> texts;
    for (ExprId id : ids) texts.push_back(Use(id));
    return absl::StrJoin(texts, ", ");
  }

  std::string WithPredicate(const Expr& e, std::string text) {
    return e.predicate < 0 ? text : absl::StrCat(text, " if ", Use(e.predicate));
  }

  // "<f32>", or "" if the operands or the buffer imply the dtype.
  std::string TypeText(const Expr& e) const {
    const DType implied = e.kind == ExprKind::kLoad ? plan_.buffers[e.ref].dtype : ImpliedType(plan_, e);
    return e.dtype == implied ? "" : absl::StrCat("<", NameOf(e.dtype), ">");
  }

  std::string Describe(const Expr& e) {
    switch (e.kind) {
      case ExprKind::kLiteral:
        return LiteralText(e.dtype, e.bits);
      case ExprKind::kAxis:
        return absl::StrCat("a", e.ref);
      case ExprKind::kDimSize:
        return DimSizeText(e.dim_size);
      case ExprKind::kParameter:
        return absl::StrCat("param", e.dtype == DType::kF32 ? "" : absl::StrCat("<", NameOf(e.dtype), ">"), "(",
                            DimSizeText(e.dim_size), ")");
      case ExprKind::kIndexAdd:
        return Infix(e, " + ");
      case ExprKind::kIndexSub:
        return Infix(e, " - ");
      case ExprKind::kIndexMul:
        return Infix(e, " * ");
      case ExprKind::kIndexFloorDiv:
        return Infix(e, " / ");
      case ExprKind::kIndexMod:
        return Infix(e, " % ");
      case ExprKind::kIndexLess:
        return Infix(e, " < ");
      case ExprKind::kBcastIndex:
        return absl::StrCat("bcast(", Use(e.args[0]), ", ", DimSizeText(e.dim_size), ")");
      case ExprKind::kGatherIndex:
        return WithPredicate(
            e, absl::StrCat("gather(", Use(e.args[0]), ", ", DimSizeText(e.dim_size), ", fault ", e.ref, ")"));
      case ExprKind::kLoad:
        return WithPredicate(e, absl::StrCat("b", e.ref, "[", UseAll(e.args), "]", TypeText(e)));
      case ExprKind::kOp:
        return absl::StrCat(std::string(InfoOf(e.op).text), TypeText(e), "(", UseAll(e.args), ")");
    }
    return "?";
  }

  const char* Kind() const {
    constexpr const char* kKinds[] = {"kernel", "contraction", "attention", "chain"};
    return kKinds[plan_.form.index()];
  }

  // Writes the axes and stages that the form names.
  void WriteForm() {
    if (const auto* contraction = std::get_if<ContractionForm>(&plan_.form)) {
      absl::StrAppend(&out_, "  m a", contraction->m, ", n a", contraction->n, ", k a", contraction->k,
                      contraction->fill >= 0 ? absl::StrCat(", fill in stage ", contraction->fill) : "",
                      ", sum in stage ", contraction->sum,
                      contraction->dilation != 1 ? absl::StrCat(", dilation ", contraction->dilation) : "",
                      contraction->channels_last ? ", channels last" : "", "\n");
    } else if (const auto* attention = std::get_if<AttentionForm>(&plan_.form)) {
      absl::StrAppend(&out_, "  m a", attention->m, ", v a", attention->v, ", n a", attention->n, ", d a", attention->d,
                      "\n");
    }
  }

  void WriteLink(const ChainLink& link) {
    absl::StrAppend(&out_, "  link(b", absl::StrJoin(link.buffers, ", b"));
    if (!link.dims.empty()) absl::StrAppend(&out_, "; d", absl::StrJoin(link.dims, ", d"));
    absl::StrAppend(&out_, ") ", absl::StrReplaceAll(absl::StripSuffix(link.plan.Text(), "\n"), {{"\n", "\n    "}}),
                    "\n");
  }

  void WriteSignature() {
    std::vector<std::string> parts;
    for (size_t i = 0; i < plan_.axes.size(); ++i) {
      constexpr const char* kRoles[] = {"parallel", "tile", "contract", "ordered"};
      parts.push_back(absl::StrCat("a", i, ": ", DimSizeText(plan_.axes[i].dim_size), " ",
                                   kRoles[static_cast<int>(plan_.axes[i].role)]));
    }
    absl::StrAppend(&out_, Kind(), " axes [", absl::StrJoin(parts, ", "), "]\n");
    WriteForm();
    for (size_t i = 0; i < plan_.dims.size(); ++i) {
      const DimSlot& slot = plan_.dims[i];
      if (slot.divisor == 1 && slot.max == INT64_MAX && slot.likely.empty()) continue;
      absl::StrAppend(&out_, "  d", i, ": multiple of ", slot.divisor);
      if (slot.max < INT64_MAX) absl::StrAppend(&out_, ", at most ", slot.max);
      if (!slot.likely.empty()) absl::StrAppend(&out_, ", likely ", absl::StrJoin(slot.likely, " or "));
      out_ += "\n";
    }
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      constexpr const char* kKinds[] = {"in", "out", "row", "local", "block", "staging"};
      constexpr const char* kLayouts[] = {"", " panels16", " word_panels16", " winograd_panels16"};
      const Buffer& buffer = plan_.buffers[i];
      std::vector<std::string> dims;
      for (const DimSize& dim_size : buffer.dims) dims.push_back(DimSizeText(dim_size));
      absl::StrAppend(&out_, "  ", kKinds[static_cast<int>(buffer.kind)], " b", i, ": ", NameOf(buffer.dtype), "[",
                      absl::StrJoin(dims, ", "), "]", kLayouts[static_cast<int>(buffer.layout)], "\n");
    }
    if (plan_.fault_count > 0) absl::StrAppend(&out_, "  faults: ", plan_.fault_count, "\n");
  }

  void WriteStage(int index) {
    const Stage& stage = plan_.stages[index];
    absl::StrAppend(&out_, "  stage over [", AxesText(stage.axes), "]\n");
    for (const Statement& s : stage.statements) {
      std::string value = Use(s.value);
      std::string indices = UseAll(s.indices);
      std::string reduction;
      if (!s.reduce_axes.empty()) {
        reduction =
            absl::StrCat(!IsScan(plan_, s) ? "reduce "
                         : s.exclusive     ? "exclusive scan "
                                           : "scan ",
                         std::string(InfoOf(s.combiner).text),
                         s.reduce_axes == stage.axes ? "" : absl::StrCat(" over [", AxesText(s.reduce_axes), "]"),
                         " in ", NameOf(s.accumulate), " ");
      }
      absl::StrAppend(&out_, "    b", s.buffer, "[", indices, "] = ", reduction, value, "\n");
    }
  }

  const KernelPlan& plan_;
  std::vector<int> uses_;
  std::vector<std::string> names_;
  int next_name_ = 0;
  std::string out_;
};

}  // namespace

std::string KernelPlan::ExprText(ExprId id) const { return TextWriter(*this).Use(id); }

std::string KernelPlan::Text() const { return TextWriter(*this).Write(); }

}  // namespace tailor
