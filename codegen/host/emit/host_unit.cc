#include "codegen/host/emit/host_unit.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/host/emit/counters.h"

namespace tailor::host {
namespace {

// Allocates consecutive words.
class Words {
 public:
  int Take(size_t words) { return std::exchange(next_, next_ + static_cast<int>(words)); }
  int next() const { return next_; }

 private:
  int next_ = 0;
};

constexpr size_t kTensorWords = sizeof(TensorArg) / sizeof(int64_t);
constexpr size_t kGridWords = sizeof(LaunchGrid) / sizeof(int64_t);

template <typename Entries>
int TakeBlock(const Entries& entries, Words* words) {
  size_t count = 0;
  for (const auto& entry : entries) count += kTensorWords + entry.shape.size();
  return words->Take(count);
}

ShapeCache::CallWords TakeCall(const Call& call, Words* words) {
  ShapeCache::CallWords taken;
  taken.arguments = TakeBlock(call.arguments, words);
  if (call.kind == Call::Kind::kCustom) {
    taken.workspace = words->Take(2);
    return taken;
  }
  if (!call.decided) {
    taken.condition = words->Take(kTensorWords);
    taken.read = words->Take(1);
  }
  if (call.kind == Call::Kind::kWhile) {
    for (int& place : taken.places) place = TakeBlock(call.arguments, words);
    taken.results = words->Take(kTensorWords * call.arguments.size());
  } else {
    taken.results = TakeBlock(call.results, words);
  }
  return taken;
}

ShapeCache LayOutShapeCache(const HostProgram& program, const std::vector<EmittedKernel>& kernels, KernelPlace place,
                            Words* words) {
  ShapeCache shape_cache;
  if (program.versions) return shape_cache;
  std::set<std::pair<int, int>> keys;
  shape_cache.counters = CountersInKernels(program, kernels);
  for (const SymbolBinding& binding : program.bindings) {
    if (!shape_cache.counters.contains(binding.symbol)) keys.emplace(binding.input, binding.dim);
  }
  for (int i = 0; i < program.shape_check_count; ++i) {
    if (program.checks[i].input >= 0) keys.emplace(program.checks[i].input, program.checks[i].dim);
  }
  shape_cache.keys.assign(keys.begin(), keys.end());
  shape_cache.valid = words->Take(1);
  shape_cache.first_key = words->Take(keys.size());
  shape_cache.workers = words->Take(1);
  shape_cache.workspace = words->Take(1);
  if (!program.outermost) shape_cache.base = words->Take(kTensorWords);
  for (SymbolId symbol : SymbolsOfRun(program, shape_cache.counters))
    shape_cache.symbols.emplace(symbol, words->Take(1));
  for (const std::vector<DimExpr>& dims : program.output_dims) {
    const int first = words->Take(dims.size());
    shape_cache.outputs.push_back({first, words->Take(1)});
  }
  for (const Launch& launch : program.launches) {
    ShapeCache::LaunchWords taken;
    taken.kernel = words->Take(1);
    if (place == KernelPlace::kDevice) {
      taken.grid = words->Take(kGridWords);
    } else {
      taken.tasks = words->Take(1);
      taken.tasks_per_chunk = words->Take(1);
      taken.phases = words->Take(1);
    }
    taken.arguments = words->Take(kernels[launch.kernel].signature().slots());
    shape_cache.launches.push_back(taken);
  }
  for (const Call& call : program.calls) shape_cache.calls.push_back(TakeCall(call, words));
  for (size_t i = 0; i < program.gemms.size(); ++i) {
    const int taken = words->Take(1);
    shape_cache.gemms.push_back({taken, words->Take(sizeof(GemmArgs) / sizeof(int64_t))});
  }
  return shape_cache;
}

}  // namespace

std::vector<ShapeCache> LayOutShapeCaches(const std::vector<HostProgram>& programs,
                                          const std::vector<EmittedKernel>& kernels, KernelPlace place, int* size) {
  std::vector<ShapeCache> shape_caches;
  Words words;
  bool faults = false;
  for (const HostProgram& program : programs) {
    shape_caches.push_back(LayOutShapeCache(program, kernels, place, &words));
    for (const Launch& launch : program.launches) faults |= kernels[launch.kernel].plan->fault_count > 0;
  }
  const int fault = faults ? words.Take(4) : -1;
  for (ShapeCache& shape_cache : shape_caches) shape_cache.fault = fault;
  *size = words.next();
  return shape_caches;
}

llvm::Function* KernelFunction(const HostUnit& unit, int kernel, size_t version) {
  llvm::LLVMContext& context = unit.module.getContext();
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  llvm::Type* ptr = llvm::PointerType::getUnqual(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {ptr, i64, i64, i64}, false);
  const std::string name = absl::StrCat(unit.kernels[kernel].symbol, "_v", version);
  return llvm::cast<llvm::Function>(unit.module.getOrInsertFunction(name, type).getCallee());
}

std::string HostFunctionName(const char* what, int program) {
  return program == 0 ? absl::StrCat("tailor_", what) : absl::StrCat("tailor.", what, ".", program);
}

llvm::Function* CalledFunction(const HostUnit& unit, const char* what, int program) {
  return unit.module.getFunction(HostFunctionName(what, program));
}

std::vector<LaunchShape> ShapesOfLaunches(const HostUnit& unit, HostShapes& shapes) {
  std::vector<LaunchShape> launches;
  for (const Launch& launch : unit.program.launches) launches.push_back(shapes.ShapeOf(launch));
  return launches;
}

}  // namespace tailor::host
