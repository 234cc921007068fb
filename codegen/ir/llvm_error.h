// LLVM's errors as absl::Status.
#ifndef TAILOR_CODEGEN_IR_LLVM_ERROR_H_
#define TAILOR_CODEGEN_IR_LLVM_ERROR_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/Error.h"

namespace tailor {

// OK for success, else INTERNAL "<doing>: <LLVM's message>". Consumes `error`.
absl::Status ToStatus(llvm::Error error, absl::string_view doing);

// While it lives, error diagnostics of `context` are collected: without a handler LLVM prints them and ends the
// process. An error does not stop LLVM: whoever runs passes asks `status` afterwards. Not for LLVM's fatal errors,
// which have no handler that may return.
class CollectedDiagnostics {
 public:
  explicit CollectedDiagnostics(llvm::LLVMContext& context);
  ~CollectedDiagnostics();
  CollectedDiagnostics(const CollectedDiagnostics&) = delete;
  CollectedDiagnostics& operator=(const CollectedDiagnostics&) = delete;

  // OK without an error, else INTERNAL "<doing>: <LLVM's messages>".
  absl::Status status(absl::string_view doing) const;

 private:
  llvm::LLVMContext& context_;
  std::unique_ptr<llvm::DiagnosticHandler> before_;
  std::string errors_;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_IR_LLVM_ERROR_H_
