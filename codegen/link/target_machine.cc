#include "codegen/link/target_machine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"

namespace tailor {
namespace {

constexpr char kTriple[] = "x86_64-unknown-linux-gnu";

std::vector<CpuTarget> MakePlainLevels() {
  CpuTarget v2;
  v2.name = v2.level = "x86-64-v2";
  v2.features = {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"};
  v2.traits.vector_bytes = 16;
  v2.traits.vector_registers = 16;
  v2.traits.fused_multiply_add = false;
  v2.traits.most_rows_in_place = 24;
  v2.traits.merge_rows = true;

  CpuTarget v3 = v2;
  v3.name = v3.level = "x86-64-v3";
  v3.features.insert(v3.features.end(), {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"});
  v3.traits.vector_bytes = 32;
  v3.traits.fused_multiply_add = true;
  v3.traits.half_conversions = true;

  CpuTarget v4 = v3;
  v4.name = v4.level = "x86-64-v4";
  v4.features.insert(v4.features.end(), {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"});
  v4.traits.vector_bytes = 64;
  v4.traits.vector_registers = 32;
  return {v2, v3, v4};
}

// Ascending: each includes the ones before it.
const std::vector<CpuTarget>& PlainLevels() {
  static const auto& levels = *new std::vector<CpuTarget>(MakePlainLevels());
  return levels;
}

// LLVM's x86-64 target, initialized; null if LLVM was built without it.
const llvm::Target* Backend() {
  static const llvm::Target* const backend = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    std::string error;
    return llvm::TargetRegistry::lookupTarget(kTriple, error);
  }();
  return backend;
}

bool BackendKnows(const std::string& feature) {
  if (Backend() == nullptr) return false;
  const std::unique_ptr<llvm::MCSubtargetInfo> info(Backend()->createMCSubtargetInfo(kTriple, "", ""));
  const auto known = info->getAllProcessorFeatures();
  return std::any_of(known.begin(), known.end(), [&](const auto& entry) { return feature == entry.Key; });
}

bool Lists(const CpuTarget& target, const char* feature) {
  return std::count(target.features.begin(), target.features.end(), feature) > 0;
}

// Sets the traits of features beyond those of the level. bf16 matmuls need AVX-512 registers.
void SetTraitsOfFeatures(CpuTarget& target) {
  const bool dot_products = Lists(target, target.traits.vector_bytes == 64 ? "avx512vnni" : "avxvnni");
  if (dot_products) target.traits.integer_matmuls = IntegerMatmuls::kDotProducts;
  if (target.level != "x86-64-v4") return;
  if (Lists(target, "avx512bf16")) target.traits.bf16_matmuls = BF16Matmuls::kPairs;
  if (dot_products && Lists(target, "amx-int8") && Lists(target, "amx-tile")) {
    target.traits.integer_matmuls = IntegerMatmuls::kTiles;
  }
  if (Lists(target, "amx-bf16") && Lists(target, "amx-tile")) target.traits.bf16_matmuls = BF16Matmuls::kTiles;
}

}  // namespace

absl::StatusOr<CpuTarget> FindCpuTarget(absl::string_view name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '+');
  const auto level = std::find_if(PlainLevels().begin(), PlainLevels().end(),
                                  [&](const CpuTarget& target) { return target.name == parts[0]; });
  if (level == PlainLevels().end()) {
    const std::string known =
        absl::StrJoin(PlainLevels(), ", ", [](std::string* out, const CpuTarget& t) { out->append(t.name); });
    return absl::InvalidArgumentError(absl::StrCat("unknown CPU target \"", name, "\"; known are ", known,
                                                   ", each also with more features: x86-64-v4+avx512bf16"));
  }
  CpuTarget target = *level;
  target.name = std::string(name);
  for (size_t i = 1; i < parts.size(); ++i) {
    if (!BackendKnows(parts[i])) {
      return absl::InvalidArgumentError(absl::StrCat("CPU target \"", name, "\": unknown feature \"", parts[i], "\""));
    }
    const bool listed = std::count(target.features.begin(), target.features.end(), parts[i]) > 0;
    if (!listed) target.features.push_back(parts[i]);
  }
  target.level = level->name;
  SetTraitsOfFeatures(target);
  return target;
}

const std::vector<CpuTarget>& CpuLevels() {
  static const auto& levels = *new std::vector<CpuTarget>([] {
    std::vector<CpuTarget> all = PlainLevels();
    all.push_back(*FindCpuTarget(kDotProductsLevel));
    all.push_back(*FindCpuTarget(kByteTilesLevel));
    all.push_back(*FindCpuTarget("x86-64-v4+avx512bf16"));
    all.push_back(*FindCpuTarget("x86-64-v4+avx512bf16+amx-tile+amx-bf16"));
    return all;
  }());
  return levels;
}

bool RunsHere(const CpuTarget& target) {
  const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  return std::all_of(target.features.begin(), target.features.end(),
                     [&](const std::string& feature) { return host.lookup(feature); });
}

const CpuTarget& HostCpuTarget() {
  static const CpuTarget& best = *std::find_if(CpuLevels().rbegin(), std::prev(CpuLevels().rend()), RunsHere);
  return best;
}

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const CpuTarget& target,
                                                                       llvm::CodeGenOptLevel effort) {
  const llvm::Target* backend = Backend();
  if (backend == nullptr) return absl::InternalError("LLVM has no x86-64 back end");
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::string features = absl::StrJoin(
      target.features, ",", [](std::string* out, const std::string& feature) { absl::StrAppend(out, "+", feature); });
  // Else LLVM splits a dot product of i16 into a multiplication and an addition, for its latency.
  absl::StrAppend(&features, ",+fast-dpwssd");
  std::unique_ptr<llvm::TargetMachine> machine(backend->createTargetMachine(
      kTriple, target.level, features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small, effort));
  if (machine == nullptr) return absl::InternalError(absl::StrCat("no target machine for ", target.name));
  return machine;
}

}  // namespace tailor
