// The one conversion from llvm::Error to absl::Status.
#ifndef TAILOR_CODEGEN_IR_LLVM_ERROR_H_
#define TAILOR_CODEGEN_IR_LLVM_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "llvm/Support/Error.h"

namespace tailor {

// OK for success, else INTERNAL "<doing>: <LLVM's message>". Consumes `error`.
absl::Status ToStatus(llvm::Error error, absl::string_view doing);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_IR_LLVM_ERROR_H_
