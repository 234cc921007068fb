#include "codegen/driver/share_tables.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/lower/constant_table.h"

namespace tailor::driver {
namespace {

int InputOf(const host::HostProgram& program, size_t output) {
  return output < program.memory_of.size() ? program.memory_of[output] : -1;
}

}  // namespace

absl::Status ShareTables(lower::LoweredProgram& first, lower::LoweredProgram& second) {
  const size_t outputs = std::max(first.programs[0].memory_of.size(), second.programs[0].memory_of.size());
  for (size_t i = 0; i < outputs; ++i) {
    const int input = InputOf(second.programs[0], i);
    if (input < 0 || input == InputOf(first.programs[0], i)) continue;
    return absl::UnimplementedError(absl::StrCat("output ", i,
                                                 " is in the memory of a donated input on GPUs and not on "
                                                 "CPUs: compile them apart"));
  }
  int checks = 0;
  for (const host::HostProgram& program : first.programs) checks += static_cast<int>(program.checks.size());
  lower::ConstantTable table;
  std::vector<lower::LoweredProgram::Constant> shared;
  for (lower::LoweredProgram::Constant& constant : first.constants) table.NumberOf(std::move(constant), shared);
  std::vector<int> numbers;
  for (lower::LoweredProgram::Constant& constant : second.constants) {
    numbers.push_back(table.NumberOf(std::move(constant), shared));
  }
  first.constants = std::move(shared);
  for (host::HostProgram& program : second.programs) {
    program.first_check += checks;
    for (host::HostBuffer& buffer : program.buffers) {
      if (buffer.place == host::HostBuffer::Place::kConstant) buffer.index = numbers[buffer.index];
    }
  }
  second.constants.clear();
  return absl::OkStatus();
}

}  // namespace tailor::driver
