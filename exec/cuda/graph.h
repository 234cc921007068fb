// CudaGraph: the launches of a run, or a part of them, as one CUDA graph, a chain of kernel nodes in launch order. The
// first run creates it. A later run patches the nodes whose function, grid or parameters changed, and launches the
// whole by one call; nodes beyond the run's launches are disabled. The graph is created again for a run with more
// launches than nodes, or one that changes a node between cooperative and ordinary, which no driver can patch. Used by
// one thread at a time, with the device's context current.
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
  // Requires a driver with graphs. `program` outlives the graph.
  explicit CudaGraph(const CudaProgram& program);
  CudaGraph(const CudaGraph&) = delete;
  // Graph launches in progress continue.
  ~CudaGraph() { Discard(); }

  // Begins a run without launches.
  void Begin() { count_ = 0; }
  // Adds the run's next launch. `args` is copied. False if the graph is full: a loop launches its kernels again and
  // again, so that a run may have more launches than fit.
  bool Add(int32_t kernel, const int64_t* args, const LaunchGrid& grid);
  // Launches all kernels added since Begin. On failure none is launched, and the next run creates the graph again.
  CudaCall Launch(cuda::Stream stream);

 private:
  // The latest parameters of a launch, and its state in the executable graph.
  struct Node {
    cuda::GraphNode node = nullptr;
    int32_t kernel = -1;
    bool stale = true;         // differs from the executable graph
    bool enabled = false;      // in the executable graph
    bool cooperative = false;  // in the executable graph; cannot be patched
    LaunchGrid grid = {};
  };

  // A graph with so many nodes is made in about a millisecond. A program of more launches has a larger graph.
  static constexpr size_t kMostNodes = 1024;

  bool Grow();
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
  size_t prepared_ = 0;           // nodes of the executable graph
  std::vector<Node> nodes_;
  std::vector<int64_t> slots_;     // argument blocks, most_parameters_ per node
  std::vector<void*> parameters_;  // parameter addresses of one node
  KernelParameters kernel_parameters_;
  cuda::DriverGraph graph_ = nullptr;  // owns the nodes
  cuda::GraphExec exec_ = nullptr;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_GRAPH_H_
