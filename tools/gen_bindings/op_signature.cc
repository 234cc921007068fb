#include "tools/gen_bindings/op_signature.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace tailor {
namespace {

// Formulas of the ops whose call does not say it all. An op without a row is documented by its call.
const std::map<OpKind, absl::string_view>& Formulas() {
  static const auto* formulas = new std::map<OpKind, absl::string_view>{
      {OpKind::kNeg, "-x"},
      {OpKind::kAbs, "|x|"},
      {OpKind::kExp, "e^x"},
      {OpKind::kLog, "the natural logarithm of x; NaN below 0, -inf at 0"},
      {OpKind::kErf, "2/sqrt(pi) times the integral of e^(-t^2) for t from 0 to x"},
      {OpKind::kSqrt, "the square root of x; NaN below 0"},
      {OpKind::kRsqrt, "1 / sqrt(x)"},
      {OpKind::kSigmoid, "1 / (1 + e^-x)"},
      {OpKind::kNot, "logical not of a bool, all bits flipped of an integer"},
      {OpKind::kCast,
       "x as `dtype`; float to integer truncates and saturates, NaN gives 0; integers wrap; any number but 0 is true"},
      {OpKind::kFloor, "the greatest whole number that is at most x"},
      {OpKind::kCeil, "the least whole number that is at least x"},
      {OpKind::kRound, "the whole number nearest to x, of two the even one"},
      {OpKind::kTrunc, "x without its fraction"},
      {OpKind::kSin, "the sine of x, as accurate at large x as at small ones; NaN at infinities"},
      {OpKind::kCos, "the cosine of x, as accurate at large x as at small ones; NaN at infinities"},
      {OpKind::kTan, "the tangent of x, as accurate at large x as at small ones; NaN at infinities"},
      {OpKind::kAsin, "the angle in [-pi/2, pi/2] whose sine is x; NaN beyond 1 and -1"},
      {OpKind::kAcos, "the angle in [0, pi] whose cosine is x; NaN beyond 1 and -1"},
      {OpKind::kAtan, "the angle in [-pi/2, pi/2] whose tangent is x"},
      {OpKind::kMod,
       "the remainder of lhs / rhs with the sign of rhs, as in Python; of integers x mod 0 is 0, of floats NaN"},
      {OpKind::kRem,
       "the remainder of lhs / rhs with the sign of lhs, as fmod in C; of integers x rem 0 is 0, of floats NaN"},
      {OpKind::kShiftLeft, "lhs shifted left by rhs bits, a count that is taken modulo the width"},
      {OpKind::kShiftRight,
       "lhs shifted right by rhs bits, a count that is taken modulo the width; copies of the sign bit enter signed "
       "numbers, zeros unsigned ones"},
      {OpKind::kReduceProd, "the product of x over `axes`; 1 over no elements"},
      {OpKind::kPad,
       "x, each dim between `low` elements before and `high` elements after it and with `interior` of them between "
       "its neighbours, all equal to value; negative low and high crop. An empty dim has no neighbours"},
      {OpKind::kWindow,
       "the windows of x, `sizes` wide, `strides` apart, with `dilations` from one element to the next: "
       "out[..., o, ..., k] = x[..., o * stride + k * dilation, ...]"},
      {OpKind::kAdd, "lhs + rhs; integers wrap"},
      {OpKind::kSub, "lhs - rhs; integers wrap"},
      {OpKind::kMul, "lhs * rhs; integers wrap"},
      {OpKind::kDiv, "lhs / rhs; integers truncate, x / 0 is 0 and the least value / -1 is itself"},
      {OpKind::kPow, "lhs to the power rhs"},
      {OpKind::kMax, "the larger of lhs and rhs; NaN if either is"},
      {OpKind::kMin, "the smaller of lhs and rhs; NaN if either is"},
      {OpKind::kEq, "lhs == rhs; false where either is NaN"},
      {OpKind::kNe, "lhs != rhs; true where either is NaN"},
      {OpKind::kLt, "lhs < rhs; false where either is NaN"},
      {OpKind::kLe, "lhs <= rhs; false where either is NaN"},
      {OpKind::kGt, "lhs > rhs; false where either is NaN"},
      {OpKind::kGe, "lhs >= rhs; false where either is NaN"},
      {OpKind::kAnd, "lhs and rhs, bit by bit"},
      {OpKind::kOr, "lhs or rhs, bit by bit"},
      {OpKind::kXor, "lhs exclusive-or rhs, bit by bit"},
      {OpKind::kSelect, "on_true where condition holds, else on_false"},
      {OpKind::kReduceSum, "the sum of x over `axes`; 0 over no elements"},
      {OpKind::kReduceMax, "the largest of x over `axes`, NaN if any is; the least value or -inf over no elements"},
      {OpKind::kReduceMin, "the smallest of x over `axes`, NaN if any is; the largest value or inf over no elements"},
      {OpKind::kReduceMean, "the sum of x over `axes`, divided by their element count; NaN over no elements"},
      {OpKind::kScan,
       "each element of x combined with all before it along `axis` (after it with `reverse`): their sum, product, "
       "maximum or minimum; with `exclusive` without the element itself, beginning with 0, 1, or the least or the "
       "largest value (-inf, inf)"},
      {OpKind::kBroadcast, "x repeated along every dim where it has size 1 or none"},
      {OpKind::kReshape, "the elements of x in row-major order, in the given shape"},
      {OpKind::kTranspose, "x with its dims in the order of `permutation`"},
      {OpKind::kSlice, "out[i, ...] = x[starts[0] + i * steps[0], ...]"},
      {OpKind::kConcat, "the operands one after the other along `axis`"},
      {OpKind::kGather,
       "out[..., i..., ...] = x[..., indices[i...], ...] at `axis`; an index below 0 counts from the end, "
       "others out of range fail the run. Indices are checked where they are read: one that no element of an output "
       "takes its value from, as where the result is empty because another dim of x is 0, is not checked"},
      {OpKind::kBitcast, "the bytes of x as `dtype`; a byte other than 0 is true"},
      {OpKind::kScatter,
       "a copy of x where, for each i in row-major order, out[indices[i..., 0], indices[i..., 1], ..., ...] is "
       "combined with updates[i..., ...]: set to it, or their sum, product, max or min; of several set there the last "
       "one stays. An index below 0 counts from the end, others out of range fail the run. Indices are checked where "
       "they are "
       "read: those of updates without elements are not"},
      {OpKind::kIota, "each element's own index along `axis`"},
      {OpKind::kDot, "out[..., m, n] = sum over k of lhs[..., m, k] * rhs[..., k, n]"},
  };
  return *formulas;
}

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
      return "f16, bf16, f32, f64, i32, i64, u32 or u64; all operands and the result alike. f16 and bf16 accumulate in "
             "f32, integers wrap.";
    case DTypeRule::kDimSize:
      return "i64; the result alike.";
    case DTypeRule::kRegion:
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
    if (op.shape != ShapeRule::kInput && op.shape != ShapeRule::kRegion) ops.push_back(&op);
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
  auto formula = Formulas().find(op.kind);
  text.formula = formula == Formulas().end() ? text.call : std::string(formula->second);
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
