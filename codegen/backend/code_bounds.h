// Limits on machine code: the number of versions per kernel, and the bytes of an image; over a limit, versions are
// dropped. The reason: versions multiply, and most are never taken (BladeDISC section 5.2.1).
//
// Versions are tried in order and the last one serves all shapes, so any other may be dropped. The first are dropped
// first: their guards are the most specific. Dropped versions are listed beside the remaining ones, with the limit.
#ifndef TAILOR_CODEGEN_BACKEND_CODE_BOUNDS_H_
#define TAILOR_CODEGEN_BACKEND_CODE_BOUNDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "codegen/plan/schedule.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tailor::backend {

struct CodeBounds {
  uint64_t versions = 8;      // per kernel; at least 1
  uint64_t bytes = 64 << 20;  // per image of a target

  friend bool operator==(const CodeBounds&, const CodeBounds&) = default;
};

// The dropped versions of one kernel: "d0 >= 2 (more than 1 version)".
using DroppedVersions = std::vector<std::string>;

inline const Version& GuardsOf(const Version& version) { return version; }

// Drops the first `count` versions. Requires GuardsOf(const AnyVersion&).
template <class AnyVersion>
void DropVersions(size_t count, const std::string& bound, std::vector<AnyVersion>& versions, DroppedVersions& dropped) {
  for (size_t v = 0; v < count; ++v) {
    dropped.push_back(absl::StrCat(VersionText(GuardsOf(versions[v])), " (", bound, ")"));
  }
  versions.erase(versions.begin(), versions.begin() + count);
}

// Drops versions until at most bounds.versions remain.
template <class AnyVersion>
void BoundVersions(const CodeBounds& bounds, std::vector<AnyVersion>& versions, DroppedVersions& dropped) {
  const uint64_t most = bounds.versions;
  if (versions.size() <= most) return;
  DropVersions(versions.size() - most, absl::StrCat("more than ", most, most == 1 ? " version" : " versions"), versions,
               dropped);
}

// Machine code bytes of a kernel and of its versions, as in its module's object.
struct KernelCode {
  uint64_t all = 0;
  std::vector<uint64_t> versions;  // in order; shared code counts only in `all`
};

// Reads the sizes of functions k<i>_v<j> and k<i>_v<j>_*, which are version j's, and of all other functions named
// k<i>_*, for kernels i < `codes->size()`.
// INTERNAL if `object` is not an object file.
absl::Status ReadKernelCode(const llvm::MemoryBuffer& object, std::vector<KernelCode>* codes);

// Keeps only the last version in as many schedules as needed to bring `image_bytes` below bounds.bytes, starting with
// the kernels whose other versions are largest. Returns these kernels, ascending; empty if the image is small enough.
// RESOURCE_EXHAUSTED if one version per kernel is too much.
absl::StatusOr<std::vector<int>> BoundCode(const CodeBounds& bounds, uint64_t image_bytes,
                                           const std::vector<KernelCode>& codes, std::vector<Schedule>& schedules,
                                           std::vector<DroppedVersions>& dropped);

}  // namespace tailor::backend

#endif  // TAILOR_CODEGEN_BACKEND_CODE_BOUNDS_H_
