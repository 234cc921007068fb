#include "codegen/host_unit.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"

namespace tailor {

HostMemo LayOutMemo(const HostProgram& program, const std::vector<EmittedKernel>& kernels) {
  HostMemo memo;
  std::set<std::pair<int, int>> keys;
  for (const SymbolBinding& binding : program.bindings) keys.emplace(binding.input, binding.dim);
  for (int i = 0; i < program.shape_check_count; ++i) {
    if (program.checks[i].input >= 0) keys.emplace(program.checks[i].input, program.checks[i].dim);
  }
  memo.keys.assign(keys.begin(), keys.end());

  int next = memo.first_key + static_cast<int>(keys.size());
  const auto take = [&next](size_t words) { return std::exchange(next, next + static_cast<int>(words)); };
  memo.workers = take(1);
  memo.workspace = take(1);
  for (const std::vector<DimExpr>& dims : program.output_dims) {
    const int first = take(dims.size());
    memo.outputs.push_back({first, take(1)});
  }
  bool faults = false;
  for (const Launch& launch : program.launches) {
    HostMemo::LaunchWords words{take(1), take(1), take(1), 0};
    words.arguments = take(launch.buffers.size() + launch.dims.size() + 4);
    memo.launches.push_back(words);
    faults |= kernels[launch.kernel].plan->fault_count > 0;
  }
  if (faults) memo.fault = take(4);
  memo.size = next;
  return memo;
}

bool HasScratch(const KernelPlan& plan) {
  return std::any_of(plan.buffers.begin(), plan.buffers.end(),
                     [](const Buffer& buffer) { return buffer.kind == BufferKind::kRow; });
}

llvm::Function* KernelFunction(const HostUnit& unit, int kernel, size_t version) {
  llvm::LLVMContext& context = unit.module.getContext();
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  llvm::Type* ptr = llvm::PointerType::getUnqual(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {ptr, i64, i64, i64}, false);
  const std::string name = absl::StrCat(unit.kernels[kernel].symbol, "_v", version);
  return llvm::cast<llvm::Function>(unit.module.getOrInsertFunction(name, type).getCallee());
}

std::vector<LaunchShape> ShapesOfLaunches(const HostUnit& unit, HostShapes& shapes) {
  std::vector<LaunchShape> launches;
  for (const Launch& launch : unit.program.launches) launches.push_back(shapes.ShapeOf(launch));
  return launches;
}

}  // namespace tailor
