// Loop: appends a `while` for builders. It makes both regions and passes values of the surrounding graph as arguments.
#ifndef TAILOR_GRAPH_LOOP_H_
#define TAILOR_GRAPH_LOOP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// A `while` under construction. Both regions get all arguments first: argument i is Value{i, 0} in either. The builder
// then appends to condition() and body(), and Finish() appends the while. A symbol that is by itself a dim size of some
// argument exists in the regions too, and dim sizes over such symbols keep their expression. Any other dim size becomes
// a symbol of the region.
class Loop {
 public:
  struct Operand {
    std::string name;
    Value value;
  };

  // `carried` values change between iterations, or are read by the condition too. `read` values are for the body only:
  // constants among them are constants there, over the same bytes.
  static absl::StatusOr<Loop> Create(Graph* graph, std::vector<Operand> carried, const std::vector<Operand>& read);

  Graph& condition() { return condition_; }
  Graph& body() { return body_; }
  Value carried(size_t i) const { return {static_cast<NodeId>(i), 0}; }
  Value read(size_t i) const { return read_[i]; }  // in the body

  // `go_on` is the condition's result, bool[]. `next` lists the first carried values after an iteration; carried values
  // beyond the list are unchanged. Returns the carried values after the loop.
  absl::StatusOr<std::vector<Value>> Finish(Value go_on, std::vector<Value> next) &&;

 private:
  explicit Loop(Graph* graph) : graph_(*graph), condition_("condition"), body_("body") {}

  Graph& graph_;
  Graph condition_, body_;
  std::vector<Value> operands_, read_;
};

}  // namespace tailor

#endif  // TAILOR_GRAPH_LOOP_H_
