// The bounds on machine code (BladeDISC section 5.2.1: versions multiply, and most are never taken): the one rule for
// how many versions a kernel has, and what is left out where that is too much.
//
// A version is tried before those after it and the last serves all shapes, so any but the last can go. Those tried
// first go first: their guards ask for most. What goes is written beside the versions that stay, with the bound.
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
  uint64_t versions = 8;      // of one kernel; at least 1
  uint64_t bytes = 64 << 20;  // of the image of one target

  friend bool operator==(const CodeBounds&, const CodeBounds&) = default;
};

// What one kernel has been left without: "d0 >= 2 (more than 1 version)".
using DroppedVersions = std::vector<std::string>;

inline const Version& GuardsOf(const Version& version) { return version; }

// Drops the first `count` versions. AnyVersion has GuardsOf(version).
template <class AnyVersion>
void DropVersions(size_t count, const std::string& bound, std::vector<AnyVersion>& versions, DroppedVersions& dropped) {
  for (size_t v = 0; v < count; ++v) {
    dropped.push_back(absl::StrCat(VersionText(GuardsOf(versions[v])), " (", bound, ")"));
  }
  versions.erase(versions.begin(), versions.begin() + count);
}

// Leaves at most bounds.versions.
template <class AnyVersion>
void BoundVersions(const CodeBounds& bounds, std::vector<AnyVersion>& versions, DroppedVersions& dropped) {
  const uint64_t most = bounds.versions;
  if (versions.size() <= most) return;
  DropVersions(versions.size() - most, absl::StrCat("more than ", most, most == 1 ? " version" : " versions"), versions,
               dropped);
}

// Bytes of machine code of kernel number i and of its versions, as its module's object has them.
struct KernelCode {
  uint64_t all = 0;
  std::vector<uint64_t> versions;  // in order; what they share is in `all` alone
};

// Reads the sizes of the functions k<i>_v<j> and of all others whose names begin with k<i>_. INTERNAL where `object` is
// none. Kernels are those numbered below `codes->size()`.
absl::Status ReadKernelCode(const llvm::MemoryBuffer& object, std::vector<KernelCode>* codes);

// Leaves the last version alone in as many schedules as it takes to bring `image_bytes` below bounds.bytes, beginning
// with those whose other versions are largest. Gives the numbers of those kernels, ascending: none where the image is
// small enough. RESOURCE_EXHAUSTED where one version of each kernel is too much.
absl::StatusOr<std::vector<int>> BoundCode(const CodeBounds& bounds, uint64_t image_bytes,
                                           const std::vector<KernelCode>& codes, std::vector<Schedule>& schedules,
                                           std::vector<DroppedVersions>& dropped);

}  // namespace tailor::backend

#endif  // TAILOR_CODEGEN_BACKEND_CODE_BOUNDS_H_
