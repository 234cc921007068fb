#include "codegen/ir/llvm_error.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/Support/raw_ostream.h"

namespace tailor {
namespace {

struct ErrorCollector : llvm::DiagnosticHandler {
  explicit ErrorCollector(std::string& errors) : errors(errors) {}

  // Returns false for what is no error: LLVM prints warnings.
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return false;
    llvm::raw_string_ostream out(errors);
    if (!errors.empty()) out << "; ";
    llvm::DiagnosticPrinterRawOStream printer(out);
    info.print(printer);
    return true;
  }

  std::string& errors;
};

}  // namespace

absl::Status ToStatus(llvm::Error error, absl::string_view doing) {
  if (!error) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(doing, ": ", llvm::toString(std::move(error))));
}

CollectedDiagnostics::CollectedDiagnostics(llvm::LLVMContext& context)
    : context_(context), before_(context.getDiagnosticHandler()) {
  context.setDiagnosticHandler(std::make_unique<ErrorCollector>(errors_));
}

CollectedDiagnostics::~CollectedDiagnostics() { context_.setDiagnosticHandler(std::move(before_)); }

absl::Status CollectedDiagnostics::status(absl::string_view doing) const {
  if (errors_.empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(doing, ": ", errors_));
}

}  // namespace tailor
