// When an op on constants is evaluated while the graph is built.
#ifndef TAILOR_BINDINGS_FRONTEND_FOLD_H_
#define TAILOR_BINDINGS_FRONTEND_FOLD_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bindings/frontend/builder.h"
#include "bindings/frontend/tensor.h"

namespace tailor::frontend {

// Whether a result of `elements` elements is evaluated: it is no larger than its constant operands together, or small,
// and there is room for its growth beyond the largest.
inline bool Folds(int64_t elements, const std::vector<Tensor>& operands) {
  int64_t total = 0, largest = 0;
  for (const Tensor& operand : operands) {
    total += operand.array()->size();
    largest = std::max(largest, operand.array()->size());
  }
  if (elements > std::max(total, kMaxElements)) return false;
  return operands[0].builder().TakeGrowth(std::max<int64_t>(elements - largest, 0));
}

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_FOLD_H_
