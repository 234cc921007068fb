#include "bindings/onnx/data_types.h"

#include <iterator>

#include "bindings/frontend/error.h"
#include "bindings/onnx/proto.h"

namespace tailor::onnx {
namespace {

using frontend::Narrow;

struct Row {
  DataType type;
  const char* name;
  DType dtype = DType::kInvalid;
  Narrow narrow = Narrow::kNone;
};

constexpr Row kRows[] = {
    {DataType::kFloat, "FLOAT", DType::kF32},
    {DataType::kUint8, "UINT8", DType::kU8},
    {DataType::kInt8, "INT8", DType::kI8},
    {DataType::kUint16, "UINT16", DType::kU16},
    {DataType::kInt16, "INT16", DType::kI16},
    {DataType::kInt32, "INT32", DType::kI32},
    {DataType::kInt64, "INT64", DType::kI64},
    {DataType::kString, "STRING"},
    {DataType::kBool, "BOOL", DType::kBool},
    {DataType::kFloat16, "FLOAT16", DType::kF16},
    {DataType::kDouble, "DOUBLE", DType::kF64},
    {DataType::kUint32, "UINT32", DType::kU32},
    {DataType::kUint64, "UINT64", DType::kU64},
    {DataType::kComplex64, "COMPLEX64"},
    {DataType::kComplex128, "COMPLEX128"},
    {DataType::kBfloat16, "BFLOAT16", DType::kBF16},
    {DataType::kFloat8E4M3FN, "FLOAT8E4M3FN", DType::kInvalid, Narrow::kF8E4M3FN},
    {DataType::kFloat8E4M3FNUZ, "FLOAT8E4M3FNUZ", DType::kInvalid, Narrow::kF8E4M3FNUZ},
    {DataType::kFloat8E5M2, "FLOAT8E5M2", DType::kInvalid, Narrow::kF8E5M2},
    {DataType::kFloat8E5M2FNUZ, "FLOAT8E5M2FNUZ", DType::kInvalid, Narrow::kF8E5M2FNUZ},
    {DataType::kUint4, "UINT4", DType::kInvalid, Narrow::kU4},
    {DataType::kInt4, "INT4", DType::kInvalid, Narrow::kI4},
    {DataType::kFloat4E2M1, "FLOAT4E2M1", DType::kInvalid, Narrow::kF4E2M1},
    {DataType::kFloat8E8M0, "FLOAT8E8M0", DType::kInvalid, Narrow::kF8E8M0},
    {DataType::kUint2, "UINT2", DType::kInvalid, Narrow::kU2},
    {DataType::kInt2, "INT2", DType::kInvalid, Narrow::kI2},
};

const Row* Find(int64_t type) {
  for (const Row& row : kRows) {
    if (static_cast<int64_t>(row.type) == type) return &row;
  }
  return nullptr;
}

}  // namespace

std::string NameOfDataType(int64_t type) {
  const Row* row = Find(type);
  if (row != nullptr) return row->name;
  return type == 0 ? "UNDEFINED" : "number " + std::to_string(type);
}

DType DTypeOfDataType(int64_t type) {
  const Row* row = Find(type);
  if (row == nullptr || row->dtype == DType::kInvalid) {
    frontend::Unsupported("element type " + NameOfDataType(type) + " is not supported");
  }
  return row->dtype;
}

int64_t DataTypeOf(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return static_cast<int64_t>(row.type);
  }
  return 0;
}

Narrow NarrowOfDataType(int64_t type) {
  const Row* row = Find(type);
  return row == nullptr ? Narrow::kNone : row->narrow;
}

int64_t DataTypeOfNarrow(Narrow narrow) {
  for (const Row& row : kRows) {
    if (row.narrow == narrow && narrow != Narrow::kNone) return static_cast<int64_t>(row.type);
  }
  return 0;
}

}  // namespace tailor::onnx
