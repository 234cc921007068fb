// Deduplicates the constants of a compilation. Versions of a graph, loop regions and repeated rewrites produce
// constants with equal bytes at different addresses.
#ifndef TAILOR_CODEGEN_LOWER_CONSTANT_TABLE_H_
#define TAILOR_CODEGEN_LOWER_CONSTANT_TABLE_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "codegen/lower/lowered_program.h"

namespace tailor::lower {

class ConstantTable {
 public:
  // The index of `constant` in `constants`; appends it if it is missing. Only this function may append to `constants`.
  // O(1), plus a comparison of the bytes of similar constants.
  int NumberOf(LoweredProgram::Constant constant, std::vector<LoweredProgram::Constant>& constants);

 private:
  absl::flat_hash_map<size_t, std::vector<int>> alike_;  // by hash of type, layout and a sample of the bytes
};

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_CONSTANT_TABLE_H_
