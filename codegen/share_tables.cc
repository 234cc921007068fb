#include "codegen/share_tables.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/constant_table.h"

namespace tailor {
namespace {

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
  ConstantTable table;
  std::vector<LoweredProgram::Constant> shared;
  for (LoweredProgram::Constant& constant : first.constants) table.NumberOf(std::move(constant), shared);
  std::vector<int> numbers;
  for (LoweredProgram::Constant& constant : second.constants) {
    numbers.push_back(table.NumberOf(std::move(constant), shared));
  }
  first.constants = std::move(shared);
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
