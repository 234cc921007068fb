#include "codegen/driver/describe_variant.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/plan/worker_symbol.h"
#include "exec/host_abi.h"

namespace tailor::driver {
namespace {

constexpr char kRun[] = "tailor_run";
constexpr char kPlan[] = "tailor_plan";

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
  variant.memo_slots = host.memo_slots;
  variant.grown_blocks = host.grown_blocks;
  variant.offers_products = host.offers_products;
  variant.context_size = sizeof(RtContext);
  for (const host::HostProgram& one : program.programs) {
    for (const host::Launch& launch : one.launches) {
      ProgramLaunch described{launch.name, {}, dropped[launch.kernel], launch.kernel};
      for (const host::LaunchVersion& version : kernels[launch.kernel].versions) {
        std::string text = VersionText({.guards = version.guards});
        if (version.clocks != 0) absl::StrAppend(&text, " in ", version.clocks.ToText(LaunchSymbolText), " clocks");
        if (version.phases > 1) absl::StrAppend(&text, ", in parts");
        described.versions.push_back(std::move(text));
      }
      variant.launches.push_back(std::move(described));
    }
  }
  return compiled;
}

}  // namespace tailor::driver
