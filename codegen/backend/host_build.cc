#include "codegen/backend/host_build.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/dump.h"
#include "graph/status_macros.h"
#include "llvm/IR/LLVMContext.h"

namespace tailor::backend {
namespace {

constexpr size_t kSharedPerModule = 4;  // rows of chains have thousands of instructions

}  // namespace

HostBuild::HostBuild(const lower::LoweredProgram& program, CpuTarget target, bool optimize)
    : program_(program),
      target_(std::move(target)),
      optimize_(optimize),
      kernel_modules_(SplitIntoModules(program.kernels)),
      dropped_(program.kernels.size()) {}

absl::Status HostBuild::Schedule(const CodeBounds& bounds) {
  bounds_ = bounds;
  for (const KernelPlan& plan : program_.kernels) {
    schedules_.push_back(ScheduleOf(plan));
    BoundVersions(bounds, schedules_.back().versions, dropped_[schedules_.size() - 1]);
    TAILOR_RETURN_IF_ERROR(AddShared(plan, schedules_.back(), shared_));
  }
  TakePrebuilt();
  shared_modules_ = InModules(shared_);
  objects_.resize(modules());
  TAILOR_RETURN_IF_ERROR(DumpPrebuilt());
  SetKernels();
  return absl::OkStatus();
}

std::string HostBuild::SchedulesText() const {
  std::string all;
  for (const host::EmittedKernel& kernel : kernels_) {
    absl::StrAppend(&all, kernel.symbol, " ", kernel.plan->name, "\n", kernel.plan->Text(),
                    kernel.on_host().schedule->Text(), "\n");
  }
  return all;
}

absl::Status HostBuild::Emit(int number) {
  const auto kernels = static_cast<int>(kernel_modules_.size());
  const bool is_host = number == modules() - 1, is_shared = IsShared(number);
  bool optimize = optimize_;
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>(is_host ? "host" : is_shared ? "shared" : "kernels", context);
  if (is_host) {
    TAILOR_ASSIGN_OR_RETURN(host_,
                            host::EmitHostPrograms(program_.programs, kernels_, host::KernelPlace::kHost, *module));
  } else if (is_shared) {
    const SharedModule& functions = shared_modules_[number - kernels];
    optimize |= functions.front()->always_optimized;
    TAILOR_RETURN_IF_ERROR(EmitShared(functions, *module));
  } else {
    TAILOR_RETURN_IF_ERROR(EmitKernels(kernel_modules_[number], *module));
  }
  TAILOR_ASSIGN_OR_RETURN(objects_[number], CompileObject(number, optimize, std::move(module)));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int>> HostBuild::Link(CompiledVariant* variant) {
  TAILOR_ASSIGN_OR_RETURN(Image image, LinkImage(ObjectsInOrder(), HostEntries()));
  TAILOR_ASSIGN_OR_RETURN(const std::vector<KernelCode> codes, ReadCode());
  const auto shrunk = BoundCode(bounds_, image.bytes.size(), codes, schedules_, dropped_);
  if (!shrunk.ok()) {
    return absl::Status(shrunk.status().code(), absl::StrCat(target_.name, ": ", shrunk.status().message()));
  }
  if (shrunk->empty()) {
    *variant = DescribeImage(std::move(image), codes);
    return std::vector<int>();
  }
  SetKernels();
  return ModulesOf(*shrunk);
}

// Rebuilds kernels_ from the current schedules.
void HostBuild::SetKernels() {
  kernels_.clear();
  for (size_t i = 0; i < program_.kernels.size(); ++i) {
    kernels_.push_back(host::KernelOnHost(absl::StrCat("k", i), &program_.kernels[i], &schedules_[i]));
  }
}

// Moves the shared functions that have a prebuilt object from shared_ to prebuilt_.
void HostBuild::TakePrebuilt() {
  for (auto function = shared_.begin(); function != shared_.end();) {
    const auto next = std::next(function);
    if (function->second.prebuilt) prebuilt_.insert(shared_.extract(function));
    function = next;
  }
}

// Where modules are dumped: dumps the prebuilt functions as modules with numbers after the host program's.
absl::Status HostBuild::DumpPrebuilt() const {
  if (!DumpWanted()) return absl::OkStatus();
  int number = modules();
  for (const SharedModule& functions : InModules(prebuilt_)) {
    llvm::LLVMContext context;
    auto module = std::make_unique<llvm::Module>("shared", context);
    TAILOR_RETURN_IF_ERROR(EmitShared(functions, *module));
    TAILOR_RETURN_IF_ERROR(CompileObject(number++, /*optimize=*/true, std::move(module)).status());
  }
  return absl::OkStatus();
}

// What kernels call before the kernels, and these before the host program.
std::vector<llvm::MemoryBufferRef> HostBuild::ObjectsInOrder() const {
  std::vector<llvm::MemoryBufferRef> objects;
  for (const auto& [name, function] : prebuilt_) objects.push_back(*function.prebuilt);
  const auto add = [&](size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) objects.push_back(objects_[i]->getMemBufferRef());
  };
  const size_t kernels = kernel_modules_.size(), host = objects_.size() - 1;
  add(kernels, host);
  add(0, kernels);
  add(host, host + 1);
  return objects;
}

std::vector<HostBuild::SharedModule> HostBuild::InModules(const SharedFunctions& functions) {
  std::vector<SharedModule> modules;
  for (const auto& [name, function] : functions) {
    const bool joins = !modules.empty() && modules.back().size() < kSharedPerModule &&
                       modules.back().front()->always_optimized == function.always_optimized;
    if (!joins) modules.emplace_back();
    modules.back().push_back(&function);
  }
  return modules;
}

bool HostBuild::IsShared(int module) const {
  return module >= static_cast<int>(kernel_modules_.size()) && module < modules() - 1;
}

absl::Status HostBuild::EmitKernels(const ModuleKernels& kernels, llvm::Module& module) const {
  BeginModule(module);
  for (int i : kernels) {
    TAILOR_RETURN_IF_ERROR(EmitKernel(program_.kernels[i], schedules_[i], kernels_[i].symbol, module));
  }
  return absl::OkStatus();
}

absl::Status HostBuild::EmitShared(const SharedModule& functions, llvm::Module& module) const {
  BeginModule(module);
  for (const SharedFunction* function : functions) TAILOR_RETURN_IF_ERROR(function->emit(module));
  return absl::OkStatus();
}

// `number`: of the dumped texts.
absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> HostBuild::CompileObject(
    int number, bool optimize, std::unique_ptr<llvm::Module> module) const {
  const auto effort = optimize ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None;
  TAILOR_ASSIGN_OR_RETURN(auto machine, MakeTargetMachine(target_, effort));
  const std::string name = module->getName().str();
  ModuleText text;
  ModuleText* wanted = DumpWanted() ? &text : nullptr;
  TAILOR_ASSIGN_OR_RETURN(auto object, CompileModule(std::move(module), *machine, wanted));
  TAILOR_RETURN_IF_ERROR(DumpPass(target_.name, number, absl::StrCat(name, ".ll"), text.ir));
  TAILOR_RETURN_IF_ERROR(DumpPass(target_.name, number, absl::StrCat(name, ".s"), text.assembly));
  return object;
}

// The modules that hold any of `kernels`, and the host program's module, which refers to their versions.
std::vector<int> HostBuild::ModulesOf(const std::vector<int>& kernels) const {
  std::vector<int> numbers;
  for (int number = 0; number < static_cast<int>(kernel_modules_.size()); ++number) {
    const ModuleKernels& held = kernel_modules_[number];
    const bool holds = std::any_of(held.begin(), held.end(), [&](int kernel) {
      return std::find(kernels.begin(), kernels.end(), kernel) != kernels.end();
    });
    if (holds) numbers.push_back(number);
  }
  numbers.push_back(modules() - 1);
  return numbers;
}

absl::StatusOr<std::vector<KernelCode>> HostBuild::ReadCode() const {
  std::vector<KernelCode> codes(kernels_.size());
  for (const auto& object : objects_) TAILOR_RETURN_IF_ERROR(ReadKernelCode(*object, &codes));
  return codes;
}

CompiledVariant HostBuild::DescribeImage(Image image, const std::vector<KernelCode>& codes) const {
  CompiledVariant compiled = DescribeVariant(program_, kernels_, dropped_, host_, std::move(image));
  Variant& variant = compiled.variant;
  variant.target = target_.name;
  variant.features = target_.features;
  for (const KernelCode& code : codes) variant.kernel_bytes.push_back(code.all);
  Describe(schedules_, variant);
  return compiled;
}

}  // namespace tailor::backend
