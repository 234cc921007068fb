#include "codegen/ir/llvm_error.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tailor {

absl::Status ToStatus(llvm::Error error, absl::string_view doing) {
  if (!error) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(doing, ": ", llvm::toString(std::move(error))));
}

}  // namespace tailor
