#include "codegen/share_tables.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tailor {
namespace {

using Constant = LoweredProgram::Constant;

// What rewrites computed is there once for each lowering.
bool AreOne(const Constant& a, const Constant& b) {
  if (!(a.type == b.type) || a.layout != b.layout || a.transpose != b.transpose || a.data.size != b.data.size) {
    return false;
  }
  return a.data.data == b.data.data || std::memcmp(a.data.data, b.data.data, a.data.size) == 0;
}

int NumberOf(const Constant& constant, std::vector<Constant>& constants) {
  const auto is_it = [&](const Constant& known) { return AreOne(known, constant); };
  const auto found = std::find_if(constants.begin(), constants.end(), is_it);
  const auto number = static_cast<int>(found - constants.begin());
  if (found == constants.end()) constants.push_back(constant);
  return number;
}

int InputOf(const HostProgram& program, size_t output) {
  return output < program.memory_of.size() ? program.memory_of[output] : -1;
}

}  // namespace

absl::Status ShareTables(LoweredProgram& first, LoweredProgram& second) {
  const size_t outputs = std::max(first.programs[0].memory_of.size(), second.programs[0].memory_of.size());
  for (size_t i = 0; i < outputs; ++i) {
    const int input = InputOf(second.programs[0], i);
    if (input < 0 || input == InputOf(first.programs[0], i)) continue;
    return absl::UnimplementedError(absl::StrCat("output ", i,
                                                 " is in the memory of a donated input on GPUs and not on "
                                                 "CPUs: compile them apart"));
  }
  int checks = 0;
  for (const HostProgram& program : first.programs) checks += static_cast<int>(program.checks.size());
  std::vector<int> numbers;
  for (const Constant& constant : second.constants) numbers.push_back(NumberOf(constant, first.constants));
  for (HostProgram& program : second.programs) {
    program.first_check += checks;
    for (HostBuffer& buffer : program.buffers) {
      if (buffer.place == HostBuffer::Place::kConstant) buffer.index = numbers[buffer.index];
    }
  }
  second.constants.clear();
  return absl::OkStatus();
}

}  // namespace tailor
