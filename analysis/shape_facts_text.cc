// ShapeFacts::ToText: the golden text form.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/shape_facts_state.h"

namespace tailor {
namespace {

absl::string_view RelationText(ShapeCheck::Relation relation) {
  switch (relation) {
    case ShapeCheck::Relation::kEqual:
      return "==";
    case ShapeCheck::Relation::kAtLeast:
      return ">=";
    case ShapeCheck::Relation::kAtMost:
      return "<=";
    case ShapeCheck::Relation::kMultipleOf:
      return "multiple of";
    case ShapeCheck::Relation::kBroadcasts:
      return "broadcasts with";
  }
  return "";
}

}  // namespace

// symbols
//   S in [0, 256] multiple_of 8 likely [8, 64] from "ids" dim 1
//   T == S from "mask" dim 1
// facts
//   S == T: dot %5: contracted dims
// checks
//   0: "mask" dim 1 == S | input "mask" dim 1 is {lhs}, but ...
std::string ShapeFacts::ToText() const {
  const State& s = *state_;
  auto name = [&](SymbolId id) { return s.symbols[id].name; };
  std::string text = "symbols\n";
  for (SymbolId id = 0; id < static_cast<SymbolId>(s.symbols.size()); ++id) {
    DimExpr symbol = DimExpr::Symbol(id), canonical = Canonical(symbol);
    absl::StrAppend(&text, "  ", name(id));
    if (canonical == symbol) {
      Range range = RangeOf(symbol);
      absl::StrAppend(&text, " in [", range.min, ", ", range.max, "]");
      if (int64_t divisor = LargestKnownDivisor(symbol); divisor > 1) absl::StrAppend(&text, " multiple_of ", divisor);
      std::vector<int64_t> likely = LikelyOf(id);
      if (!likely.empty()) absl::StrAppend(&text, " likely [", absl::StrJoin(likely, ", "), "]");
    } else {
      absl::StrAppend(&text, " == ", canonical.ToText(name));
    }
    for (const SymbolBinding& b : s.bindings) {
      if (b.symbol != id) continue;
      absl::StrAppend(&text, " from \"", s.inputs[b.input], "\" dim ", b.dim);
      DimExpr dim_size = DimExpr(b.coefficient) * symbol + b.offset;
      if (dim_size != symbol) absl::StrAppend(&text, " = ", dim_size.ToText(name));
    }
    text += "\n";
  }
  text += "facts\n";
  for (const Fact& fact : s.facts) absl::StrAppend(&text, "  ", fact.text, ": ", fact.source, "\n");
  text += "checks\n";
  for (size_t i = 0; i < s.checks.size(); ++i) {
    const ShapeCheck& c = s.checks[i];
    std::string lhs = c.input >= 0 ? absl::StrCat("\"", s.inputs[c.input], "\" dim ", c.dim) : c.lhs.ToText(name);
    absl::StrAppend(&text, "  ", i, ": ", lhs, " ", RelationText(c.relation), " ", c.rhs.ToText(name), " | ", c.message,
                    "\n");
  }
  return text;
}

}  // namespace tailor
