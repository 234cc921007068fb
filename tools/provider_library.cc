#include "tools/provider_library.h"

#include <dlfcn.h>

namespace tailor {

const tailor_product_provider* LoadProvider(const std::string& name) {
  void* library = dlopen(("libtailor_" + name + ".so").c_str(), RTLD_NOW | RTLD_NODELETE);
  void* function = library != nullptr ? dlsym(library, ("tailor_" + name + "_product_provider").c_str()) : nullptr;
  if (function == nullptr) throw NoProvider("no matmul provider " + name + ": " + dlerror());
  return reinterpret_cast<const tailor_product_provider* (*)()>(function)();
}

}  // namespace tailor
