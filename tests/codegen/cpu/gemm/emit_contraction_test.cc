// Mirrors codegen/cpu/gemm/emit_contraction.cc: matmuls of every form against a naive double reference.
#include <algorithm>
#include <random>
#include <string>

#include "codegen/contract/panels.h"
#include "codegen/cpu/gemm/emit_contraction.h"
#include "codegen/cpu/gemm/micro_kernels.h"
#include "codegen/cpu/schedule/schedule_contraction.h"
#include "codegen/cpu/tiling/tiling_model.h"
#include "gtest/gtest.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/codegen/cpu/gemm/gemm_case.h"

namespace tailor::gemm {
namespace {

constexpr int64_t kDimSizes[] = {0, 1, 2, 5, 6, 7, 15, 16, 17, 31, 64, 100};

int64_t AnyDimSize(std::mt19937& random) { return kDimSizes[random() % std::size(kDimSizes)]; }

// Runs `form` at `count` random sizes (fixed dim sizes stay) on every CPU level of this machine.
void ExpectRightAtRandomSizes(const MatmulCaseForm& form, int count) {
  for (const CpuTarget& target : RunnableTargets()) {
    SCOPED_TRACE(target.name);
    const Matmul matmul(form, target);
    std::mt19937 random(7);
    auto dim_size = [&](int64_t fixed) { return fixed == kDynamic ? AnyDimSize(random) : fixed; };
    for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
      MatmulCaseSize size{.m = dim_size(form.m), .n = dim_size(form.n), .k = dim_size(form.k)};
      for (int64_t fixed : form.batch) {
        size.batch.push_back(fixed == kDynamic ? static_cast<int64_t>(random() % 4) : fixed);
      }
      matmul.ExpectRight(size, matmul.Run(size));
    }
  }
}

TEST(EmitContraction, AllSmallShapes) {
  for (const CpuTarget& target : RunnableTargets()) {
    SCOPED_TRACE(target.name);
    const Matmul matmul({}, target);
    for (int64_t m : kDimSizes) {
      for (int64_t n : kDimSizes) {
        for (int64_t k : {0, 1, 2, 7, 64}) {
          const MatmulCaseSize size{.m = m, .n = n, .k = k};
          matmul.ExpectRight(size, matmul.Run(size));
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(EmitContraction, EveryDType) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF64}) {
    SCOPED_TRACE(NameOf(dtype));
    ExpectRightAtRandomSizes({.dtype = dtype}, 100);
    ExpectRightAtRandomSizes({.dtype = dtype, .epilogue = true}, 40);
  }
}

TEST(EmitContraction, Epilogue) { ExpectRightAtRandomSizes({.epilogue = true}, 150); }

TEST(EmitContraction, FixedDimSizes) {
  ExpectRightAtRandomSizes({.n = 384, .k = 96, .epilogue = true}, 20);
  ExpectRightAtRandomSizes({.m = 1, .n = 200, .k = 31}, 1);
  ExpectRightAtRandomSizes({.m = 11, .n = 1, .k = 17}, 1);
  ExpectRightAtRandomSizes({.m = 3, .n = 5, .k = 1}, 1);
  ExpectRightAtRandomSizes({.n = 1, .k = 1}, 10);
  ExpectRightAtRandomSizes({.m = 0, .k = 4}, 5);
}

// A panel of which only the registers with columns are multiplied.
TEST(EmitContraction, FewColumns) {
  for (const int64_t n : {3, 4, 8, 13}) {
    SCOPED_TRACE(n);
    for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
      ExpectRightAtRandomSizes({.dtype = dtype, .n = n, .epilogue = true}, 12);
    }
  }
}

// Squares of the lhs are transposed where registers have 16 lanes; tiles of few rows take the bits of others.
TEST(EmitContraction, FewColumnsBySquares) {
  for (const int64_t n : {1, 2, 5, 8, 10, 11}) {
    SCOPED_TRACE(n);
    const MatmulCaseForm form{.batch = {kDynamic}, .rhs_has_batch = {true}, .n = n, .epilogue = true};
    const MatmulCaseForm plain{.n = n};
    for (const CpuTarget& target : RunnableTargets()) {
      SCOPED_TRACE(target.name);
      const Schedule schedule = cpu::ScheduleContraction(MakeMatmulPlan(form), target.traits);
      EXPECT_EQ(schedule.tile.squares, n <= 10 && schedule.lanes == 16);
      const Matmul matmul(plain, target);
      const std::vector<char> many = matmul.Run({.m = 96, .n = n, .k = 4133});
      matmul.ExpectRight({.m = 96, .n = n, .k = 4133}, many);
      for (int64_t m : {1, 8, 9, 15, 17, 40}) {
        const std::vector<char> few = matmul.Run({.m = m, .n = n, .k = 4133});
        EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin())) << m << " rows";
      }
    }
    ExpectRightAtRandomSizes(form, 30);
  }
}

// Few columns, operands and results along rows: lanes run along rows.
TEST(EmitContraction, RowsInLanes) {
  for (const int64_t n : {1, 3, 6, 8, 12, 13}) {
    SCOPED_TRACE(n);
    const MatmulCaseForm form{.batch = {kDynamic},
                              .rhs_has_batch = {true},
                              .n = n,
                              .transpose_lhs = true,
                              .transpose_out = true,
                              .epilogue = true};
    for (const CpuTarget& target : RunnableTargets()) {
      const Schedule schedule = cpu::ScheduleContraction(MakeMatmulPlan(form), target.traits);
      const int64_t most = schedule.lanes == 16 ? 12 : schedule.lanes == 8 ? 5 : 0;
      EXPECT_EQ(schedule.tile.rows_in_lanes, n <= most) << target.name;
    }
    ExpectRightAtRandomSizes(form, 30);
  }
}

// Where K is short, more columns take several passes.
TEST(EmitContraction, ManyColumnsOfRowsInLanes) {
  for (const int64_t n : {13, 16, 20, 24, 25}) {
    SCOPED_TRACE(n);
    const MatmulCaseForm form{.n = n, .k = 27, .transpose_lhs = true, .transpose_out = true, .epilogue = true};
    for (const CpuTarget& target : RunnableTargets()) {
      const Schedule schedule = cpu::ScheduleContraction(MakeMatmulPlan(form), target.traits);
      const bool is_panel = n == 16 && schedule.lanes == 8;
      EXPECT_EQ(schedule.tile.rows_in_lanes, n <= 24 && schedule.lanes >= 8 && !is_panel) << target.name;
    }
    ExpectRightAtRandomSizes(form, 20);
  }
}

// With eight lanes a last panel of 8 columns takes micro-kernels of one register; sums of the other have no reader.
TEST(EmitContraction, HalfOfTheLastPanel) {
  const CpuTarget v3 = *FindCpuTarget("x86-64-v3");
  for (const int64_t n : {24, 25, 40}) {
    for (const bool transpose_out : {false, true}) {
      SCOPED_TRACE(n);
      const MatmulCaseForm form{.n = n, .k = 100, .transpose_out = transpose_out, .epilogue = true};
      const KernelPlan plan = MakeMatmulPlan(form);
      const auto kernels = gemm::MicroKernelsOf(plan, cpu::ScheduleContraction(plan, v3.traits));
      ASSERT_TRUE(kernels.ok());
      EXPECT_EQ(
          std::any_of(kernels->begin(), kernels->end(), [](const gemm::MicroKernel& k) { return k.columns == 8; }),
          n != 25);
      ExpectRightAtRandomSizes(form, 20);
    }
  }
}

// What the stack held before may be denormals.
TEST(EmitContraction, SumsOfTheOtherHalfAreZero) {
  const CpuTarget v3 = *FindCpuTarget("x86-64-v3");
  const KernelPlan plan = MakeMatmulPlan({.n = 24, .k = 100, .epilogue = true});
  llvm::LLVMContext context;
  llvm::Module module("matmul", context);
  const Schedule schedule = cpu::ScheduleContraction(plan, v3.traits);
  ASSERT_TRUE(EmitContraction(plan, schedule, EmitTarget::Of(v3.traits), "matmul", module).ok());
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  EXPECT_NE(text.find("store <8 x float> zeroinitializer, ptr %padding"), std::string::npos) << text;
}

// With AVX-512 tiles of more than eight rows take squares of few columns, others whole registers: each shape has its
// micro-kernel, and none is taken for half a panel.
TEST(EmitContraction, SquaresAreNoHalfPanels) {
  const CpuTarget target = *FindCpuTarget("x86-64-v4");
  for (const int64_t n : {4, 8, 10}) {
    const KernelPlan plan = MakeMatmulPlan({.n = n, .k = 64});
    const Schedule schedule = cpu::ScheduleContraction(plan, target.traits);
    ASSERT_TRUE(schedule.tile.squares) << n;
    const auto kernels = gemm::MicroKernelsOf(plan, schedule);
    ASSERT_TRUE(kernels.ok());
    EXPECT_FALSE(gemm::HasHalfPanels(*kernels)) << n;
  }
}

// A vector without rows follows an odd number of vectors. Its loads are those of the last one: offsets of K may be
// negative (a slice of negative step), so at offset 0 they would lie before the staging buffer.
TEST(EmitContraction, AVectorWithoutRowsHasTheOffsetOfTheLastOne) {
  const CpuTarget target = *FindCpuTarget("x86-64-v4");
  const KernelPlan plan = MakeMatmulPlan({.n = 8, .transpose_lhs = true, .transpose_out = true});
  llvm::LLVMContext context;
  llvm::Module module("matmul", context);
  const Schedule schedule = cpu::ScheduleContraction(plan, target.traits);
  ASSERT_TRUE(schedule.tile.rows_in_lanes);
  ASSERT_TRUE(EmitContraction(plan, schedule, EmitTarget::Of(target.traits), "matmul", module).ok());
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  EXPECT_NE(text.find("store i64 %last.offset"), std::string::npos) << text;
}

// Results along rows: the host divides the rows into blocks by the number of workers.
TEST(EmitContraction, BlocksOfRowsByWorkersHaveTheBitsOfOneWorker) {
  const std::vector<MatmulCaseForm> forms = {
      {.batch = {kDynamic}, .rhs_has_batch = {false}, .n = 40, .transpose_lhs = true, .transpose_out = true},
      {.n = 5, .transpose_lhs = true, .transpose_out = true},  // rows in lanes
      {.n = 200, .transpose_lhs = true, .transpose_out = true, .epilogue = true},
      {.dtype = DType::kF64, .transpose_out = true, .epilogue = true}};
  for (const CpuTarget& target : RunnableTargets()) {
    SCOPED_TRACE(target.name);
    for (const MatmulCaseForm& form : forms) {
      Matmul matmul(form, target);
      ASSERT_NE(matmul.schedule().row_blocks, 0);
      for (const int64_t m : {0, 1, 48, 49, 97, 196, 250, 1100}) {  // packed from 1024 rows on
        const MatmulCaseSize size{.batch = std::vector<int64_t>(form.batch.size(), 2),
                                  .m = m,
                                  .n = form.n == kDynamic ? 33 : form.n,
                                  .k = form.k == kDynamic ? 70 : form.k};
        for (size_t version = 0; version < matmul.schedule().versions.size(); ++version) {
          matmul.SetVersion(version);
          matmul.SetWorkers(1);
          const int64_t tasks = matmul.Tasks(size);
          const std::vector<char> alone = matmul.Run(size);
          matmul.ExpectRight(size, alone);
          for (const int64_t workers : {2, 7, 64}) {
            matmul.SetWorkers(workers);
            const int64_t more = matmul.Tasks(size);
            EXPECT_GE(more, tasks);
            EXPECT_EQ(matmul.Run(size, {0, more / 3, more / 2, more}), alone)
                << m << " rows, version " << version << ", " << workers << " workers";
          }
        }
      }
    }
  }
}

TEST(EmitContraction, LongDepthOfRowsInLanes) {
  for (const CpuTarget& target : RunnableTargets()) {
    SCOPED_TRACE(target.name);
    const Matmul matmul({.n = 5, .transpose_lhs = true, .transpose_out = true, .epilogue = true}, target);
    const int64_t depth = matmul.schedule().tile.depth;
    for (const int64_t m : {1, 17, 95, 113, 250}) {
      for (const int64_t k : {depth, depth + 1, 2 * depth + 77}) {
        const MatmulCaseSize size{.m = m, .n = 5, .k = k};
        matmul.ExpectRight(size, matmul.Run(size));
      }
    }
  }
}

// Rows that lie far apart along K: a version packs them, and gives the bits of the other.
TEST(EmitContraction, PackedRowsChangeNoBit) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const MatmulCaseForm form{.dtype = dtype,
                              .batch = {kDynamic},
                              .rhs_has_batch = {false},
                              .n = 150,
                              .transpose_lhs = true,
                              .transpose_out = true,
                              .epilogue = true};
    for (const CpuTarget& target : RunnableTargets()) {
      SCOPED_TRACE(target.name);
      Matmul matmul(form, target);
      ASSERT_EQ(matmul.schedule().versions.size(), 2);
      ASSERT_TRUE(matmul.schedule().versions[0].packs_rows);
      const int64_t depth = matmul.schedule().tile.depth, rows = matmul.schedule().tile.task_rows;
      for (const int64_t m :
           {int64_t{0}, int64_t{1}, int64_t{13}, int64_t{15}, int64_t{31}, rows - 1, rows, rows + 1}) {
        for (const int64_t k : {int64_t{0}, int64_t{1}, int64_t{7}, int64_t{100}, depth, depth + 5}) {
          const MatmulCaseSize size{.batch = {2}, .m = m, .n = 150, .k = k};
          matmul.SetVersion(0);
          const std::vector<char> packed = matmul.Run(size);
          matmul.SetVersion(1);
          ASSERT_EQ(packed, matmul.Run(size)) << m << " rows, depth " << k;
          if (k < depth) matmul.ExpectRight(size, packed);
        }
      }
    }
  }
}

TEST(EmitContraction, FewRowsOfLargeWeights) {
  for (const CpuTarget& target : RunnableTargets()) {
    SCOPED_TRACE(target.name);
    const Matmul matmul({.n = 1000, .k = 263}, target);
    for (int64_t m = 0; m <= 20; ++m) {
      const MatmulCaseSize size{.m = m, .n = 1000, .k = 263};
      matmul.ExpectRight(size, matmul.Run(size));
      if (HasFailure()) return;
    }
  }
}

TEST(EmitContraction, BatchWithAndWithoutBroadcast) {
  ExpectRightAtRandomSizes({.batch = {kDynamic}, .rhs_has_batch = {true}}, 40);
  ExpectRightAtRandomSizes({.batch = {kDynamic, 3}, .rhs_has_batch = {true, false}, .epilogue = true}, 40);
  ExpectRightAtRandomSizes({.batch = {2, kDynamic}, .rhs_has_batch = {false, true}}, 40);
  ExpectRightAtRandomSizes({.batch = {kDynamic, kDynamic}, .rhs_has_batch = {false, false}}, 40);
}

TEST(EmitContraction, LeftOperandOfAnyStride) {
  ExpectRightAtRandomSizes({.dtype = DType::kBF16, .transpose_lhs = true}, 100);
  ExpectRightAtRandomSizes({.transpose_lhs = true}, 100);
  ExpectRightAtRandomSizes({.batch = {kDynamic, 4}, .rhs_has_batch = {true, true}, .heads = true}, 40);
}

TEST(EmitContraction, TransposedOutput) {
  ExpectRightAtRandomSizes({.transpose_out = true}, 60);
  ExpectRightAtRandomSizes({.dtype = DType::kF16, .transpose_out = true, .epilogue = true}, 40);
  ExpectRightAtRandomSizes({.dtype = DType::kF64, .transpose_out = true, .epilogue = true}, 40);
  ExpectRightAtRandomSizes({.n = 70, .k = 2100, .transpose_out = true}, 10);
}

// Tiles ask for the memory of their results first; the last panel has columns to spare.
TEST(EmitContraction, TransposedOutputBeyondTheCache) {
  for (const CpuTarget& target : RunnableTargets()) {
    SCOPED_TRACE(target.name);
    const MatmulCaseForm form{.n = 200, .transpose_out = true, .epilogue = true};
    const Matmul matmul(form, target);
    const MatmulCaseSize size{.m = 701, .n = 200, .k = 9};
    matmul.ExpectRight(size, matmul.Run(size));
  }
}

TEST(EmitContraction, LongDepthIsSummedInBlocks) {
  for (const CpuTarget& target : RunnableTargets()) {
    SCOPED_TRACE(target.name);
    for (DType dtype : {DType::kF32, DType::kBF16}) {
      const Matmul matmul({.dtype = dtype, .epilogue = true}, target);
      const int64_t depth = matmul.schedule().tile.depth;
      for (int64_t k : {depth - 1, depth, depth + 1, 2 * depth, 2 * depth + 77}) {
        const MatmulCaseSize size{.m = 55, .n = 135, .k = k};
        matmul.ExpectRight(size, matmul.Run(size));
      }
    }
  }
}

TEST(EmitContraction, LongDepthsEndOnceTheRunIsInterrupted) {
  for (const CpuTarget& target : RunnableTargets()) {
    SCOPED_TRACE(target.name);
    Matmul matmul({}, target);
    const MatmulCaseSize size{.m = 5, .n = 11, .k = 3 * matmul.schedule().tile.depth};
    matmul.SetPolls(3);
    matmul.ExpectRight(size, matmul.Run(size));
    matmul.SetPolls(2);
    const std::vector<char> untouched = matmul.Run(size, {});
    EXPECT_EQ(matmul.Run(size), untouched);
  }
}

TEST(EmitContraction, ResultsLargerThanCache) {
  for (const CpuTarget& target : RunnableTargets()) {
    SCOPED_TRACE(target.name);
    const Matmul matmul({.batch = {kDynamic}, .rhs_has_batch = {false}, .epilogue = true}, target);
    const MatmulCaseSize size{.batch = {2}, .m = 250, .n = 301, .k = 3};
    matmul.ExpectRight(size, matmul.Run(size));
    const Matmul blocks({.epilogue = true}, target);
    const MatmulCaseSize one{.m = 370, .n = 360, .k = blocks.schedule().tile.depth + 1};
    blocks.ExpectRight(one, blocks.Run(one));
  }
}

TEST(EmitContraction, BitsDoNotDependOnTaskRangesNorOnNeighbours) {
  for (const CpuTarget& target : RunnableTargets()) {
    for (DType dtype : {DType::kF32, DType::kBF16}) {
      SCOPED_TRACE(target.name + " " + NameOf(dtype));
      const MatmulCaseForm form{.dtype = dtype, .batch = {kDynamic}, .rhs_has_batch = {true}, .epilogue = true};
      const Matmul matmul(form, target);
      const MatmulCaseSize size{.batch = {2}, .m = 131, .n = 295, .k = 1501};
      const std::vector<char> whole = matmul.Run(size);
      const int64_t tasks = matmul.Tasks(size);
      ASSERT_GE(tasks, 8);
      std::vector<int64_t> ones;
      for (int64_t i = 0; i <= tasks; ++i) ones.push_back(i);
      EXPECT_EQ(matmul.Run(size, ones), whole);
      EXPECT_EQ(matmul.Run(size, {3, tasks, 0, 3}), whole);
      // The first rows alone are computed by other micro-kernels, to the same bits.
      const Matmul plain({.dtype = dtype}, target);
      const std::vector<char> many = plain.Run({.m = 96, .n = 295, .k = 1501});
      for (int64_t m : {1, 2, 3, 4, 5, 8}) {
        const std::vector<char> few = plain.Run({.m = m, .n = 295, .k = 1501});
        EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin())) << m << " rows";
      }
    }
  }
}

// Whichever cut is chosen, the bits are the same.
TEST(EmitContraction, BitsDoNotDependOnTheTiling) {
  for (const CpuTarget& target : RunnableTargets()) {
    SCOPED_TRACE(target.name);
    const MatmulCaseForm form{.n = 151, .k = 1030, .epilogue = true};
    const Schedule rule = cpu::ScheduleContraction(MakeMatmulPlan(form), target.traits);
    const int pieces = kPanelColumns / rule.lanes;
    std::vector<MatmulTiling> family = TilingFamily(target.traits, pieces, rule.tile, true);
    ASSERT_GE(family.size(), 12);
    for (MatmulTiling& tiling : family) tiling.least_m = 0, tiling.most_m = INT64_MAX;
    const Matmul plain(form, target, std::vector<MatmulTiling>());
    std::vector<Matmul> matmuls;  // as many tilings to each as a schedule may have
    for (size_t first = 0; first < family.size(); first += kMostTilings) {
      const auto last = family.begin() + std::min(first + kMostTilings, family.size());
      matmuls.emplace_back(form, target, std::vector<MatmulTiling>(family.begin() + first, last));
    }
    for (const int64_t m : {0, 7, 13, 50}) {
      const MatmulCaseSize size{.m = m, .n = 151, .k = 1030};
      const std::vector<char> expected = plain.Run(size);
      plain.ExpectRight(size, expected);
      for (Matmul& matmul : matmuls) {
        for (const MatmulTiling& tiling : matmul.schedule().tile.tilings) {
          matmul.SetTiling(tiling);
          matmul.SetAhead(m % 2 == 0 ? 0 : CostProfile::kMaxPrefetchDistance);
          ASSERT_EQ(matmul.Run(size), expected) << m << " rows, " << TilingText(tiling);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tailor::gemm
