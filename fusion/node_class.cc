#include "fusion/node_class.h"

namespace tailor {

bool IsExpensive(const Node& node) {
  constexpr int kManyCycles = 12;
  if (InfoOf(node.op).cost >= kManyCycles) return true;
  if (node.op == OpKind::kGather || node.op == OpKind::kConcat) return true;
  return IsReduction(node) || IsContraction(node) || IsScan(node) || IsScatter(node);
}

}  // namespace tailor
