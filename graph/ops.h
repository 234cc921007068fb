// OpKind, and the op table's rows as data (OpInfo). Everything here is immutable static data.
#ifndef TAILOR_GRAPH_OPS_H_
#define TAILOR_GRAPH_OPS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/op_table.h"

namespace tailor {

enum class OpKind : uint16_t {
#define TAILOR_OP_ENUM(id, kind, text, operands, attributes, shape, dtype, fusion, lowering, cost, formula) \
  k##kind = id,
  TAILOR_OP_TABLE(TAILOR_OP_ENUM)
#undef TAILOR_OP_ENUM
};

enum class ShapeRule : uint8_t {
  kInput,        // the `shape` attribute
  kSameAs0,      // operand 0's shape
  kAlongAxis,    // operand 0's shape, which has a dim `axis`
  kBroadcast,    // numpy broadcast of all operands; dim sizes not proved equal give bcast(a, b)
  kReduce,       // `axes` removed, or 1 with keep_dims; negative axes count from the end
  kBroadcastTo,  // the `shape` attribute; operand aligned to its last dim, each dim equal or 1
  kReshape,      // the `shape` attribute; equal element count
  kTranspose,    // result dim i is operand dim permutation[i]
  kSlice,        // `sizes`; element i of a dim reads starts + i * steps
  kConcat,       // sum along `axis`, others equal
  kGather,       // operand 0's shape with dim `axis` replaced by the indices' shape
  kScatter,      // operand 0's shape; indices [I..., K], updates [I..., operand 0's dims after the first K]
  kPad,          // low + (dim size - 1) * (interior + 1) + 1 + high; low + high for dim size 0
  kWindow,       // dims in `axes` become window counts; one dim per entry of `sizes` is appended
  kFromShape,    // the `shape` attribute (iota)
  kContract,     // [B..., M, K] x [B..., K, N] -> [B..., M, N]; batch dims broadcast
  kRegion,       // types of the region's results
  kStated,       // several results, whose types the attributes state (graph/custom.h)
  kBind,         // []; from here on the symbol in attribute `extent` has the operand's value
};

enum class DTypeRule : uint8_t {
  kAttribute,  // the `dtype` attribute
  kAny,        // same as operand 0, any type; all operands equal
  kNumeric,    // all operands equal, not bool; result the same
  kScan,       // as kNumeric; `combiner` is add, mul, max or min
  kFloat,      // all operands equal, f16 bf16 f32 f64; result the same
  kCompare,    // all operands equal; result bool
  kLogic,      // all operands equal, bool or integer; result the same
  kInteger,    // all operands equal, an integer; result the same
  kSelect,     // bool, T, T -> T
  kGather,     // T, i32 or i64 -> T
  kScatter,    // T, i32 or i64, T -> T; bool only without a combiner
  kBitcast,    // the `dtype` attribute, of operand 0's element size
  kDot,        // T, T -> T for floats and for integers of 32 or 64 bits; i16, i16 -> i32; u8, i8 -> i32
  kDimSize,    // i64; result the same
  kRegion,
  kStated,
};

enum class FusionClass : uint8_t {
  kStructural,   // no code of its own
  kElementwise,  // one scalar expression per element
  kReduction,
  kScan,     // prefix combination along an axis
  kView,     // pure index map
  kIndexed,  // index map that depends on data or on several operands
  kContraction,
  kScatter,  // a copy of operand 0, then updates in order
  kControl,
};

enum class AttributeType : uint8_t { kI64, kI64s, kF64, kString, kDType, kDims };

struct OperandInfo {
  absl::string_view name;
  bool variadic = false;      // one or more values; only as the last operand
  bool may_be_empty = false;  // a variadic operand may have no values
};

struct AttributeInfo {
  absl::string_view name;
  AttributeType type;
  std::optional<absl::string_view> default_text;  // "0", "[]"; nullopt: the attribute is required
};

struct OpInfo {
  OpKind kind;
  absl::string_view kind_name;  // "ReduceSum"
  absl::string_view text;       // "reduce_sum"
  std::vector<OperandInfo> operands;
  std::vector<AttributeInfo> attributes;
  ShapeRule shape;
  DTypeRule dtype;
  FusionClass fusion;
  int cost;                   // estimated cycles per vector of results
  absl::string_view formula;  // may be empty
};

// All rows in table order.
absl::Span<const OpInfo> AllOps();
const OpInfo& InfoOf(OpKind kind);
const OpInfo* FindOp(absl::string_view text);  // nullptr if no op has this spelling

}  // namespace tailor

#endif  // TAILOR_GRAPH_OPS_H_
