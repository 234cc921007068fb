// Device memory that attention kernels read, as the emulator counts it: a causal mask leaves out the keys that no
// row of a block sees. These are figures of docs/decisions/attention-on-gpus.md.
#include <cmath>
#include <vector>

#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/ptx/target.h"
#include "codegen/lower/lower_graph.h"
#include "codegen/plan/attention.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/codegen/lower/attention_case.h"
#include "tests/emulator/simt_emulator.h"

namespace tailor::cuda {
namespace {

using Mask = lower::AttentionCase::Mask;

// Bytes read for each byte of a head's keys, with 256 queries and keys in steps of 64, of 64 elements of 16 bits.
double ReadOfKeys(Mask mask, double never) {
  const CudaTarget target = *FindCudaTarget("sm_80");
  const lower::AttentionCase form{.dtype = DType::kF16, .mask = mask, .never = never};
  const lower::AttentionSizes sizes{1, 256, 256};
  const auto lowered = lower::LowerGraph(*ParseGraph(lower::AttentionGraph(form)), target.traits);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  const KernelPlan& plan = lowered->kernels.at(0);
  EXPECT_TRUE(plan.IsAttention());
  const CudaSchedule schedule = *ScheduleOnCuda(plan, target.traits);
  llvm::LLVMContext context;
  llvm::Module module("kernels", context);
  EXPECT_TRUE(EmitOnCuda(plan, schedule, "k", module).ok());

  lower::AttentionValues values = lower::MakeAttentionValues(form, sizes);
  std::vector<std::byte> result(values.expected.size() * 2);
  std::vector<int64_t> dims, slots;
  for (const DimSlot& slot : plan.dims) dims.push_back(*slot.value.Evaluate({sizes.b, sizes.s, sizes.n}));
  for (HostTensor& input : values.inputs) slots.push_back(reinterpret_cast<int64_t>(input.bytes.data()));
  slots.push_back(reinterpret_cast<int64_t>(result.data()));
  slots.insert(slots.end(), dims.begin(), dims.end());
  SimtTraffic traffic;
  SimtEmulator emulator(module, {.traffic = &traffic});
  const CudaVersion& version = schedule.versions.back();
  const SimtGrid grid{.blocks = *version.blocks.Evaluate(dims),
                      .threads = version.threads,
                      .shared_bytes = *version.shared_bytes.Evaluate(dims)};
  EXPECT_EQ(emulator.Launch("k_v1", grid, slots.data(), 1), "");
  return static_cast<double>(traffic.read) / (lower::kAttentionHeads * 256 * 64 * 2);
}

// Four blocks of 64 rows each: every block reads its queries, all keys, all values.
TEST(AttentionTraffic, WithoutAMaskEveryBlockReadsAll) { EXPECT_EQ(ReadOfKeys(Mask::kNone, 0), 1 + 4 + 4); }

// Blocks read one, two, three and four quarters of the keys.
TEST(AttentionTraffic, OfKeysThatACausalMaskHidesNothingIsRead) {
  EXPECT_EQ(ReadOfKeys(Mask::kCausal, -INFINITY), 1 + 2.5 + 4);
  EXPECT_EQ(ReadOfKeys(Mask::kCausal, -30000), 1 + 2.5 + 4);
}

// With -1 in the place of hidden scores, hidden keys have weights.
TEST(AttentionTraffic, MaskedKeysWithWeightAreRead) { EXPECT_EQ(ReadOfKeys(Mask::kCausal, -1), 1 + 4 + 4); }

}  // namespace
}  // namespace tailor::cuda
