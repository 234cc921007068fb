#include "tools/gen_bindings/op_signature.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace tailor {
namespace {

const char* ShapeText(ShapeRule rule) {
  switch (rule) {
    case ShapeRule::kSameAs0:
    case ShapeRule::kAlongAxis:
      return "the result has x's.";
    case ShapeRule::kBroadcast:
      return "operands broadcast as in numpy. Dim sizes that are not provably equal or 1 are checked by every run.";
    case ShapeRule::kReduce:
      return "x's without `axes`, or 1 there with keep_dims. Negative axes count from the end.";
    case ShapeRule::kBroadcastTo:
      return "the result has `shape`; x's dims, aligned to its end, equal those of `shape` or are 1.";
    case ShapeRule::kReshape:
      return "the result has `shape`. Where the element counts are not provably equal, every run checks them.";
    case ShapeRule::kTranspose:
      return "dim i of the result is dim permutation[i] of x.";
    case ShapeRule::kSlice:
      return "the result has `sizes`; starts, sizes and steps have one entry for each dim of x. Every run "
             "checks the bounds that are not provable.";
    case ShapeRule::kConcat:
      return "equal but for `axis`, whose dim sizes add up.";
    case ShapeRule::kGather:
      return "x's, with dim `axis` replaced by all dims of indices.";
    case ShapeRule::kScatter:
      return "indices [I..., K] with a constant K, updates [I..., x's dims after the first K]; the result has x's. "
             "Every run checks the dim sizes that are not provably equal, and that updates have a place.";
    case ShapeRule::kPad:
      return "value has rank 0. A dim of size D becomes low + max((D - 1) * (interior + 1) + 1, 0) + high; every "
             "run checks that it is not negative.";
    case ShapeRule::kWindow:
      return "x's, a dim D of `axes` replaced by max(floordiv(D - (size - 1) * dilation - 1, stride) + 1, 0), followed "
             "by `sizes`.";
    case ShapeRule::kFromShape:
      return "the result has `shape`.";
    case ShapeRule::kContract:
      return "lhs [B..., M, K], rhs [B..., K, N] -> [B..., M, N]; batch dims broadcast. Where the two K are not "
             "provably equal, every run checks them.";
    case ShapeRule::kBind:
      return "count and the result have rank 0. `extent` is one symbol that no input has: from here on it has count's "
             "value, which every run checks against the symbol's range.";
    case ShapeRule::kInput:
    case ShapeRule::kRegion:
    case ShapeRule::kStated:
      break;
  }
  return "";
}

const char* TypeText(DTypeRule rule) {
  switch (rule) {
    case DTypeRule::kAttribute:
      return "the result has `dtype`.";
    case DTypeRule::kAny:
      return "any; all operands and the result alike.";
    case DTypeRule::kNumeric:
      return "any but bool; all operands and the result alike.";
    case DTypeRule::kScan:
      return "any but bool; x and the result alike. f16 and bf16 accumulate in f32, integers wrap.";
    case DTypeRule::kFloat:
      return "f16, bf16, f32 or f64; all operands and the result alike.";
    case DTypeRule::kCompare:
      return "any, the operands alike; the result is bool.";
    case DTypeRule::kLogic:
      return "bool or an integer; all operands and the result alike.";
    case DTypeRule::kInteger:
      return "an integer; all operands and the result alike.";
    case DTypeRule::kSelect:
      return "condition is bool; on_true, on_false and the result are any, alike.";
    case DTypeRule::kGather:
      return "x and the result are any, alike; indices are i32 or i64.";
    case DTypeRule::kScatter:
      return "x, updates and the result are any, alike, bool only with set; indices are i32 or i64.";
    case DTypeRule::kBitcast:
      return "any; the result has `dtype`, which is as wide.";
    case DTypeRule::kDot:
      return "f16, bf16, f32, f64, i16, i32, i64, u32 or u64; all operands and the result alike, but sums of i16 are "
             "i32; or lhs u8 and rhs i8, with sums in i32. f16 and bf16 accumulate in f32, integers wrap.";
    case DTypeRule::kDimSize:
      return "i64; the result alike.";
    case DTypeRule::kRegion:
    case DTypeRule::kStated:
      break;
  }
  return "";
}

// What the shape rule refuses, beyond operands of the wrong type.
const char* ShapeErrors(ShapeRule rule) {
  switch (rule) {
    case ShapeRule::kBroadcast:
      return "constant dim sizes that do not broadcast";
    case ShapeRule::kReduce:
      return "an axis that x does not have or that is repeated";
    case ShapeRule::kBroadcastTo:
      return "a shape that x does not broadcast to";
    case ShapeRule::kReshape:
      return "constant element counts that differ";
    case ShapeRule::kTranspose:
      return "what is no permutation of x's dims";
    case ShapeRule::kSlice:
      return "wrong numbers of entries, a step of 0 or constant bounds outside x";
    case ShapeRule::kConcat:
      return "unequal ranks, an axis out of range or constant dim sizes that differ elsewhere";
    case ShapeRule::kAlongAxis:
    case ShapeRule::kGather:
      return "an axis that x does not have";
    case ShapeRule::kScatter:
      return "indices whose last dim size is no constant up to x's rank, or updates of another shape";
    case ShapeRule::kPad:
      return "wrong numbers of entries, a value of other rank than 0, a negative interior or a negative constant dim "
             "size";
    case ShapeRule::kWindow:
      return "wrong numbers of entries, axes out of range or not ascending, strides or dilations below 1 or a negative "
             "size";
    case ShapeRule::kFromShape:
      return "an axis that `shape` does not have";
    case ShapeRule::kContract:
      return "rank < 2, constant K that differ or batch dim sizes that do not broadcast";
    default:
      return "";
  }
}

std::string ErrorText(const OpInfo& op) {
  std::vector<absl::string_view> causes;
  if (!op.operands.empty()) causes.push_back("a null or foreign value");
  for (const AttributeInfo& attribute : op.attributes) {
    if (attribute.type != AttributeType::kDims) continue;
    causes.push_back("a null or foreign dim");
    break;
  }
  const bool converts = op.dtype == DTypeRule::kAttribute || op.dtype == DTypeRule::kBitcast;
  if (!op.operands.empty() && !converts) causes.push_back("operands of other types");
  if (op.dtype == DTypeRule::kAttribute) causes.push_back("an unknown dtype");
  if (op.dtype == DTypeRule::kBitcast) causes.push_back("a dtype that is unknown or not as wide");
  if (op.dtype == DTypeRule::kScan || op.dtype == DTypeRule::kScatter) causes.push_back("an unknown combiner");
  if (absl::string_view shape = ShapeErrors(op.shape); !shape.empty()) causes.push_back(shape);
  absl::string_view last = causes.back();
  causes.pop_back();
  return causes.empty() ? std::string(last) : absl::StrCat(absl::StrJoin(causes, ", "), ", or ", last);
}

}  // namespace

std::vector<const OpInfo*> GeneratedOps() {
  std::vector<const OpInfo*> ops;
  for (const OpInfo& op : AllOps()) {
    const bool own_function =
        op.shape == ShapeRule::kInput || op.shape == ShapeRule::kRegion || op.shape == ShapeRule::kStated;
    if (!own_function) ops.push_back(&op);
  }
  return ops;
}

std::vector<AttributeInfo> RequiredAttributes(const OpInfo& op) {
  std::vector<AttributeInfo> required;
  for (const AttributeInfo& a : op.attributes) {
    if (!a.default_text) required.push_back(a);
  }
  return required;
}

std::vector<AttributeInfo> OptionalAttributes(const OpInfo& op) {
  std::vector<AttributeInfo> optional;
  for (const AttributeInfo& a : op.attributes) {
    if (a.default_text) optional.push_back(a);
  }
  return optional;
}

std::string FunctionName(const OpInfo& op) { return absl::StrCat("tailor_graph_", op.text); }
std::string OptionsName(const OpInfo& op) { return absl::StrCat("tailor_", op.text, "_options"); }

OpText TextOf(const OpInfo& op) {
  std::vector<std::string> operands;
  for (const OperandInfo& o : op.operands) operands.push_back(absl::StrCat(o.name, o.variadic ? "..." : ""));
  OpText text;
  for (const AttributeInfo& a : RequiredAttributes(op)) operands.push_back(std::string(a.name));
  text.call = absl::StrCat(op.text, "(", absl::StrJoin(operands, ", "), ")");
  text.formula = op.formula.empty() ? text.call : std::string(op.formula);
  text.shapes = ShapeText(op.shape);
  text.types = TypeText(op.dtype);
  text.errors = ErrorText(op);
  return text;
}

std::string AttributeText(const AttributeInfo& attribute) {
  static const auto* texts = new std::map<absl::string_view, absl::string_view>{
      {"keep_dims", "1 keeps the reduced dims, with dim size 1"},
      {"transpose_lhs", "1 swaps the last two dims of lhs first"},
      {"transpose_rhs", "1 swaps the last two dims of rhs first"},
      {"interior", "one for each dim, not negative; empty means all 0"},
      {"strides", "one for each of `axes`, at least 1; empty means all 1"},
      {"dilations", "one for each of `axes`, at least 1; empty means all 1"},
      {"combiner", "add, mul, max or min; scatter takes set as well"},
      {"reverse", "1 starts at the end of the axis"},
      {"exclusive", "1 leaves each element out of its own result"},
      {"steps", "one for each dim, not 0; empty means all 1"},
      {"axis", "a negative one counts from the end"},
  };
  auto it = texts->find(attribute.name);
  return it == texts->end() ? "" : std::string(it->second);
}

std::string Wrapped(absl::string_view text, absl::string_view first, absl::string_view rest, size_t width) {
  std::string out, line(first);
  bool empty = true;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!empty && line.size() + 1 + word.size() > width) {
      absl::StrAppend(&out, line, "\n");
      line = std::string(rest);
      empty = true;
    }
    absl::StrAppend(&line, empty ? "" : " ", word);
    empty = false;
  }
  absl::StrAppend(&out, line, "\n");
  std::replace(out.begin(), out.end(), kNoBreak, ' ');
  return out;
}

std::string WrappedParameters(absl::string_view head, const std::vector<std::string>& parameters,
                              absl::string_view tail) {
  std::string text =
      absl::StrReplaceAll(absl::StrJoin(parameters, ","), {{" ", std::string(1, kNoBreak)}, {",", ", "}});
  return Wrapped(absl::StrCat(text, absl::StrReplaceAll(tail, {{" ", std::string(1, kNoBreak)}})), head,
                 std::string(head.size(), ' '));
}

}  // namespace tailor
