#include "exec/cuda/graph.h"

#include <algorithm>
#include <cstring>

namespace tailor {
namespace {

bool operator==(const LaunchGrid& a, const LaunchGrid& b) {
  return a.blocks == b.blocks && a.shared_bytes == b.shared_bytes && a.cooperative == b.cooperative;
}

}  // namespace

CudaGraph::CudaGraph(const CudaProgram& program)
    : program_(program),
      driver_(program.device().driver()),
      most_parameters_(program.most_parameters()),
      nodes_(program.variant().launches.size()),
      slots_(nodes_.size() * most_parameters_),
      parameters_(most_parameters_),
      kernel_parameters_(driver_, program.variant().device_kernels) {}

bool CudaGraph::Add(int32_t kernel, const int64_t* args, const LaunchGrid& grid) {
  if (count_ == nodes_.size() && !Grow()) return false;
  Node& node = nodes_[count_];
  int64_t* slots = SlotsOf(count_++);
  const size_t bytes = program_.kernel(kernel).described->parameters * sizeof(int64_t);
  if (node.kernel == kernel && node.grid == grid && std::memcmp(slots, args, bytes) == 0) return true;
  node.kernel = kernel;
  node.grid = grid;
  node.stale = true;
  std::memcpy(slots, args, bytes);
  return true;
}

bool CudaGraph::Grow() {
  if (nodes_.size() >= kMostNodes) return false;
  nodes_.resize(std::min(kMostNodes, 2 * nodes_.size()));
  slots_.resize(nodes_.size() * most_parameters_);
  return true;
}

CudaCall CudaGraph::Launch(cuda::Stream stream) {
  if (count_ == 0) return {};
  CudaCall done = Fits() ? Patch() : Make();
  if (done.ok()) done = {driver_.GraphLaunch(exec_, stream), "cuGraphLaunch"};
  if (!done.ok()) Discard();
  return done;
}

bool CudaGraph::Fits() const {
  return exec_ != nullptr && count_ <= prepared_ &&
         std::all_of(nodes_.begin(), nodes_.begin() + count_,
                     [](const Node& n) { return n.cooperative == (n.grid.cooperative != 0); });
}

CudaCall CudaGraph::ReadParams(size_t i, cuda::KernelNodeParams* params) {
  const Node& node = nodes_[i];
  const CudaProgram::Kernel& kernel = program_.kernel(node.kernel);
  *params = {kernel.function,
             {static_cast<unsigned>(node.grid.blocks), 1, 1},
             {static_cast<unsigned>(kernel.described->threads), 1, 1},
             static_cast<unsigned>(node.grid.shared_bytes),
             parameters_.data(),
             nullptr};
  return Note(i, kernel_parameters_.Point(node.kernel, SlotsOf(i), parameters_.data()), "cuTensorMapEncodeTiled");
}

CudaCall CudaGraph::Make() {
  Discard();
  if (const auto result = driver_.GraphCreate(&graph_, 0); result != cuda::kSuccess) return {result, "cuGraphCreate"};
  for (size_t i = 0; i < count_; ++i) {
    if (CudaCall added = AddNode(i); !added.ok()) return added;
  }
  prepared_ = count_;
  return {driver_.GraphInstantiateWithFlags(&exec_, graph_, 0), "cuGraphInstantiateWithFlags"};
}

CudaCall CudaGraph::AddNode(size_t i) {
  Node& node = nodes_[i];
  cuda::KernelNodeParams params;
  if (CudaCall read = ReadParams(i, &params); !read.ok()) return read;
  const cuda::GraphNode* before = i > 0 ? &nodes_[i - 1].node : nullptr;
  auto result = driver_.GraphAddKernelNode(&node.node, graph_, before, i > 0 ? 1 : 0, &params);
  if (result != cuda::kSuccess) return Note(i, result, "cuGraphAddKernelNode");
  node.cooperative = node.grid.cooperative != 0;
  if (node.cooperative) {
    cuda::LaunchAttributeValue value = {};
    value.cooperative = 1;
    result = driver_.GraphKernelNodeSetAttribute(node.node, cuda::kLaunchCooperative, &value);
  }
  node.stale = false;
  node.enabled = true;
  return Note(i, result, "cuGraphKernelNodeSetAttribute");
}

CudaCall CudaGraph::Patch() {
  for (size_t i = 0; i < prepared_; ++i) {
    Node& node = nodes_[i];
    if (i < count_ && node.stale) {
      cuda::KernelNodeParams params;
      if (CudaCall read = ReadParams(i, &params); !read.ok()) return read;
      const auto result = driver_.GraphExecKernelNodeSetParams(exec_, node.node, &params);
      if (result != cuda::kSuccess) return Note(i, result, "cuGraphExecKernelNodeSetParams");
      node.stale = false;
    }
    if (node.enabled != (i < count_)) {
      node.enabled = i < count_;
      const auto result = driver_.GraphNodeSetEnabled(exec_, node.node, node.enabled ? 1 : 0);
      if (result != cuda::kSuccess) return Note(i, result, "cuGraphNodeSetEnabled");
    }
  }
  return {};
}

void CudaGraph::Discard() {
  if (exec_ != nullptr) driver_.GraphExecDestroy(exec_);
  if (graph_ != nullptr) driver_.GraphDestroy(graph_);
  exec_ = nullptr;
  graph_ = nullptr;
  prepared_ = 0;
}

}  // namespace tailor
