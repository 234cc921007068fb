#include "codegen/plan/parse_kernel_plan.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "codegen/plan/text_reader.h"
#include "graph/dtype.h"
#include "graph/element.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

class PlanParser {
 public:
  explicit PlanParser(TextReader& reader) : reader_(reader) {}

  absl::StatusOr<KernelPlan> Parse() {
    TAILOR_RETURN_IF_ERROR(ParseSignature());
    TAILOR_RETURN_IF_ERROR(ParseForm());
    while (reader_.Has("d") && absl::ascii_isdigit(reader_.Next(1))) TAILOR_RETURN_IF_ERROR(ParseSlot());
    TAILOR_RETURN_IF_ERROR(ParseBuffers());
    if (reader_.Has("faults: ")) {
      TAILOR_ASSIGN_OR_RETURN(plan_.fault_count, reader_.TakeNumbered("faults: "));
    }
    // Only a chain has links, so "link(" after the plan of a link belongs to the chain.
    while (plan_.IsChain() && reader_.Has("link(")) TAILOR_RETURN_IF_ERROR(ParseLink());
    while (reader_.TakeIf("stage over ")) TAILOR_RETURN_IF_ERROR(ParseStage());
    for (size_t i = 0; i < plan_.dims.size(); ++i) plan_.dims[i].value = DimExpr::Symbol(static_cast<SymbolId>(i));
    return std::move(plan_);
  }

 private:
  DimSlot& Slot(int slot) {
    if (static_cast<size_t>(slot) >= plan_.dims.size()) plan_.dims.resize(slot + 1);
    return plan_.dims[slot];
  }

  absl::StatusOr<DimSize> ParseDimSize() {
    if (reader_.Has("d")) {
      TAILOR_ASSIGN_OR_RETURN(const int slot, reader_.TakeNumbered("d"));
      Slot(slot);
      return DimSize{.slot = slot};
    }
    TAILOR_ASSIGN_OR_RETURN(const int64_t constant, reader_.TakeInteger());
    return DimSize{.constant = constant};
  }

  // A list: `open`, items read by `parse` with commas between them, `close`.
  template <typename Parse>
  absl::Status ParseList(absl::string_view open, absl::string_view close, Parse parse) {
    TAILOR_RETURN_IF_ERROR(reader_.Expect(open));
    if (reader_.TakeIf(close)) return absl::OkStatus();
    do {
      TAILOR_RETURN_IF_ERROR(parse());
    } while (reader_.TakeIf(","));
    return reader_.Expect(close);
  }

  absl::StatusOr<DType> ParseType() {
    const absl::string_view word = reader_.TakeWord();
    const DType dtype = DTypeOf(word);
    if (!IsValid(dtype)) return reader_.Error(absl::StrCat("no dtype is '", word, "'"));
    return dtype;
  }

  absl::Status ParseSignature() {
    const absl::string_view kind = reader_.TakeWord();
    if (kind == "contraction") {
      plan_.form = ContractionForm();
    } else if (kind == "attention") {
      plan_.form = AttentionForm();
    } else if (kind == "chain") {
      plan_.form = ChainForm();
    } else if (kind != "kernel") {
      return reader_.Error("expected a kind of kernel");
    }
    TAILOR_RETURN_IF_ERROR(reader_.Expect("axes"));
    return ParseList("[", "]", [&]() -> absl::Status {
      TAILOR_RETURN_IF_ERROR(reader_.Expect(absl::StrCat("a", plan_.axes.size(), ":")));
      Axis axis;
      TAILOR_ASSIGN_OR_RETURN(axis.dim_size, ParseDimSize());
      constexpr absl::string_view kRoles[] = {"parallel", "tile", "contract", "ordered"};
      const auto* role = std::find(std::begin(kRoles), std::end(kRoles), reader_.TakeWord());
      if (role == std::end(kRoles)) return reader_.Error("expected an axis' role");
      axis.role = static_cast<AxisRole>(role - kRoles);
      plan_.axes.push_back(axis);
      return absl::OkStatus();
    });
  }

  absl::Status ParseNumbers(std::initializer_list<std::pair<absl::string_view, int*>> fields) {
    for (const auto& [name, field] : fields) {
      TAILOR_ASSIGN_OR_RETURN(*field, reader_.TakeNumbered(name));
    }
    return absl::OkStatus();
  }

  absl::Status ParseForm() {
    if (auto* contraction = std::get_if<ContractionForm>(&plan_.form)) {
      TAILOR_RETURN_IF_ERROR(
          ParseNumbers({{"m a", &contraction->m}, {", n a", &contraction->n}, {", k a", &contraction->k}}));
      if (reader_.Has(", fill in stage ")) {
        TAILOR_RETURN_IF_ERROR(ParseNumbers({{", fill in stage ", &contraction->fill}}));
      }
      TAILOR_RETURN_IF_ERROR(ParseNumbers({{", sum in stage ", &contraction->sum}}));
      if (reader_.Has(", dilation ")) {
        TAILOR_RETURN_IF_ERROR(ParseNumbers({{", dilation ", &contraction->dilation}}));
      }
      contraction->channels_last = reader_.TakeIf(", channels last");
      return absl::OkStatus();
    }
    if (auto* attention = std::get_if<AttentionForm>(&plan_.form)) {
      return ParseNumbers(
          {{"m a", &attention->m}, {", v a", &attention->v}, {", n a", &attention->n}, {", d a", &attention->d}});
    }
    return absl::OkStatus();
  }

  absl::Status ParseSlot() {
    TAILOR_ASSIGN_OR_RETURN(const int slot, reader_.TakeNumbered("d"));
    TAILOR_RETURN_IF_ERROR(reader_.Expect(": multiple of "));
    TAILOR_ASSIGN_OR_RETURN(Slot(slot).divisor, reader_.TakeInteger());
    if (reader_.TakeIf(", at most ")) {
      TAILOR_ASSIGN_OR_RETURN(Slot(slot).max, reader_.TakeInteger());
    }
    for (bool more = reader_.TakeIf(", likely "); more; more = reader_.TakeIf("or ")) {
      TAILOR_ASSIGN_OR_RETURN(const int64_t value, reader_.TakeInteger());
      Slot(slot).likely.push_back(value);
    }
    return absl::OkStatus();
  }

  absl::Status ParseBuffers() {
    constexpr absl::string_view kKinds[] = {"in ", "out ", "row ", "local ", "block ", "staging "};
    constexpr absl::string_view kLayouts[] = {"panels16", "word_panels16", "winograd_panels16"};
    while (true) {
      const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                      [&](absl::string_view name) { return reader_.TakeIf(name); });
      if (kind == std::end(kKinds)) return absl::OkStatus();
      Buffer buffer{.kind = static_cast<BufferKind>(kind - kKinds)};
      TAILOR_RETURN_IF_ERROR(reader_.Expect(absl::StrCat("b", plan_.buffers.size(), ":")));
      TAILOR_ASSIGN_OR_RETURN(buffer.dtype, ParseType());
      TAILOR_RETURN_IF_ERROR(ParseList("[", "]", [&]() -> absl::Status {
        TAILOR_ASSIGN_OR_RETURN(buffer.dims.emplace_back(), ParseDimSize());
        return absl::OkStatus();
      }));
      for (size_t i = 0; i < std::size(kLayouts); ++i) {
        if (reader_.TakeIf(kLayouts[i])) buffer.layout = static_cast<ConstantLayout>(i + 1);
      }
      plan_.buffers.push_back(std::move(buffer));
    }
  }

  absl::Status ParseLink() {
    ChainLink link;
    TAILOR_RETURN_IF_ERROR(reader_.Expect("link("));
    do {
      TAILOR_ASSIGN_OR_RETURN(link.buffers.emplace_back(), reader_.TakeNumbered("b"));
    } while (reader_.TakeIf(","));
    if (reader_.TakeIf(";")) {
      do {
        TAILOR_ASSIGN_OR_RETURN(link.dims.emplace_back(), reader_.TakeNumbered("d"));
        Slot(link.dims.back());
      } while (reader_.TakeIf(","));
    }
    TAILOR_RETURN_IF_ERROR(reader_.Expect(")"));
    TAILOR_ASSIGN_OR_RETURN(link.plan, PlanParser(reader_).Parse());
    // A slot of the link without uses appears only in its list of slots.
    while (link.plan.dims.size() < link.dims.size()) {
      link.plan.dims.push_back({.value = DimExpr::Symbol(static_cast<SymbolId>(link.plan.dims.size()))});
    }
    std::get<ChainForm>(plan_.form).links.push_back(std::move(link));
    return absl::OkStatus();
  }

  absl::Status ParseAxes(std::vector<int>& axes) {
    return ParseList("[", "]", [&]() -> absl::Status {
      TAILOR_ASSIGN_OR_RETURN(axes.emplace_back(), reader_.TakeNumbered("a"));
      if (static_cast<size_t>(axes.back()) >= plan_.axes.size()) return reader_.Error("there is no such axis");
      return absl::OkStatus();
    });
  }

  absl::Status ParseStage() {
    Stage stage;
    TAILOR_RETURN_IF_ERROR(ParseAxes(stage.axes));
    while (absl::ascii_isdigit((reader_.SkipSpace(), reader_.Next(1)))) {
      if (reader_.Has("e")) {
        TAILOR_ASSIGN_OR_RETURN(const int name, reader_.TakeNumbered("e"));
        TAILOR_RETURN_IF_ERROR(reader_.Expect("="));
        if (static_cast<size_t>(name) != named_.size()) return reader_.Error("names count from e0");
        TAILOR_ASSIGN_OR_RETURN(const ExprId value, ParseExpr());
        named_.push_back(value);
      } else {
        TAILOR_RETURN_IF_ERROR(ParseStatement(stage));
      }
    }
    plan_.stages.push_back(std::move(stage));
    return absl::OkStatus();
  }

  absl::Status ParseStatement(Stage& stage) {
    Statement statement;
    TAILOR_ASSIGN_OR_RETURN(statement.buffer, TakeBuffer());
    TAILOR_RETURN_IF_ERROR(ParseIndices("[", "]", statement.indices));
    TAILOR_RETURN_IF_ERROR(reader_.Expect("="));
    const bool exclusive = reader_.TakeIf("exclusive ");
    if (reader_.TakeIf("reduce ") || reader_.TakeIf("scan ")) {
      const OpInfo* combiner = FindOp(reader_.TakeWord());
      if (combiner == nullptr) return reader_.Error("expected a combiner");
      statement.combiner = combiner->kind;
      statement.exclusive = exclusive;
      statement.reduce_axes = stage.axes;
      if (reader_.TakeIf("over ")) {
        statement.reduce_axes.clear();
        TAILOR_RETURN_IF_ERROR(ParseAxes(statement.reduce_axes));
      }
      TAILOR_RETURN_IF_ERROR(reader_.Expect("in "));
      TAILOR_ASSIGN_OR_RETURN(statement.accumulate, ParseType());
    }
    TAILOR_ASSIGN_OR_RETURN(statement.value, ParseExpr());
    stage.statements.push_back(std::move(statement));
    return absl::OkStatus();
  }

  absl::StatusOr<int> TakeBuffer() {
    TAILOR_ASSIGN_OR_RETURN(const int buffer, reader_.TakeNumbered("b"));
    if (static_cast<size_t>(buffer) >= plan_.buffers.size()) return reader_.Error("there is no such buffer");
    return buffer;
  }

  absl::Status ParseIndices(absl::string_view open, absl::string_view close, std::vector<ExprId>& indices) {
    return ParseList(open, close, [&]() -> absl::Status {
      TAILOR_ASSIGN_OR_RETURN(indices.emplace_back(), ParseExpr());
      return absl::OkStatus();
    });
  }

  absl::StatusOr<ExprId> ParseExpr() {
    if (++depth_ > kMostNested) return reader_.Error("expressions are nested too deeply");
    TAILOR_ASSIGN_OR_RETURN(const ExprId value, ParsePrimary());
    --depth_;
    return value;
  }

  absl::StatusOr<ExprId> ParsePrimary() {
    reader_.SkipSpace();
    if (reader_.Has("(")) return ParseInfix();
    if (const std::optional<Expr> literal = TakeFloat()) return Raw(*literal);
    const char first = reader_.Next();
    if (absl::ascii_isdigit(first) || first == '-') {
      TAILOR_ASSIGN_OR_RETURN(const DimSize dim_size, ParseDimSize());
      return Raw({.kind = ExprKind::kDimSize, .dim_size = dim_size});
    }
    if (absl::ascii_isdigit(reader_.Next(1))) {
      switch (first) {
        case 'a': {
          TAILOR_ASSIGN_OR_RETURN(const int axis, reader_.TakeNumbered("a"));
          if (static_cast<size_t>(axis) >= plan_.axes.size()) return reader_.Error("there is no such axis");
          return Raw({.kind = ExprKind::kAxis, .ref = axis});
        }
        case 'b':
          return ParseLoad();
        case 'd': {
          TAILOR_ASSIGN_OR_RETURN(const DimSize dim_size, ParseDimSize());
          return Raw({.kind = ExprKind::kDimSize, .dim_size = dim_size});
        }
        case 'e': {
          TAILOR_ASSIGN_OR_RETURN(const int name, reader_.TakeNumbered("e"));
          if (static_cast<size_t>(name) >= named_.size()) return reader_.Error("there is no such expression");
          return named_[name];
        }
        default:
          break;
      }
    }
    return ParseCall();
  }

  absl::StatusOr<ExprId> ParseInfix() {
    constexpr std::pair<absl::string_view, ExprKind> kSigns[] = {
        {"+", ExprKind::kIndexAdd},      {"-", ExprKind::kIndexSub}, {"*", ExprKind::kIndexMul},
        {"/", ExprKind::kIndexFloorDiv}, {"%", ExprKind::kIndexMod}, {"<", ExprKind::kIndexLess}};
    TAILOR_RETURN_IF_ERROR(reader_.Expect("("));
    TAILOR_ASSIGN_OR_RETURN(const ExprId lhs, ParseExpr());
    const auto* sign = std::find_if(std::begin(kSigns), std::end(kSigns),
                                    [&](const auto& each) { return reader_.TakeIf(each.first); });
    if (sign == std::end(kSigns)) return reader_.Error("expected an operator on indices");
    TAILOR_ASSIGN_OR_RETURN(const ExprId rhs, ParseExpr());
    TAILOR_RETURN_IF_ERROR(reader_.Expect(")"));
    const DType dtype = sign->second == ExprKind::kIndexLess ? DType::kBool : DType::kI64;
    return Raw({.kind = sign->second, .dtype = dtype, .args = {lhs, rhs}});
  }

  // "1.5f3fc00000": a readable number and the f32 bits in eight hex digits.
  std::optional<Expr> TakeFloat() {
    size_t length = reader_.Next() == '-' ? 1 : 0;
    const auto digits = [&] {
      const size_t start = length;
      while (absl::ascii_isdigit(reader_.Next(length))) ++length;
      return length > start;
    };
    const absl::string_view number = reader_.rest().substr(length);
    if (absl::StartsWith(number, "inf") || absl::StartsWith(number, "nan")) {
      length += 3;
    } else {
      if (!digits()) return std::nullopt;
      if (reader_.Next(length) == '.') ++length, digits();
      if (reader_.Next(length) == 'e') {
        ++length;
        if (reader_.Next(length) == '+' || reader_.Next(length) == '-') ++length;
        digits();
      }
    }
    uint32_t bits;
    const absl::string_view after = reader_.rest().substr(length);
    if (after.size() < 9 || after[0] != 'f' || !absl::SimpleHexAtoi(after.substr(1, 8), &bits)) return std::nullopt;
    reader_.Skip(length + 9);
    return Expr{.kind = ExprKind::kLiteral, .dtype = DType::kF32, .bits = bits};
  }

  absl::StatusOr<ExprId> ParseLoad() {
    Expr load{.kind = ExprKind::kLoad};
    TAILOR_ASSIGN_OR_RETURN(load.ref, TakeBuffer());
    TAILOR_RETURN_IF_ERROR(ParseIndices("[", "]", load.args));
    load.dtype = plan_.buffers[load.ref].dtype;
    if (reader_.TakeIf("<")) {
      TAILOR_ASSIGN_OR_RETURN(load.dtype, ParseType());
      TAILOR_RETURN_IF_ERROR(reader_.Expect(">"));
    }
    TAILOR_RETURN_IF_ERROR(ParsePredicate(load));
    return Raw(std::move(load));
  }

  absl::Status ParsePredicate(Expr& of) {
    if (!reader_.TakeIf("if ")) return absl::OkStatus();
    TAILOR_ASSIGN_OR_RETURN(of.predicate, ParseExpr());
    return absl::OkStatus();
  }

  // A literal of a dtype other than f32, a gather or broadcast index, a parameter, or an op.
  absl::StatusOr<ExprId> ParseCall() {
    const absl::string_view word = reader_.TakeWord();
    if (reader_.TakeIf(":0x")) return ParseLiteral(word);
    if (word == "bcast" || word == "gather") return ParseIndex(word == "bcast");
    if (word == "param") return ParseParameter();
    const OpInfo* op = FindOp(word);
    if (op == nullptr) return reader_.Error(absl::StrCat("no op is '", word, "'"));
    Expr e{.kind = ExprKind::kOp, .op = op->kind};
    DType said = DType::kInvalid;
    if (reader_.TakeIf("<")) {
      TAILOR_ASSIGN_OR_RETURN(said, ParseType());
      TAILOR_RETURN_IF_ERROR(reader_.Expect(">"));
    }
    TAILOR_RETURN_IF_ERROR(ParseIndices("(", ")", e.args));
    e.dtype = said != DType::kInvalid ? said : ImpliedType(plan_, e);
    if (!IsValid(e.dtype)) return reader_.Error(absl::StrCat(word, " does not say its type"));
    return Raw(std::move(e));
  }

  absl::StatusOr<ExprId> ParseLiteral(absl::string_view type) {
    Expr literal{.kind = ExprKind::kLiteral, .dtype = DTypeOf(type)};
    if (!IsValid(literal.dtype)) return reader_.Error(absl::StrCat("no dtype is '", type, "'"));
    if (!absl::SimpleHexAtoi(reader_.TakeWord(), &literal.bits)) return reader_.Error("expected hexadecimal digits");
    return Raw(std::move(literal));
  }

  absl::StatusOr<ExprId> ParseParameter() {
    Expr parameter{.kind = ExprKind::kParameter, .dtype = DType::kF32};
    if (reader_.TakeIf("<")) {
      TAILOR_ASSIGN_OR_RETURN(parameter.dtype, ParseType());
      TAILOR_RETURN_IF_ERROR(reader_.Expect(">"));
    }
    TAILOR_RETURN_IF_ERROR(reader_.Expect("("));
    TAILOR_ASSIGN_OR_RETURN(parameter.dim_size, ParseDimSize());
    TAILOR_RETURN_IF_ERROR(reader_.Expect(")"));
    return Raw(std::move(parameter));
  }

  absl::StatusOr<ExprId> ParseIndex(bool broadcast) {
    Expr e{.kind = broadcast ? ExprKind::kBcastIndex : ExprKind::kGatherIndex};
    TAILOR_RETURN_IF_ERROR(reader_.Expect("("));
    TAILOR_ASSIGN_OR_RETURN(e.args.emplace_back(), ParseExpr());
    TAILOR_RETURN_IF_ERROR(reader_.Expect(","));
    TAILOR_ASSIGN_OR_RETURN(e.dim_size, ParseDimSize());
    if (!broadcast) {
      TAILOR_RETURN_IF_ERROR(reader_.Expect(","));
      TAILOR_ASSIGN_OR_RETURN(e.ref, reader_.TakeNumbered("fault "));
    }
    TAILOR_RETURN_IF_ERROR(reader_.Expect(")"));
    if (!broadcast) TAILOR_RETURN_IF_ERROR(ParsePredicate(e));
    return Raw(std::move(e));
  }

  // Printed expressions are already folded: Add only deduplicates.
  absl::StatusOr<ExprId> Raw(Expr expr) { return plan_.Add(std::move(expr)); }

  static constexpr int kMostNested = 1000;

  TextReader& reader_;
  KernelPlan plan_;
  std::vector<ExprId> named_;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<KernelPlan> ParseKernelPlan(absl::string_view text) {
  TextReader reader(text);
  TAILOR_ASSIGN_OR_RETURN(KernelPlan plan, PlanParser(reader).Parse());
  if (!reader.AtEnd()) return reader.Error("expected a buffer, a link, a stage or the end");
  return plan;
}

}  // namespace tailor
