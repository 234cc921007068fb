#include "codegen/backend/code_bounds.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "codegen/ir/llvm_error.h"
#include "llvm/Object/ELFObjectFile.h"

namespace tailor::backend {
namespace {

// Removes and returns the number N at the start of "N_..."; -1 if there is none.
int64_t TakeNumber(llvm::StringRef& text) {
  uint64_t number;
  return text.consumeInteger(10, number) ? -1 : static_cast<int64_t>(number);
}

// Bytes of all versions except the last.
uint64_t SpecialBytes(const KernelCode& code) {
  if (code.versions.empty()) return 0;
  return std::accumulate(code.versions.begin(), code.versions.end() - 1, uint64_t{0});
}

}  // namespace

absl::Status ReadKernelCode(const llvm::MemoryBuffer& object, std::vector<KernelCode>* codes) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(object.getMemBufferRef());
  if (!file) return ToStatus(file.takeError(), "read object");
  for (const llvm::object::ELFSymbolRef symbol : static_cast<llvm::object::ELFObjectFileBase&>(**file).symbols()) {
    if (symbol.getELFType() != llvm::ELF::STT_FUNC) continue;
    auto name = symbol.getName();
    if (!name) return ToStatus(name.takeError(), "read object");
    llvm::StringRef rest = *name;
    if (!rest.consume_front("k")) continue;
    const int64_t kernel = TakeNumber(rest);
    if (kernel < 0 || kernel >= static_cast<int64_t>(codes->size()) || !rest.consume_front("_")) continue;
    KernelCode& code = (*codes)[kernel];
    code.all += symbol.getSize();
    if (!rest.consume_front("v")) continue;
    const int64_t version = TakeNumber(rest);
    if (version < 0 || !(rest.empty() || rest.starts_with("_"))) continue;
    if (version >= static_cast<int64_t>(code.versions.size())) code.versions.resize(version + 1);
    code.versions[version] += symbol.getSize();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int>> BoundCode(const CodeBounds& bounds, uint64_t image_bytes,
                                           const std::vector<KernelCode>& codes, std::vector<Schedule>& schedules,
                                           std::vector<DroppedVersions>& dropped) {
  std::vector<int> shrunk;
  if (image_bytes <= bounds.bytes) return shrunk;
  std::vector<int> order(codes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return SpecialBytes(codes[a]) > SpecialBytes(codes[b]); });
  const std::string bound = absl::StrCat("more than ", bounds.bytes, " bytes of code");
  uint64_t excess = image_bytes - bounds.bytes;
  for (int kernel : order) {
    if (excess == 0 || SpecialBytes(codes[kernel]) == 0) break;
    excess -= std::min(excess, SpecialBytes(codes[kernel]));
    DropVersions(schedules[kernel].versions.size() - 1, bound, schedules[kernel].versions, dropped[kernel]);
    shrunk.push_back(kernel);
  }
  if (shrunk.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat("the code takes ", image_bytes, " bytes with one version of each ",
                                                     "kernel, but max_code_bytes is ", bounds.bytes));
  }
  std::sort(shrunk.begin(), shrunk.end());
  return shrunk;
}

}  // namespace tailor::backend
