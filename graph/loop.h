// Loop: how builders append a `while`. It makes both regions, whose arguments take values of the graph around.
#ifndef TAILOR_GRAPH_LOOP_H_
#define TAILOR_GRAPH_LOOP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// A while under construction. Both regions get all arguments first, so that argument i is Value{i, 0} in either; the
// builder then appends to condition() and body(), and Finish() appends the while. Dim sizes of arguments are
// expressions over the same symbols as outside where an argument has the symbol alone as a dim size, else symbols of
// the region.
class Loop {
 public:
  struct Operand {
    std::string name;
    Value value;
  };

  // `carried` changes from one iteration to the next, or is read by the condition too; `read` is for the body alone:
  // its constants are constants there, over the same bytes.
  static absl::StatusOr<Loop> Create(Graph* graph, std::vector<Operand> carried, const std::vector<Operand>& read);

  Graph& condition() { return condition_; }
  Graph& body() { return body_; }
  Value carried(size_t i) const { return {static_cast<NodeId>(i), 0}; }
  Value read(size_t i) const { return read_[i]; }  // in the body

  // `go_on` is the condition's bool[]; `next` are the first carried values after an iteration: what it does not list
  // stays as it is. Returns the carried values after the loop.
  absl::StatusOr<std::vector<Value>> Finish(Value go_on, std::vector<Value> next) &&;

 private:
  explicit Loop(Graph* graph) : graph_(*graph), condition_("condition"), body_("body") {}

  Graph& graph_;
  Graph condition_, body_;
  std::vector<Value> operands_, read_;
};

}  // namespace tailor

#endif  // TAILOR_GRAPH_LOOP_H_
