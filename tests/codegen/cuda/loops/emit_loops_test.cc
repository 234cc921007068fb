// PTX of elementwise and row plans: in-order substrings, for its text changes between versions of LLVM.
#include "codegen/cuda/loops/emit_loops.h"

#include "codegen/cuda/ptx/compile_ptx.h"
#include "codegen/cuda/ptx/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/loop_plans.h"

namespace tailor::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string PtxOf(const KernelPlan& plan, const char* target_name) {
  const CudaTarget target = *FindCudaTarget(target_name);
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>("kernels", context);
  const absl::Status status = EmitCudaLoops(plan, ScheduleCudaLoops(plan, target.traits), "k", *module);
  EXPECT_TRUE(status.ok()) << status;
  auto ptx = CompileToPtx(std::move(module), target);
  EXPECT_TRUE(ptx.ok()) << ptx.status();
  return ptx.value_or("");
}

void ExpectInOrder(const std::string& text, const std::vector<std::string>& parts) {
  size_t at = 0;
  for (const std::string& part : parts) {
    const size_t found = text.find(part, at);
    ASSERT_NE(found, std::string::npos) << "no \"" << part << "\" after position " << at << " of:\n" << text;
    at = found + part.size();
  }
}

TEST(EmitCudaLoops, ElementwiseStridesOverTheGrid) {
  const std::string ptx = PtxOf(BiasTanhPlan(), "sm_80");
  ExpectInOrder(ptx, {".version 7.0", ".target sm_80", ".visible .entry k_v0(", ".maxntid 256", "%tid.x", "%ctaid.x",
                      "%nctaid.x", "ld.global.nc.f32", "fma.rn.f32", "div.rn.f32", "st.global.f32", "ret;"});
  EXPECT_THAT(ptx, Not(HasSubstr("call")));
  EXPECT_THAT(ptx, Not(HasSubstr("shared")));
}

// x + x of `dtype`.
KernelPlan DoublePlan(absl::string_view dtype) {
  return ParsedPlan(absl::StrReplaceAll(R"(
kernel axes [a0: d0 parallel]
  in b0: T[d0]
  out b1: T[d0]
  stage over []
    e0 = b0[a0]
    b1[a0] = add(e0, e0)
)",
                                        {{"T", dtype}}));
}

TEST(EmitCudaLoops, NarrowFloatsAreRoundedByOneInstruction) {
  for (const char* target : {"sm_80", "sm_90a"}) {
    const std::string bf16 = PtxOf(DoublePlan("bf16"), target), f16 = PtxOf(DoublePlan("f16"), target);
    ExpectInOrder(bf16, {"add.rn.f32", "cvt.rn.bf16x2.f32", "st.global"});
    ExpectInOrder(f16, {"cvt.f32.f16", "add.rn.f32", "cvt.rn.f16x2.f32", "st.global"});
    for (const std::string& ptx : {bf16, f16}) EXPECT_THAT(ptx, Not(HasSubstr("32767"))) << "rounded by integers";
  }
}

TEST(EmitCudaLoops, TheLowestPtxVersionThatServes) {
  ExpectInOrder(PtxOf(BiasTanhPlan(), "sm_90"), {".version 7.8", ".target sm_90", ".visible .entry k_v0("});
}

// The text of one version's kernel.
std::string KernelText(const std::string& ptx, const std::string& name) {
  const size_t begin = ptx.find(".visible .entry " + name + "(");
  EXPECT_NE(begin, std::string::npos) << name;
  return ptx.substr(begin, ptx.find("\n}\n", begin) - begin);
}

TEST(EmitCudaLoops, ElementsThatLieSoAreTakenFourAtATime) {
  const std::string ptx = PtxOf(BiasTanhPlan(), "sm_80");
  ExpectInOrder(ptx, {"ld.global.nc.v4.f32", "st.global.v4.f32"});
  EXPECT_THAT(ptx, Not(HasSubstr(".local")));
}

TEST(EmitCudaLoops, RowsOfAPartOfAWarpShuffleAndKeepTheirOwnElements) {
  const std::string ptx = KernelText(PtxOf(RowSoftmaxPlan(), "sm_80"), "k_v1");
  ExpectInOrder(ptx, {".maxntid 128", "ld.global.nc.v4.f32", "shfl.sync.bfly.b32", ", 4, 31", "st.global.v4.f32"});
  // Where rows are no vectors.
  ExpectInOrder(ptx, {"ld.global.nc.f32", "shfl.sync.bfly.b32", ", 4, 31", "st.shared.f32", "shfl.sync.bfly.b32",
                      "ld.shared.f32", "st.global.f32"});
  EXPECT_THAT(ptx, Not(HasSubstr("bar.sync")));
  EXPECT_THAT(ptx, Not(HasSubstr(".local")));
}

TEST(EmitCudaLoops, RowsOfABlockMeetInSharedMemory) {
  const std::string ptx = PtxOf(RowSoftmaxPlan(), "sm_80");
  ExpectInOrder(KernelText(ptx, "k_v4"), {".maxntid 256", "ld.global.nc.v4.f32", "shfl.sync.bfly.b32", ", 16, 31",
                                          "st.shared.f32", "bar.sync", "ld.shared", "bar.sync", "st.shared.v4.f32"});
  // Where the row does not fit shared memory its exponentials are in global scratch.
  ExpectInOrder(KernelText(ptx, "k_v6"), {"ld.global.nc.v4.f32", "st.global.v4.f32", "ld.global.v4.f32"});
}

// A warp has all of its row under way before it compares the first of it, reads nothing twice, and keeps it.
TEST(EmitCudaLoops, ShortRowsAreHeldInRegisters) {
  const std::string ptx = KernelText(PtxOf(RowSoftmaxPlan(), "sm_80"), "k_v3");
  std::vector<std::string> order(8, "ld.global.nc.v4.f32");
  order.insert(order.end(), {"shfl.sync.bfly.b32", "shfl.sync.bfly.b32", "st.global.v4.f32"});
  ExpectInOrder(ptx, order);
  const std::string held = ptx.substr(0, ptx.find("ld.global.nc.f32"));  // the loops of elements come behind
  size_t loads = 0;
  for (size_t at = held.find("ld.global.nc.v4"); at != std::string::npos; at = held.find("ld.global.nc.v4", at + 1)) {
    ++loads;
  }
  EXPECT_EQ(loads, 8u);
  EXPECT_THAT(held, Not(HasSubstr("st.shared")));
}

TEST(EmitCudaLoops, RowsThatBlocksShareMeetInTheGrid) {
  const std::string ptx = KernelText(PtxOf(RowSoftmaxPlan(), "sm_80"), "k_v0");
  ExpectInOrder(ptx, {".maxntid 256", ".minnctapersm 4", "ld.global.nc.v4.f32", "max.NaN.f32", "shfl.sync.bfly.b32",
                      "st.global.f32", "membar.gl", "atom.global.add.u32", "ld.volatile.global.u32", "membar.gl",
                      "ld.global.f32", "st.global.v4.f32", "atom.global.add.u32", "ld.global.v4.f32"});
  EXPECT_THAT(ptx, Not(HasSubstr(".local")));
}

TEST(EmitCudaLoops, WideReductionsShuffleTwoWords) {
  KernelPlan plan = RowMinAndSumPlan();
  for (Buffer& buffer : plan.buffers) buffer.dtype = DType::kF64;
  for (Expr& e : plan.exprs) e.dtype = e.kind == ExprKind::kLoad ? DType::kF64 : e.dtype;
  for (Statement& s : plan.stages[0].statements) s.accumulate = DType::kF64;
  ExpectInOrder(PtxOf(plan, "sm_80"), {"ld.global.nc.f64", "shfl.sync.bfly.b32", "shfl.sync.bfly.b32", "add.rn.f64"});
}

TEST(EmitCudaLoops, FaultsClaimTheRecordAtomically) {
  ExpectInOrder(PtxOf(GatherRowsPlan(), "sm_80"), {".visible .entry k_v0(", "atom.sys.cas.b64", "st.global"});
}

TEST(EmitCudaLoops, MatmulsAreRefused) {
  KernelPlan plan = BiasTanhPlan();
  plan.form = ContractionForm();
  llvm::LLVMContext context;
  llvm::Module module("kernels", context);
  EXPECT_EQ(EmitCudaLoops(plan, CudaSchedule{}, "k7", module).message(), "kernel k7 is no loop");
}

}  // namespace
}  // namespace tailor::cuda
