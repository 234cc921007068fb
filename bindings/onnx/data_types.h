// ONNX element types as Tailor's.
#ifndef TAILOR_BINDINGS_ONNX_DATA_TYPES_H_
#define TAILOR_BINDINGS_ONNX_DATA_TYPES_H_

#include <cstdint>
#include <string>

#include "bindings/frontend/narrow.h"
#include "graph/dtype.h"

namespace tailor::onnx {

std::string NameOfDataType(int64_t type);  // "FLOAT", or "number 99"
// Fails with UNIMPLEMENTED for types that Tailor does not have.
DType DTypeOfDataType(int64_t type);
int64_t DataTypeOf(DType dtype);
// kNone for types that are not narrow.
frontend::Narrow NarrowOfDataType(int64_t type);
int64_t DataTypeOfNarrow(frontend::Narrow narrow);

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_DATA_TYPES_H_
