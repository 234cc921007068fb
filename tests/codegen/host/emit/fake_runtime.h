// The runtime as host programs see it, for tests that run without exec/.
#ifndef TAILOR_TESTS_CODEGEN_HOST_EMIT_FAKE_RUNTIME_H_
#define TAILOR_TESTS_CODEGEN_HOST_EMIT_FAKE_RUNTIME_H_

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "codegen/contract/cost_profile.h"
#include "exec/host_abi.h"

namespace tailor::host {

// The runtime's side of a session: everything generated code asks for is recorded.
struct FakeRuntime {
  FakeRuntime(uint64_t shape_cache_slots, int64_t workers) : shape_cache(shape_cache_slots, 0) {
    context = {sizeof(RtContext), constants.data(), nullptr, 0, shape_cache.data(), workers};
    static const CostProfile nothing_known;
    context.costs = &nothing_known;
    api.struct_size = sizeof(RtApi);
    api.grow = [](RtContext* c, int32_t, uint64_t bytes) { return From(c).Grow(bytes); };
    api.output = [](RtContext* c, int32_t index, TensorArg* out, uint64_t bytes) {
      return From(c).Output(index, out, bytes);
    };
    api.parallel_for = [](RtContext* c, KernelFn kernel, const int64_t* args, int64_t count, int64_t tasks_per_chunk) {
      From(c).chunks.push_back(tasks_per_chunk);
      for (int64_t i = 0; i < count; i += tasks_per_chunk) kernel(args, i, std::min(i + tasks_per_chunk, count), 0);
    };
    api.poll = [](RtContext* c, int32_t launch) {
      From(c).polls.push_back(launch);
      return From(c).ends ? 88 : 0;
    };
    api.fail = [](RtContext* c, int32_t check, int64_t lhs, int64_t rhs) {
      From(c).failure = {check, lhs, rhs};
      return 100 + check;
    };
  }
  static FakeRuntime& From(RtContext* context) { return *reinterpret_cast<FakeRuntime*>(context); }
  int32_t Grow(uint64_t bytes) {
    ++grown;
    if (refuse_grow) return 77;
    workspaces.push_back(std::make_unique<std::vector<uint8_t>>(bytes + 64));
    const uint64_t address = reinterpret_cast<uint64_t>(workspaces.back()->data());
    context.workspace = workspaces.back()->data() + (64 - address % 64);
    context.workspace_bytes = bytes;
    return 0;
  }
  int32_t Output(int32_t index, TensorArg* out, uint64_t bytes) {
    buffers[index].assign(bytes / 4 + 1, 0.0f);
    out[index].data = buffers[index].data();
    output_bytes = bytes;
    return 0;
  }

  RtContext context;  // first, so that From() can find the whole
  RtApi api{};
  std::vector<int64_t> shape_cache;
  std::vector<const void*> constants = {nullptr};
  std::vector<std::unique_ptr<std::vector<uint8_t>>> workspaces;
  std::map<int, std::vector<float>> buffers;
  std::vector<int64_t> chunks;
  std::vector<int32_t> polls;  // the launches that polls name
  std::vector<int64_t> failure;
  uint64_t output_bytes = 0;
  int grown = 0;
  bool ends = false;  // polls end the run
  bool refuse_grow = false;
};

}  // namespace tailor::host

#endif  // TAILOR_TESTS_CODEGEN_HOST_EMIT_FAKE_RUNTIME_H_
