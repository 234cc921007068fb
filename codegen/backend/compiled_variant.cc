#include "codegen/backend/compiled_variant.h"

#include <cinttypes>
#include <cstdio>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exec/host_abi.h"

namespace tailor::backend {
namespace {

constexpr char kRun[] = "tailor_run";
constexpr char kPlan[] = "tailor_plan";
constexpr char kMicroKernelPrefix[] = "micro_", kRowsPrefix[] = "rows_";

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

// Kernel versions are named "k3_v0", their parts "k3_" and anything else. What kernels share: micro-kernels, "micro_"
// and anything else; rows of chains, "rows_" and anything else.
std::vector<CodeSymbol> CodeSymbols(const std::multimap<uint64_t, std::string>& functions) {
  std::vector<CodeSymbol> symbols;
  for (const auto& [offset, name] : functions) {
    CodeSymbol symbol{offset};
    if (absl::StartsWith(name, kMicroKernelPrefix)) {
      symbol.kernel = CodeSymbol::kMicroKernel;
    } else if (absl::StartsWith(name, kRowsPrefix)) {
      symbol.kernel = CodeSymbol::kRowsOfChains;
    } else if (std::sscanf(name.c_str(), "k%" SCNd32 "_v%" SCNd32, &symbol.kernel, &symbol.version) == 0) {
      symbol.kernel = CodeSymbol::kHostProgram;
    }
    symbols.push_back(symbol);
  }
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
  variant.code_symbols = CodeSymbols(compiled.image.functions);
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
