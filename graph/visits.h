// How much a compilation looks at: nodes, pairs of groups, terms of expressions, proofs, pairs of memory blocks.
// Counted on one counter a thread, independent of the machine and of what was compiled before.
#ifndef TAILOR_GRAPH_VISITS_H_
#define TAILOR_GRAPH_VISITS_H_

#include <cstdint>

namespace tailor {

// Of the calling thread, since it started.
uint64_t Visits();
void CountVisits(uint64_t count = 1);

}  // namespace tailor

#endif  // TAILOR_GRAPH_VISITS_H_
