#include "codegen/cpu/prebuilt/prebuilt.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "llvm/ADT/StringRef.h"
#include "llvm/Object/Archive.h"
#include "llvm/Support/Error.h"

// The archives that build/ writes, one per target.
#define TAILOR_ARCHIVE(symbol, file)                                                                                 \
  __asm__(".section .rodata." #symbol ",\"a\",@progbits\n.balign 8\n" #symbol ":\n.incbin \"" TAILOR_PREBUILT_FOLDER \
          "/" file "\"\n" #symbol "_end:\n.previous\n");                                                             \
  extern "C" __attribute__((visibility("hidden"))) const char symbol[], symbol##_end[]

TAILOR_ARCHIVE(tailor_micro_kernels_v2, "x86-64-v2.a");
TAILOR_ARCHIVE(tailor_micro_kernels_v3, "x86-64-v3.a");
TAILOR_ARCHIVE(tailor_micro_kernels_v4, "x86-64-v4.a");
TAILOR_ARCHIVE(tailor_micro_kernels_vnni, "x86-64-v4+avx512vnni.a");
#undef TAILOR_ARCHIVE

namespace tailor::prebuilt {
namespace {

using Objects = std::map<std::string, llvm::MemoryBufferRef>;  // by the name of the micro-kernel

Objects ReadArchive(llvm::StringRef bytes) {
  Objects objects;
  const auto archive = llvm::cantFail(llvm::object::Archive::create(llvm::MemoryBufferRef(bytes, "micro-kernels")));
  llvm::Error error = llvm::Error::success();
  for (const llvm::object::Archive::Child& child : archive->children(error)) {
    const llvm::MemoryBufferRef object = llvm::cantFail(child.getMemoryBufferRef());
    objects.emplace(object.getBufferIdentifier().str(), object);
  }
  llvm::cantFail(std::move(error));
  return objects;
}

llvm::StringRef Between(const char* begin, const char* end) { return {begin, static_cast<size_t>(end - begin)}; }

// The target whose archive has the code that `target` needs for `kernel`: floats use no more features than the level
// has, integers those that multiply them. Empty: none.
std::string ArchiveOf(const gemm::MicroKernel& kernel, const CpuTarget& target) {
  const bool plain = kernel.rhs == DType::kF32 || target.traits.integer_matmuls == IntegerMatmuls::kPairs;
  if (plain) return target.level;
  const bool multiplies_tiles = target.traits.integer_matmuls == IntegerMatmuls::kTiles && kernel.rhs == DType::kI8;
  return target.level == "x86-64-v4" && !multiplies_tiles ? kDotProductsLevel : "";
}

}  // namespace

std::optional<llvm::MemoryBufferRef> FindMicroKernel(const gemm::MicroKernel& kernel, const CpuTarget& target) {
  static const auto& archives = *new std::map<std::string, Objects>{
      {"x86-64-v2", ReadArchive(Between(tailor_micro_kernels_v2, tailor_micro_kernels_v2_end))},
      {"x86-64-v3", ReadArchive(Between(tailor_micro_kernels_v3, tailor_micro_kernels_v3_end))},
      {"x86-64-v4", ReadArchive(Between(tailor_micro_kernels_v4, tailor_micro_kernels_v4_end))},
      {kDotProductsLevel, ReadArchive(Between(tailor_micro_kernels_vnni, tailor_micro_kernels_vnni_end))}};
  const auto archive = archives.find(ArchiveOf(kernel, target));
  if (archive == archives.end()) return std::nullopt;
  const auto object = archive->second.find(NameOf(kernel));
  return object == archive->second.end() ? std::nullopt : std::optional(object->second);
}

}  // namespace tailor::prebuilt
