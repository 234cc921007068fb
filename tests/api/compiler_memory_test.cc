// Running out of memory while building a graph: a status, no exception, no touched out-parameter.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>

#include "tests/api/compiler_fixture.h"

namespace {

// Allocations by this thread that still succeed; negative: all do.
thread_local int64_t allowed = -1;

void* Allocate(size_t size, size_t alignment) {
  if (allowed == 0) throw std::bad_alloc();
  if (allowed > 0) --allowed;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, size > 0 ? size : 1) != 0) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return Allocate(size, alignof(std::max_align_t)); }
void* operator new(size_t size, std::align_val_t alignment) { return Allocate(size, static_cast<size_t>(alignment)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace tailor {
namespace {

class CompilerMemory : public CompilerTest {
 protected:
  // Makes `call` fail at its first, second... allocation, until it succeeds.
  void FailAtEveryAllocation(const std::function<tailor_status*()>& call, const uint64_t& out) {
    const uint64_t before = out;
    const std::string text = GraphText();
    for (int64_t n = 0;; ++n) {
      ASSERT_LT(n, 10000) << "never succeeds";
      allowed = n;
      tailor_status* status = call();
      allowed = -1;
      if (status == nullptr) {
        EXPECT_GT(n, 0) << "allocates nothing: the test proves nothing";
        return;
      }
      EXPECT_EQ(tailor_status_code(status), TAILOR_RESOURCE_EXHAUSTED) << tailor_status_message(status);
      EXPECT_EQ(out, before);
      ASSERT_EQ(GraphText(), text) << "after allocation " << n;
      tailor_status_release(status);
    }
  }
};

TEST_F(CompilerMemory, OpsReportIt) {
  tailor_value out = 0;
  const int64_t axes[] = {0};
  FailAtEveryAllocation([&] { return tailor_graph_add(graph, x, x, &out); }, out);
  FailAtEveryAllocation([&] { return tailor_graph_reduce_sum(graph, x, axes, 1, nullptr, &out); }, out);
  FailAtEveryAllocation([&] { return tailor_graph_reshape(graph, x, &b, 1, &out); }, out);
  FailAtEveryAllocation([&] { return tailor_graph_softmax(graph, x, -1, &out); }, out);
  FailAtEveryAllocation([&] { return tailor_graph_scalar(graph, TAILOR_F32, 0.25, &out); }, out);
  FailAtEveryAllocation(
      [&] {
        constexpr const char* kName = "an input whose name is long";
        return tailor_graph_input(graph, kName, SIZE_MAX, TAILOR_F32, &b, 1, &out);
      },
      out);
}

TEST_F(CompilerMemory, BuildersOfLoopsReportIt) {
  tailor_value mask = 0, steps = 0, out = 0, second = 0;
  const tailor_dim dims[] = {b, b, eight}, square[] = {eight, eight};
  ASSERT_EQ(Text(tailor_graph_input(graph, "mask", 4, TAILOR_BOOL, &b, 1, &mask)), "OK");
  ASSERT_EQ(Text(tailor_graph_input(graph, "steps", 5, TAILOR_F32, dims, 3, &steps)), "OK");
  tailor_value w = 0;
  ASSERT_EQ(Text(tailor_graph_input(graph, "w", 1, TAILOR_F32, square, 2, &w)), "OK");
  FailAtEveryAllocation([&] { return tailor_graph_compact(graph, x, mask, &out); }, out);
  FailAtEveryAllocation([&] { return tailor_graph_rnn(graph, steps, w, w, nullptr, &second, &out); }, out);
  FailAtEveryAllocation([&] { return tailor_graph_top_k(graph, x, eight, 1, 1, &out, &second); }, out);
  FailAtEveryAllocation([&] { return tailor_graph_sort(graph, x, 1, 1, &out, &second); }, out);
}

TEST_F(CompilerMemory, DimsReportIt) {
  tailor_dim out = 0;
  int i = 0;
  FailAtEveryAllocation([&] { return tailor_dim_floordiv(graph, b, eight, &out); }, out);
  FailAtEveryAllocation(
      [&] {
        char name[64];
        const int size = std::snprintf(name, sizeof(name), "symbol_with_a_long_name_%d", i++);
        return tailor_graph_symbol(graph, name, static_cast<size_t>(size), nullptr, &out);
      },
      out);
}

void Count(void* user) { ++*static_cast<int*>(user); }

TEST_F(CompilerMemory, ConstantsReportItAndReleaseOnce) {
  alignas(8) const float data[] = {1, 2};
  const int64_t two = 2;
  int released = 0, calls = 0;
  tailor_value out = 0;
  FailAtEveryAllocation(
      [&] {
        ++calls;
        return tailor_graph_constant(graph, "c", 1, TAILOR_F32, &two, 1, data, 8, Count, &released, &out);
      },
      out);
  EXPECT_LT(released, calls) << "the graph borrows what it took";
  tailor_graph_release(graph);
  graph = nullptr;
  EXPECT_EQ(released, calls);
}

}  // namespace
}  // namespace tailor
