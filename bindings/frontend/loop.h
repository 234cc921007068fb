// Loops: what a body changes, the rows that each iteration leaves, and when the loop ends.
#ifndef TAILOR_BINDINGS_FRONTEND_LOOP_H_
#define TAILOR_BINDINGS_FRONTEND_LOOP_H_

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bindings/frontend/region.h"
#include "bindings/frontend/tensor.h"

namespace tailor::frontend {

// What one iteration returns, tensors of the region.
struct LoopStep {
  Tensor condition;  // one bool: whether there is another iteration. Absent or constant true: it never ends the loop
  std::vector<Tensor> states;
  std::vector<Tensor> rows;  // stacked along a new first dim
};

// Builds the body in a region. `captured`: the closure's tensors inside; `iteration`: i64 of rank 0.
// Called again with a new region while it changes dims that were taken as fixed.
using LoopBody = std::function<LoopStep(Region& region, const std::vector<Tensor>& captured, const Tensor& iteration,
                                        const std::vector<Tensor>& states)>;

struct Loop {
  const Closure& closure;
  std::vector<std::string> names;  // of the iteration number and of each state
  std::vector<Tensor> states;      // before the first iteration
  LoopBody body;
  std::optional<Element> trips;  // the most iterations; nullopt: no bound
  Tensor condition;              // whether there is a first iteration: bool of rank 0; absent: true
  std::set<size_t> reversed;     // rows that are stacked from the last to the first
  // States that the body does not read. One may change its type: before the first iteration it then is zeros, of size 0
  // along dims that only the body knows.
  std::set<size_t> unread = {};
};

struct LoopResults {
  std::vector<Tensor> states;  // after the last iteration
  std::vector<Tensor> rows;    // [iterations, ...]
};

// Appends a loop. States keep their types and ranks, but one element has the highest rank that it has in the loop; dims
// that the body changes are new symbols, which states that change alike share.
LoopResults AppendLoop(const Loop& loop);

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_LOOP_H_
