#include "graph/finite_constant.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tailor {
namespace {

bool IsConstant(const Graph& graph, Value v) { return graph.Contains(v) && graph.node(v.node).op == OpKind::kConstant; }

// Whether some element has all exponent bits set: it is infinite or NaN.
template <typename Word>
bool HasExponent(const ConstantData& data, Word exponent) {
  const auto* bytes = static_cast<const std::byte*>(data.data);
  bool found = false;
  for (uint64_t at = 0; at + sizeof(Word) <= data.size; at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes + at, sizeof word);
    found |= (word & exponent) == exponent;
  }
  return found;
}

bool HoldsNonFinite(DType dtype, const ConstantData& data) {
  switch (dtype) {
    case DType::kF16:
      return HasExponent<uint16_t>(data, 0x7c00);
    case DType::kBF16:
      return HasExponent<uint16_t>(data, 0x7f80);
    case DType::kF32:
      return HasExponent<uint32_t>(data, 0x7f800000);
    case DType::kF64:
      return HasExponent<uint64_t>(data, 0x7ff0000000000000);
    default:
      return false;
  }
}

}  // namespace

bool IsNonFiniteConstant(const Graph& graph, Value v) {
  return IsConstant(graph, v) && HoldsNonFinite(graph.type(v).dtype, graph.constant_data(v.node));
}

bool IsFiniteConstant(const Graph& graph, Value v) {
  return IsConstant(graph, v) && !HoldsNonFinite(graph.type(v).dtype, graph.constant_data(v.node));
}

}  // namespace tailor
