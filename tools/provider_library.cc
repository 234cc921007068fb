#include "tools/provider_library.h"

#include <dlfcn.h>

namespace tailor {

const tailor_product_provider* LoadProvider(const std::string& name) {
  const std::string file = "libtailor_" + name + ".so";
  // Ours have the ABI's number where they are installed; others' need not.
  void* library = dlopen((file + "." + std::to_string(TAILOR_ABI)).c_str(), RTLD_NOW | RTLD_NODELETE);
  if (library == nullptr) library = dlopen(file.c_str(), RTLD_NOW | RTLD_NODELETE);
  void* function = library != nullptr ? dlsym(library, ("tailor_" + name + "_product_provider").c_str()) : nullptr;
  if (function == nullptr) throw NoProvider("no matmul provider " + name + ": " + dlerror());
  return reinterpret_cast<const tailor_product_provider* (*)()>(function)();
}

}  // namespace tailor
