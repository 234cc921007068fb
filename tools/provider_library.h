// Matmul providers by name: NAME means function tailor_NAME_product_provider of libtailor_NAME.so.
#ifndef TAILOR_TOOLS_PROVIDER_LIBRARY_H_
#define TAILOR_TOOLS_PROVIDER_LIBRARY_H_

#include <string>

#include "tailor/runtime.h"

namespace tailor {

// Loads the library and never unloads it. Throws std::runtime_error if library or function is missing.
const tailor_product_provider* LoadProvider(const std::string& name);

}  // namespace tailor

#endif  // TAILOR_TOOLS_PROVIDER_LIBRARY_H_
