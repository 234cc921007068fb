#include "graph/type_rules.h"

#include <cstdint>
#include <optional>

#include "graph/custom.h"
#include "graph/region_rules.h"
#include "graph/shape_rules.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

absl::Status CheckAlike(const Application& op, size_t first) {
  for (size_t i = first + 1; i < op.operands.size(); ++i) {
    if (op.operand(i).dtype != op.operand(first).dtype) {
      return op.Error("operand ", op.Name(i), " has type ", NameOf(op.operand(i).dtype), ", but ", op.Name(first),
                      " has ", NameOf(op.operand(first).dtype));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckType(const Application& op, size_t i, bool accepted, absl::string_view needed) {
  if (accepted) return absl::OkStatus();
  return op.Error("operand ", op.Name(i), " has type ", NameOf(op.operand(i).dtype), ", needs ", needed);
}

absl::Status CheckIndices(const Application& op) {
  const DType index = op.operand(1).dtype;
  return CheckType(op, 1, index == DType::kI32 || index == DType::kI64, "i32 or i64");
}

absl::StatusOr<DType> BitcastType(const Application& op) {
  const DType from = op.operand(0).dtype, to = op.attribute<DType>("dtype");
  if (!IsValid(to)) return op.Error("attribute \"dtype\" is no element type");
  if (SizeOf(from) == SizeOf(to)) return to;
  return op.Error("operand ", op.Name(0), " has type ", NameOf(from), ", which is not as wide as ", NameOf(to));
}

absl::Status CheckCombiner(const Application& op, absl::string_view needed) {
  const auto& combiner = op.attribute<std::string>("combiner");
  for (const char* known : {"add", "mul", "max", "min"}) {
    if (combiner == known) return absl::OkStatus();
  }
  return op.Error("attribute \"combiner\" is \"", combiner, "\", needs ", needed);
}

absl::StatusOr<DType> ScanType(const Application& op) {
  TAILOR_RETURN_IF_ERROR(CheckCombiner(op, "add, mul, max or min"));
  const DType dtype = op.operand(0).dtype;
  TAILOR_RETURN_IF_ERROR(CheckType(op, 0, dtype != DType::kBool, "a number"));
  return dtype;
}

absl::StatusOr<DType> ScatterType(const Application& op) {
  TAILOR_RETURN_IF_ERROR(CheckIndices(op));
  const DType dtype = op.operand(0).dtype;
  TAILOR_RETURN_IF_ERROR(CheckType(op, 2, op.operand(2).dtype == dtype, NameOf(dtype)));
  if (op.attribute<std::string>("combiner") == "set") return dtype;
  TAILOR_RETURN_IF_ERROR(CheckCombiner(op, "set, add, mul, max or min"));
  TAILOR_RETURN_IF_ERROR(CheckType(op, 0, dtype != DType::kBool, "a number"));
  return dtype;
}

absl::StatusOr<DType> InferDType(const Application& op) {
  switch (op.info.dtype) {
    case DTypeRule::kAttribute: {
      DType dtype = op.attribute<DType>("dtype");
      if (!IsValid(dtype)) return op.Error("attribute \"dtype\" is no element type");
      if (op.info.kind == OpKind::kIota && dtype == DType::kBool) {
        return op.Error("attribute \"dtype\" is bool, needs a number");
      }
      return dtype;
    }
    case DTypeRule::kDimSize:
      TAILOR_RETURN_IF_ERROR(CheckType(op, 0, op.operand(0).dtype == DType::kI64, "i64"));
      return DType::kI64;
    case DTypeRule::kBitcast:
      return BitcastType(op);
    case DTypeRule::kScan:
      return ScanType(op);
    case DTypeRule::kScatter:
      return ScatterType(op);
    case DTypeRule::kSelect:
      TAILOR_RETURN_IF_ERROR(CheckType(op, 0, op.operand(0).dtype == DType::kBool, "bool"));
      TAILOR_RETURN_IF_ERROR(CheckAlike(op, 1));
      return op.operand(1).dtype;
    case DTypeRule::kGather:
      TAILOR_RETURN_IF_ERROR(CheckIndices(op));
      return op.operand(0).dtype;
    default:
      break;
  }
  DType dtype = op.operand(0).dtype;
  if (op.info.dtype == DTypeRule::kNumeric) {
    TAILOR_RETURN_IF_ERROR(CheckType(op, 0, dtype != DType::kBool, "a number"));
  } else if (op.info.dtype == DTypeRule::kFloat) {
    TAILOR_RETURN_IF_ERROR(CheckType(op, 0, IsFloat(dtype), "f16, bf16, f32 or f64"));
  } else if (op.info.dtype == DTypeRule::kDot) {
    if (dtype == DType::kU8) {
      TAILOR_RETURN_IF_ERROR(CheckType(op, 1, op.operand(1).dtype == DType::kI8, "i8, as the lhs is u8"));
      return DType::kI32;
    }
    const bool summable = IsFloat(dtype) || dtype == DType::kI16 || (IsInteger(dtype) && SizeOf(dtype) >= 4);
    TAILOR_RETURN_IF_ERROR(CheckType(op, 0, summable, "a float, i16, u8 or an integer of 32 or 64 bits"));
  } else if (op.info.dtype == DTypeRule::kInteger) {
    TAILOR_RETURN_IF_ERROR(CheckType(op, 0, IsInteger(dtype), "an integer"));
  } else if (op.info.dtype == DTypeRule::kLogic) {
    TAILOR_RETURN_IF_ERROR(CheckType(op, 0, !IsFloat(dtype), "bool or an integer"));
  }
  TAILOR_RETURN_IF_ERROR(CheckAlike(op, 0));
  if (op.info.dtype == DTypeRule::kDot && dtype == DType::kI16) return DType::kI32;
  return op.info.dtype == DTypeRule::kCompare ? DType::kBool : dtype;
}

absl::Status CheckFlags(const Application& op) {
  for (const char* flag : {"keep_dims", "transpose_lhs", "transpose_rhs", "reverse", "exclusive"}) {
    auto it = op.attributes.find(absl::string_view(flag));
    if (it == op.attributes.end()) continue;
    int64_t value = std::get<int64_t>(it->second);
    if (value != 0 && value != 1) return op.Error("attribute \"", flag, "\" is ", value, ", needs 0 or 1");
  }
  return absl::OkStatus();
}

constexpr int64_t kMaxElements = int64_t{1} << 60;  // their bytes are an int64

absl::Status CheckResult(const Application& op, const Shape& shape) {
  if (shape.size() > kMaxRank) {
    return op.Error("the result has rank ", shape.size(), ", more than ", kMaxRank);
  }
  int64_t count = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!shape[d].valid()) return op.Error("dim size ", d, " of the result has no value: ", shape[d].problem());
    const std::optional<int64_t> known = shape[d].constant();
    if (known && *known < 0) {
      return op.Error("dim size ", d, " of the result is ", op.Text(shape[d]), ", needs at least 0");
    }
    if (!known || *known == 0) continue;  // a dim of 0 does not make the product of the others small
    if (__builtin_mul_overflow(count, *known, &count) || count > kMaxElements) {
      return op.Error("the dims of the result ", op.Text(shape), " multiply to more than 2^60");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<TensorType>> InferTypes(OpKind kind, absl::Span<const TensorType> operands,
                                                   absl::Span<const std::string> names, const Attributes& attributes,
                                                   absl::Span<const Region> regions,
                                                   const std::function<std::string(SymbolId)>& symbol_name) {
  Application op{InfoOf(kind), operands, names, attributes, regions, symbol_name};
  if (op.info.shape == ShapeRule::kRegion) {
    for (const Region& region : regions) {
      if (region.graph == nullptr) return op.Error("a region is missing");
    }
    if (kind == OpKind::kContinuation) return ContinuationTypes(op);
    return kind == OpKind::kWhile ? WhileTypes(op) : IfTypes(op);
  }
  if (!regions.empty()) return op.Error("has ", regions.size(), " regions, needs none");
  if (op.info.shape == ShapeRule::kStated) {
    TAILOR_ASSIGN_OR_RETURN(std::vector<TensorType> types, CustomTypes(op));
    for (const TensorType& type : types) TAILOR_RETURN_IF_ERROR(CheckResult(op, type.shape));
    return types;
  }
  TAILOR_RETURN_IF_ERROR(CheckFlags(op));
  TensorType result;
  TAILOR_ASSIGN_OR_RETURN(result.dtype, InferDType(op));
  TAILOR_ASSIGN_OR_RETURN(result.shape, InferShape(op));
  TAILOR_RETURN_IF_ERROR(CheckResult(op, result.shape));
  return std::vector<TensorType>{std::move(result)};
}

}  // namespace tailor
