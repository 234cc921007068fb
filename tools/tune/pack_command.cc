#include <fstream>
#include <stdexcept>
#include <utility>

#include "codegen/contract/panels.h"
#include "codegen/link/link.h"
#include "tools/tune/commands.h"
#include "tools/tune/kernel_pack.h"
#include "tools/tune/plain_matmul.h"
#include "tools/tune/schedule_space.h"

namespace tailor::tune {
namespace {

// Every micro-kernel that fits the target's registers, each in a matmul whose tiles are all of it.
KernelPack PackKernels(const CpuTarget& target) {
  KernelPack pack{.target = target.level, .features = target.features};
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
  std::vector<std::string> entries;
  for (int rows = 1; rows <= CostProfile::kRows; ++rows) {
    for (int panels = 1; panels <= CostProfile::kPanels; ++panels) {
      if (!FitsRegisters(target.traits, rows, panels)) continue;
      const MatmulForm form{.n = kPackedTiles * panels * kPanelColumns};
      const ContractionTile tile{
          .rows = rows, .panels = panels, .task_rows = kPackedTiles * rows, .task_panels = panels};
      const std::string name = "tile_" + std::to_string(rows) + "x" + std::to_string(panels);
      objects.push_back(CompilePlainMatmul(PlainMatmulPlan(form), tile, target, name));
      entries.push_back(name + "_v0");
      pack.kernels.push_back({rows, panels, 0});
    }
  }
  auto image = LinkImage(std::move(objects), entries);
  if (!image.ok()) throw std::runtime_error(std::string(image.status().message()));
  for (size_t i = 0; i < entries.size(); ++i) pack.kernels[i].offset = image->symbols.at(entries[i]);
  pack.code = std::move(image->bytes);
  return pack;
}

CpuTarget TargetOf(const std::string& name) {
  auto target = FindCpuTarget(name.empty() ? HostCpuTarget().level : name);
  if (!target.ok()) throw std::runtime_error(std::string(target.status().message()));
  return *std::move(target);
}

}  // namespace

void MeasureProfile(const ProfileArguments& arguments) {
  CheckArguments(arguments);
  ProfileKernels(PackKernels(TargetOf(arguments.target)), arguments);
}

void WriteKernelPack(const PackArguments& arguments) {
  const CpuTarget target = TargetOf(arguments.target);
  std::ofstream out(arguments.output, std::ios::binary);
  if (!out) throw std::runtime_error("cannot write " + arguments.output);
  out << KernelPackBytes(PackKernels(target));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + arguments.output);
}

}  // namespace tailor::tune
