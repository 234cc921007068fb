// Loads and stores the elements of a dtype in the C++ type that computes them.
#ifndef TAILOR_BINDINGS_FRONTEND_CODEC_H_
#define TAILOR_BINDINGS_FRONTEND_CODEC_H_

#include <cstdint>

#include "graph/dtype.h"
#include "graph/native.h"

namespace tailor::frontend {

template <typename T>
struct NativeCodec {
  using Stored = T;
  using Value = T;
  static Value Load(Stored stored) { return stored; }
  static Stored Store(Value value) { return value; }
};
struct F16Codec {
  using Stored = uint16_t;
  using Value = float;
  static Value Load(Stored bits) { return FloatFromF16(bits); }
  static Stored Store(Value value) { return F16FromFloat(value); }
};
struct BF16Codec {
  using Stored = uint16_t;
  using Value = float;
  static Value Load(Stored bits) { return FloatFromBF16(bits); }
  static Stored Store(Value value) { return BF16FromFloat(value); }
};
struct BoolCodec {
  using Stored = uint8_t;
  using Value = bool;
  static Value Load(Stored byte) { return byte != 0; }
  static Stored Store(Value value) { return value ? 1 : 0; }
};

// Calls visit(codec) with the codec of `dtype`.
template <typename Visit>
auto VisitCodec(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kBool:
      return visit(BoolCodec{});
    case DType::kF16:
      return visit(F16Codec{});
    case DType::kBF16:
      return visit(BF16Codec{});
    default:
      return VisitNative(dtype, [&](auto kind) { return visit(NativeCodec<decltype(kind)>{}); });
  }
}

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_CODEC_H_
