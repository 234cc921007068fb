#include "fusion/node_class.h"

namespace tailor {

bool IsExpensive(const Node& node) {
  switch (node.op) {
    case OpKind::kExp:
    case OpKind::kLog:
    case OpKind::kTanh:
    case OpKind::kErf:
    case OpKind::kSqrt:
    case OpKind::kRsqrt:
    case OpKind::kSigmoid:
    case OpKind::kPow:
    case OpKind::kDiv:
    case OpKind::kSin:
    case OpKind::kCos:
    case OpKind::kTan:
    case OpKind::kAsin:
    case OpKind::kAcos:
    case OpKind::kAtan:
    case OpKind::kMod:
    case OpKind::kRem:
    case OpKind::kGather:
    case OpKind::kConcat:
      return true;
    default:
      return IsReduction(node) || IsContraction(node) || IsScan(node) || IsScatter(node);
  }
}

}  // namespace tailor
