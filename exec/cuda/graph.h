// CudaGraph: the launches of a run as one CUDA graph, a chain of kernel nodes in the order in which they are asked for.
// The first run makes it. A later one patches the nodes whose function, grid or parameters are others than before, and
// asks the driver for the whole by one call. Nodes beyond the launches of a run are disabled. The graph is made anew
// for a run that has more launches than nodes, and for one that launches a kernel with all blocks at once at a node of
// another kind, or the other way round, which no driver changes in place.
// Used by one thread at a time, while the device's context is current.
#ifndef TAILOR_EXEC_CUDA_GRAPH_H_
#define TAILOR_EXEC_CUDA_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/cuda/call.h"
#include "exec/cuda/kernel_parameters.h"
#include "exec/cuda/program.h"
#include "exec/host_abi.h"

namespace tailor {

class CudaGraph {
 public:
  // For runs of at most Variant::launches launches; needs a driver that has graphs. `program` outlives the graph.
  explicit CudaGraph(const CudaProgram& program);
  CudaGraph(const CudaGraph&) = delete;
  // What is in flight goes on.
  ~CudaGraph() { Discard(); }

  // A run begins, which has no launches yet.
  void Begin() { count_ = 0; }
  // The run's next launch. `args` is copied. False where the run has more launches than the program.
  bool Add(int32_t kernel, const int64_t* args, const LaunchGrid& grid);
  // Asks for the launches since Begin. On failure none is asked for, and the next run makes the graph anew.
  CudaCall Launch(cuda::Stream stream);

 private:
  // A launch, as it was asked for last and as the executable graph has it.
  struct Node {
    cuda::GraphNode node = nullptr;
    int32_t kernel = -1;
    bool stale = true;         // it was asked for otherwise since
    bool enabled = false;      // in the executable graph
    bool cooperative = false;  // in the executable graph, for good
    LaunchGrid grid = {};
  };

  int64_t* SlotsOf(size_t node) { return &slots_[node * most_parameters_]; }
  // Valid until the next call.
  CudaCall ReadParams(size_t node, cuda::KernelNodeParams* params);
  CudaCall Note(size_t node, cuda::Result result, const char* call) const {
    return {result, call, nodes_[node].kernel, nodes_[node].grid};
  }
  bool Fits() const;
  CudaCall Make();
  CudaCall AddNode(size_t i);
  CudaCall Patch();
  void Discard();

  const CudaProgram& program_;
  const CudaDriver& driver_;
  const size_t most_parameters_;  // of any kernel
  size_t count_ = 0;              // launches of the run
  size_t made_ = 0;               // nodes of the executable graph
  std::vector<Node> nodes_;
  std::vector<int64_t> slots_;     // parameters, most_parameters_ for each node
  std::vector<void*> parameters_;  // where those of one node lie
  KernelParameters kernel_parameters_;
  cuda::DriverGraph graph_ = nullptr;  // what nodes belong to
  cuda::GraphExec exec_ = nullptr;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_GRAPH_H_
