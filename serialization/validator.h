// What must hold of a Program beyond its encoding, whoever made it. The writer asks before it
// writes and the reader after it has read, so that exec may trust every index, size and name.
#ifndef TAILOR_SERIALIZATION_VALIDATOR_H_
#define TAILOR_SERIALIZATION_VALIDATOR_H_

#include <cstdint>
#include <string>

#include "codegen/contract/program.h"

namespace tailor {

// More shape cache words than any program keeps; bounds what loading may allocate.
inline constexpr uint64_t kMaxShapeCacheSlots = 1 << 20;

// The first broken rule in words ("input \"x\": rank is 9, at most 8"), or "" where all hold.
std::string FindProblem(const Program& program);

// Bytes that a constant of this type, logical dims and layout has. False where dims are negative, do
// not fit the layout, or the size leaves uint64.
bool PhysicalBytes(const ProgramConstant& constant, uint64_t* bytes);

}  // namespace tailor

#endif  // TAILOR_SERIALIZATION_VALIDATOR_H_
