#include "codegen/backend/compiled_variant.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "exec/host_abi.h"

namespace tailor::backend {
namespace {

constexpr char kRun[] = "tailor_run";
constexpr char kPlan[] = "tailor_plan";

std::vector<std::string> VersionTexts(const host::EmittedKernel::OnHost& launches) {
  std::vector<std::string> texts;
  for (const host::HostLaunch& version : launches.versions) {
    texts.push_back(VersionText({.guards = version.guards}));
    if (version.phases && version.phases->count > 1) absl::StrAppend(&texts.back(), ", in parts");
  }
  return texts;
}

std::vector<std::string> VersionTexts(const host::EmittedKernel::OnDevice& launches) {
  std::vector<std::string> texts;
  for (const host::DeviceLaunch& version : launches.versions) {
    texts.push_back(VersionText({.guards = version.guards}));
    if (version.clocks != 0) absl::StrAppend(&texts.back(), " in ", version.clocks.Text(), " clocks");
  }
  return texts;
}

// The functions by offset. Kernel versions are named "k3_v0".
std::vector<CodeSymbol> CodeSymbols(const std::map<std::string, uint64_t>& functions) {
  std::vector<CodeSymbol> symbols;
  for (const auto& [name, offset] : functions) {
    CodeSymbol symbol{offset};
    int end = 0;
    const bool is_kernel =
        std::sscanf(name.c_str(), "k%" SCNd32 "_v%" SCNd32 "%n", &symbol.kernel, &symbol.version, &end) == 2;
    symbols.push_back(is_kernel && static_cast<size_t>(end) == name.size() ? symbol : CodeSymbol{offset});
  }
  std::sort(symbols.begin(), symbols.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return symbols;
}

}  // namespace

std::vector<std::string> HostEntries() { return {kRun, kPlan}; }

CompiledVariant DescribeVariant(const lower::LoweredProgram& program, const std::vector<host::EmittedKernel>& kernels,
                                const std::vector<DroppedVersions>& dropped, const host::HostEmission& host,
                                Image image) {
  CompiledVariant compiled;
  compiled.image = std::move(image);
  Variant& variant = compiled.variant;
  variant.image = compiled.image.bytes;
  variant.run_offset = compiled.image.symbols[kRun];
  variant.plan_offset = compiled.image.symbols[kPlan];
  variant.code_symbols = CodeSymbols(compiled.image.symbols);
  variant.shape_cache_slots = host.shape_cache_slots;
  variant.growable_blocks = host.growable_blocks;
  variant.offers_products = host.offers_products;
  variant.custom_calls = program.custom_calls;
  variant.api_size = sizeof(RtApi);  // all host programs use `poll`, its last function
  variant.context_size = sizeof(RtContext);
  for (const host::HostProgram& one : program.programs) {
    for (const host::Launch& launch : one.launches) {
      ProgramLaunch described{launch.name, {}, dropped[launch.kernel], launch.kernel};
      std::visit([&](const auto& launches) { described.versions = VersionTexts(launches); },
                 kernels[launch.kernel].launches);
      variant.launches.push_back(std::move(described));
    }
  }
  return compiled;
}

}  // namespace tailor::backend
