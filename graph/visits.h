// A deterministic measure of compile work: visited nodes, pairs of groups, terms of dim expressions, fact queries,
// pairs of memory blocks. One counter per thread. Equal compilations have equal counts on any machine.
#ifndef TAILOR_GRAPH_VISITS_H_
#define TAILOR_GRAPH_VISITS_H_

#include <cstdint>

namespace tailor {

// Visits of the calling thread since it started.
uint64_t Visits();
void CountVisits(uint64_t count = 1);

}  // namespace tailor

#endif  // TAILOR_GRAPH_VISITS_H_
