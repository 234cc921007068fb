// When an op on constants is evaluated while the graph is built.
#ifndef TAILOR_BINDINGS_FRONTEND_FOLD_H_
#define TAILOR_BINDINGS_FRONTEND_FOLD_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bindings/frontend/builder.h"
#include "bindings/frontend/tensor.h"

namespace tailor::frontend {

// Whether a result of `elements` elements is no larger than its constant operands together, or small.
inline bool Folds(int64_t elements, const std::vector<Tensor>& operands) {
  int64_t most = 0;
  for (const Tensor& operand : operands) most += operand.array()->size();
  return elements <= std::max(most, kMaxElements);
}

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_FOLD_H_
