#include "codegen/backend/kernel_modules.h"

namespace tailor::backend {

std::vector<ModuleKernels> SplitIntoModules(const std::vector<KernelPlan>& kernels) {
  constexpr size_t kLoopsPerModule = 4;
  std::vector<ModuleKernels> products, loops;
  for (int i = 0; i < static_cast<int>(kernels.size()); ++i) {
    if (!std::holds_alternative<LoopForm>(kernels[i].form)) {
      products.push_back({i});
    } else {
      if (loops.empty() || loops.back().size() == kLoopsPerModule) loops.emplace_back();
      loops.back().push_back(i);
    }
  }
  products.insert(products.end(), loops.begin(), loops.end());
  return products;
}

}  // namespace tailor::backend
