// The constants of a compilation, each once: those of two versions of a graph, of loops, and what rewrites computed
// twice have equal bytes, not one address.
#ifndef TAILOR_CODEGEN_LOWER_CONSTANT_TABLE_H_
#define TAILOR_CODEGEN_LOWER_CONSTANT_TABLE_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "codegen/lower/lowered_program.h"

namespace tailor::lower {

class ConstantTable {
 public:
  // The number of `constant` in `constants`, to which it is added if it is not there. All additions to `constants` are
  // by this function. O(1), but for the bytes of constants that are alike.
  int NumberOf(LoweredProgram::Constant constant, std::vector<LoweredProgram::Constant>& constants);

 private:
  absl::flat_hash_map<size_t, std::vector<int>> alike_;  // by hash of type, layout and some of the bytes
};

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_CONSTANT_TABLE_H_
