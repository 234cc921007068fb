#include "exec/fault.h"

#include <string>
#include <string_view>

#include "exec/host_abi.h"

namespace tailor {
namespace {

std::string Render(std::string_view message, int64_t lhs, int64_t rhs) {
  constexpr std::string_view kLhs = "{lhs}", kRhs = "{rhs}";
  std::string text;
  while (!message.empty()) {
    if (message.starts_with(kLhs)) {
      text += std::to_string(lhs);
      message.remove_prefix(kLhs.size());
    } else if (message.starts_with(kRhs)) {
      text += std::to_string(rhs);
      message.remove_prefix(kRhs.size());
    } else {
      text += message.front();
      message.remove_prefix(1);
    }
  }
  return text;
}

Failure DescribeCheck(const Program& program, const Fault& fault) {
  if (fault.index == kCheckOverflow) {
    return {Code::kInvalidArgument, "the inputs' dims are too large: a size computed from them leaves 64 bits", ""};
  }
  if (fault.index < 0 || static_cast<size_t>(fault.index) >= program.checks.size()) {
    return {Code::kInternal, "the compiled program failed a check that it does not list", ""};
  }
  const ProgramCheck& check = program.checks[fault.index];
  return {Code::kInvalidArgument, Render(check.message, fault.lhs, fault.rhs), check.node};
}

Failure DescribeNumber(const Fault& fault) {
  constexpr const char* kNames[] = {"output", "growing block", "device kernel", "device", "custom call"};
  return {Code::kInternal,
          "the compiled program named " + std::string(kNames[fault.index]) + " " + std::to_string(fault.lhs) +
              ", but there are " + std::to_string(fault.rhs),
          ""};
}

}  // namespace

bool TakeFault(volatile int64_t* record, Fault* out) {
  if (record[0] == 0) return false;
  *out = {Fault::Kind::kCheck, static_cast<int32_t>(record[0] - 1), 0, record[1], record[2]};
  for (int i = 0; i < 4; ++i) record[i] = 0;
  return true;
}

Failure DescribeFault(const Program& program, const Fault& fault) {
  const std::string lhs = std::to_string(fault.lhs), rhs = std::to_string(fault.rhs);
  const bool is_output = fault.index >= 0 && static_cast<size_t>(fault.index) < program.outputs.size();
  const std::string output = is_output ? "output \"" + program.outputs[fault.index].name + "\"" : "an unknown output";
  switch (fault.kind) {
    case Fault::Kind::kNone:
      break;
    case Fault::Kind::kCheck:
      return DescribeCheck(program, fault);
    case Fault::Kind::kWorkspace:
      return {Code::kResourceExhausted, "no memory for a workspace of " + lhs + " bytes", ""};
    case Fault::Kind::kOutputMemory:
      return {Code::kResourceExhausted, output + ": no memory for its " + lhs + " bytes", ""};
    case Fault::Kind::kOutputDim:
      return {Code::kInvalidArgument,
              output + " dim " + std::to_string(fault.dim) + " is " + lhs + ", but the result has " + rhs, ""};
    case Fault::Kind::kDevice:
    case Fault::Kind::kCustom:
      break;
    case Fault::Kind::kOutputBytes:
      return {Code::kInvalidArgument, output + ": data_bytes is " + lhs + ", but the result has " + rhs, ""};
    case Fault::Kind::kProvider:
      return {Code::kInternal, "the matmul provider failed with code " + lhs, ""};
    case Fault::Kind::kCancelled:
      return {Code::kCancelled, "the run was cancelled", ""};
    case Fault::Kind::kDeadline:
      return {Code::kDeadlineExceeded, "the run did not end within its timeout of " + lhs + " ns", ""};
    case Fault::Kind::kNumber:
      return DescribeNumber(fault);
  }
  return {Code::kInternal, "the compiled program failed without a reason", ""};
}

}  // namespace tailor
