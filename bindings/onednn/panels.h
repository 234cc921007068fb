// Unpacks an rhs in panels, the layout of constants in artifacts, to a row-major matrix.
#ifndef TAILOR_BINDINGS_ONEDNN_PANELS_H_
#define TAILOR_BINDINGS_ONEDNN_PANELS_H_

#include <cstddef>
#include <vector>

#include "tailor/runtime.h"

namespace tailor_onednn {

// The rhs of `product`, which is in panels, as row-major [batch][k][n]. May throw std::bad_alloc.
std::vector<std::byte> Unpacked(const tailor_product& product);

}  // namespace tailor_onednn

#endif  // TAILOR_BINDINGS_ONEDNN_PANELS_H_
