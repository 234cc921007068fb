#include "graph/visits.h"

namespace tailor {
namespace {

thread_local uint64_t visits = 0;

}  // namespace

uint64_t Visits() { return visits; }
void CountVisits(uint64_t count) { visits += count; }

}  // namespace tailor
