// Checks a Program's invariants beyond its encoding, whoever made it. The writer runs it before writing and the reader
// after reading, so that exec may trust every index, size and name.
#ifndef TAILOR_SERIALIZATION_VALIDATOR_H_
#define TAILOR_SERIALIZATION_VALIDATOR_H_

#include <cstdint>
#include <string>

#include "codegen/contract/program.h"

namespace tailor {

// Above the shape cache words of any real program; bounds the allocation at load.
inline constexpr uint64_t kMaxShapeCacheSlots = 1 << 20;

// The first broken rule ("input \"x\": rank is 9, at most 8"), or "" if all hold.
std::string FindProblem(const Program& program);

// The byte size of a constant of this dtype, logical dims and layout. False if dims are negative or do not fit the
// layout, or on overflow of uint64.
bool PhysicalBytes(const ProgramConstant& constant, uint64_t* bytes);

}  // namespace tailor

#endif  // TAILOR_SERIALIZATION_VALIDATOR_H_
