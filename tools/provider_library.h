// Matmul providers by name: NAME means function tailor_NAME_product_provider of libtailor_NAME.so.
#ifndef TAILOR_TOOLS_PROVIDER_LIBRARY_H_
#define TAILOR_TOOLS_PROVIDER_LIBRARY_H_

#include <stdexcept>
#include <string>

#include "tailor/runtime.h"

namespace tailor {

// The library or its function is missing.
struct NoProvider : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Loads the library and never unloads it. Throws NoProvider.
const tailor_product_provider* LoadProvider(const std::string& name);

}  // namespace tailor

#endif  // TAILOR_TOOLS_PROVIDER_LIBRARY_H_
