#include "codegen/backend/kernel_modules.h"

namespace tailor::backend {

std::vector<ModuleKernels> SplitIntoModules(const std::vector<KernelPlan>& kernels) {
  constexpr size_t kLoopsPerModule = 4;
  std::vector<ModuleKernels> matmuls, loops;
  for (int i = 0; i < static_cast<int>(kernels.size()); ++i) {
    if (!std::holds_alternative<LoopForm>(kernels[i].form)) {
      matmuls.push_back({i});
    } else {
      if (loops.empty() || loops.back().size() == kLoopsPerModule) loops.emplace_back();
      loops.back().push_back(i);
    }
  }
  matmuls.insert(matmuls.end(), loops.begin(), loops.end());
  return matmuls;
}

}  // namespace tailor::backend
