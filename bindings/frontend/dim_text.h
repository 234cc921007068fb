// Dims from text.
#ifndef TAILOR_BINDINGS_FRONTEND_DIM_TEXT_H_
#define TAILOR_BINDINGS_FRONTEND_DIM_TEXT_H_

#include <functional>
#include <string>
#include <string_view>

#include "bindings/frontend/dims.h"

namespace tailor::frontend {

// "4*B + floordiv(S, 2) - 1": integers, symbols, + - *, parentheses; floordiv, mod, min, max, ceildiv, truncdiv,
// truncmod, less and equal of two; select of three. As the functions of tailor/compiler.h.
// `symbol` gives the dim of a name. Fails with the column of what cannot be read.
Dim ParseDim(Dims& dims, std::string_view text, const std::function<Dim(const std::string& name)>& symbol);

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_DIM_TEXT_H_
