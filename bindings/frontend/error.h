// Failures of a front end. Inside a front end they are exceptions; its C functions turn them into statuses.
#ifndef TAILOR_BINDINGS_FRONTEND_ERROR_H_
#define TAILOR_BINDINGS_FRONTEND_ERROR_H_

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "tailor/compiler.h"

namespace tailor::frontend {

class Error : public std::exception {
 public:
  Error(int32_t code, std::string reason, std::string node = "")
      : code_(code), reason_(std::move(reason)), node_(std::move(node)) {}

  int32_t code() const { return code_; }
  const std::string& reason() const { return reason_; }
  // What is at fault, as errors name it: `Gather node "x"`. Empty if not known yet.
  const std::string& node() const { return node_; }
  // Inputs of the model whose values, if fixed, would avoid the error.
  const std::vector<std::string>& inputs() const { return inputs_; }
  const char* what() const noexcept override { return reason_.c_str(); }

  Error At(std::string node) const;  // a copy that names `node`, unless it names one already
  Error Needing(std::vector<std::string> inputs) const;

 private:
  int32_t code_;
  std::string reason_, node_;
  std::vector<std::string> inputs_;
};

// A model that is wrong: INVALID_ARGUMENT.
[[noreturn]] void Fail(std::string reason);
// A valid model that is not supported: UNIMPLEMENTED.
[[noreturn]] void Unsupported(std::string reason);
// Throws the status as an Error, and releases it.
void Check(tailor_status* status);
// The status for the exception that is being handled. Never throws.
tailor_status* CurrentStatus() noexcept;

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_ERROR_H_
