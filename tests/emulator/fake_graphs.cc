// The exported functions of graphs. Nodes run in an order that the dependencies allow, the last runnable node first, so
// that a missing dependency shows.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "tests/emulator/fake_calls.h"

namespace tailor::fake_cuda {

struct FakeNode {
  FakeGraph* graph = nullptr;
  std::vector<size_t> after;  // numbers of nodes
  FakeLaunch launch;
};

struct FakeGraph {
  std::vector<std::unique_ptr<FakeNode>> nodes;
  size_t NumberOf(const FakeNode* node) const {
    size_t i = 0;
    while (i < nodes.size() && nodes[i].get() != node) ++i;
    return i;
  }
};

struct FakeExec {
  struct Step {
    std::vector<size_t> after;
    FakeLaunch launch;
    bool enabled = true;
  };
  FakeGraph* graph = nullptr;
  std::vector<Step> steps;  // by number of the node
};

namespace {

using cuda::Result;

FakeGraph* GraphOf(cuda::DriverGraph graph) { return reinterpret_cast<FakeGraph*>(graph); }
FakeExec* ExecOf(cuda::GraphExec exec) { return reinterpret_cast<FakeExec*>(exec); }
FakeNode* NodeOf(cuda::GraphNode node) { return reinterpret_cast<FakeNode*>(node); }

FakeLaunch LaunchOf(const cuda::KernelNodeParams& params, bool together) {
  auto* function = reinterpret_cast<FakeFunction*>(params.function);
  if (state().functions.count(function) == 0) {
    state().Complain("a graph has a function of no module");
    return {};
  }
  return {function,
          {params.grid[0], static_cast<int>(params.block[0]), params.shared_bytes, together},
          SlotsAt(*function, params.parameters)};
}

// The step of `exec` that was made from `node`; null, with a complaint, if there is none.
FakeExec::Step* StepOf(FakeExec* exec, const FakeNode* node) {
  if (state().execs.count(exec) == 0) return nullptr;
  if (state().graphs.count(exec->graph) == 0) {
    state().Complain("a node of a graph that is gone");
    return nullptr;
  }
  const size_t number = exec->graph->NumberOf(node);
  return number < exec->steps.size() ? &exec->steps[number] : nullptr;
}

void EnqueueAll(FakeStream* stream, const FakeExec& exec) {
  std::vector<bool> done(exec.steps.size());
  for (size_t left = exec.steps.size(); left > 0; --left) {
    size_t next = exec.steps.size();
    const auto may_run = [&](size_t i) {
      const auto& after = exec.steps[i].after;
      return !done[i] && std::all_of(after.begin(), after.end(), [&](size_t k) { return done[k]; });
    };
    do --next;
    while (!may_run(next));
    done[next] = true;
    if (exec.steps[next].enabled) Enqueue(stream, exec.steps[next].launch);
  }
}

}  // namespace
}  // namespace tailor::fake_cuda

using namespace tailor;
using namespace tailor::cuda;
using namespace tailor::fake_cuda;

extern "C" {

Result cuGraphCreate(DriverGraph* graph, unsigned flags) {
  const Lock lock(state().mutex);
  if (flags != 0) return kInvalidValue;
  auto* made = new FakeGraph;
  state().graphs.insert(made);
  *graph = reinterpret_cast<DriverGraph>(made);
  return kSuccess;
}

Result cuGraphDestroy(DriverGraph graph) {
  const Lock lock(state().mutex);
  if (state().graphs.erase(GraphOf(graph)) == 0) return kInvalidValue;
  delete GraphOf(graph);
  return kSuccess;
}

Result cuGraphAddKernelNode(GraphNode* node, DriverGraph graph, const GraphNode* after, size_t after_count,
                            const KernelNodeParams* params) {
  const Lock lock(state().mutex);
  FakeGraph* in = GraphOf(graph);
  if (current == nullptr) return kInvalidContext;
  if (state().graphs.count(in) == 0) return kInvalidValue;
  auto made = std::make_unique<FakeNode>(FakeNode{in, {}, LaunchOf(*params, /*together=*/false)});
  for (size_t i = 0; i < after_count; ++i) {
    made->after.push_back(in->NumberOf(NodeOf(after[i])));
    if (made->after.back() == in->nodes.size()) return kInvalidValue;
  }
  if (Result bad = CheckLaunch(made->launch); bad != kSuccess) return bad;
  *node = reinterpret_cast<GraphNode>(made.get());
  in->nodes.push_back(std::move(made));
  return kSuccess;
}

Result cuGraphKernelNodeSetAttribute(GraphNode node, LaunchAttribute attribute, const LaunchAttributeValue* value) {
  const Lock lock(state().mutex);
  if (attribute != kLaunchCooperative) return kInvalidValue;
  NodeOf(node)->launch.grid.cooperative = value->cooperative != 0;
  return CheckLaunch(NodeOf(node)->launch);
}

Result cuGraphInstantiateWithFlags(GraphExec* exec, DriverGraph graph, unsigned long long flags) {
  const Lock lock(state().mutex);
  FakeGraph* from = GraphOf(graph);
  if (current == nullptr) return kInvalidContext;
  if (flags != 0 || state().graphs.count(from) == 0) return kInvalidValue;
  auto* made = new FakeExec{from, {}};
  for (const auto& node : from->nodes) made->steps.push_back({node->after, node->launch});
  state().execs.insert(made);
  ++state().counts.total_graphs;
  *exec = reinterpret_cast<GraphExec>(made);
  return kSuccess;
}

Result cuGraphExecDestroy(GraphExec exec) {
  const Lock lock(state().mutex);
  if (state().execs.erase(ExecOf(exec)) == 0) return kInvalidValue;
  delete ExecOf(exec);
  return kSuccess;
}

Result cuGraphExecKernelNodeSetParams(GraphExec exec, GraphNode node, const KernelNodeParams* params) {
  if (state().options.drop != 0) return kSuccess;
  const Lock lock(state().mutex);
  FakeExec::Step* step = StepOf(ExecOf(exec), NodeOf(node));
  if (step == nullptr) return kInvalidValue;
  const FakeLaunch launch = LaunchOf(*params, step->launch.grid.cooperative);
  if (Result bad = CheckLaunch(launch); bad != kSuccess) return bad;
  step->launch = launch;
  ++state().counts.total_patches;
  return kSuccess;
}

Result cuGraphNodeSetEnabled(GraphExec exec, GraphNode node, unsigned enabled) {
  const Lock lock(state().mutex);
  FakeExec::Step* step = StepOf(ExecOf(exec), NodeOf(node));
  if (step == nullptr) return kInvalidValue;
  step->enabled = enabled != 0;
  ++state().counts.total_patches;
  return kSuccess;
}

Result cuGraphLaunch(GraphExec exec, Stream stream) {
  if (state().options.drop != 0) return kSuccess;
  const Lock lock(state().mutex);
  if (Result bad = CheckStream(StreamOf(stream)); bad != kSuccess) return bad;
  if (state().execs.count(ExecOf(exec)) == 0) return kInvalidValue;
  EnqueueAll(StreamOf(stream), *ExecOf(exec));
  ++state().counts.total_graph_launches;
  return kSuccess;
}

}  // extern "C"
