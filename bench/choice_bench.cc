// The choice of a matmul's tiling: its time at run time, and its regret. Below the C API, which shows neither: a
// session keeps the choice for the dim sizes of its last run in its shape cache.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "bench/tiled_matmul.h"
#include "codegen/contract/panels.h"
#include "codegen/cpu/schedule/schedule_contraction.h"
#include "codegen/cpu/tiling/emit_tiling_choice.h"
#include "codegen/link/link.h"
#include "codegen/link/target_machine.h"
#include "exec/image.h"

namespace tailor::bench {
namespace {

// The function that host programs call to choose, of a matmul with the most tilings that there may be.
class Choice {
 public:
  Choice() {
    const CpuTarget& target = HostCpuTarget();
    const Schedule schedule = cpu::ScheduleContraction(tune::PlainMatmulPlan({}), target.traits);
    const int pieces = kPanelColumns / schedule.lanes;
    ContractionTile tile = schedule.tile;
    tile.tilings = gemm::TilingFamily(target.traits, pieces, tile, /*further_tiles=*/true);
    tile.tilings.resize(gemm::kMostTilings);
    llvm::LLVMContext context;
    auto module = std::make_unique<llvm::Module>("choice", context);
    EmitLoopOver(gemm::EmitTilingChoice(tile, pieces, *module), *module);
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
    objects.push_back(Value(CompileModule(std::move(module), *Value(MakeTargetMachine(target)))));
    const Image image = Value(LinkImage(std::move(objects), {"loop"}));
    if (!image_.Map(image.bytes).ok()) abort();
    loop_ = image_.At<Loop>(image.symbols.at("loop"));
  }

  // Chooses for each of `count` shapes {m, n, k}; each choice depends on the one before it.
  uint64_t Run(const int64_t* shapes, int64_t count) const { return loop_(&tune::HostCosts(), shapes, count); }

 private:
  using Loop = uint64_t (*)(const CostProfile*, const int64_t*, int64_t);

  template <typename T>
  static T Value(absl::StatusOr<T> result) {
    if (!result.ok()) abort();
    return *std::move(result);
  }

  // i64 @loop(ptr costs, ptr shapes, i64 count)
  static void EmitLoopOver(const gemm::TilingChoice& choice, llvm::Module& module) {
    llvm::IRBuilder<> b(module.getContext());
    auto* type = llvm::FunctionType::get(b.getInt64Ty(), {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty()}, false);
    auto* loop = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "loop", module);
    auto* entry = llvm::BasicBlock::Create(module.getContext(), "entry", loop);
    auto* body = llvm::BasicBlock::Create(module.getContext(), "body", loop);
    auto* done = llvm::BasicBlock::Create(module.getContext(), "done", loop);
    b.SetInsertPoint(entry);
    b.CreateBr(body);
    b.SetInsertPoint(body);
    llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
    llvm::PHINode* last = b.CreatePHI(b.getInt64Ty(), 2);
    i->addIncoming(b.getInt64(0), entry);
    last->addIncoming(b.getInt64(0), entry);
    llvm::Value* shape = b.CreateInBoundsGEP(b.getInt64Ty(), loop->getArg(1), b.CreateMul(i, b.getInt64(3)));
    const auto dim_size = [&](int number) -> llvm::Value* {
      llvm::Value* at = b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), shape, number);
      // The top bit of the last choice, which is 0, makes the next one depend on it.
      return b.CreateAdd(b.CreateAlignedLoad(b.getInt64Ty(), at, llvm::Align(8)), b.CreateLShr(last, 63));
    };
    llvm::Value* chosen = b.CreateCall(choice.function, {loop->getArg(0), choice.candidates, b.getInt64(2), dim_size(0),
                                                         dim_size(1), dim_size(2), b.getInt64(1)});
    llvm::Value* next = b.CreateAdd(i, b.getInt64(1));
    i->addIncoming(next, body);
    llvm::Value* word = b.CreateXor(b.CreateExtractValue(chosen, 0), b.CreateExtractValue(chosen, 1));
    last->addIncoming(word, body);
    b.CreateCondBr(b.CreateICmpULT(next, loop->getArg(2)), body, done);
    b.SetInsertPoint(done);
    b.CreateRet(last);
  }

  MappedImage image_;
  Loop loop_;
};

// All shapes differ, and no choice is cached.
void MeasureChoice(benchmark::State& state) {
  static const Choice choice;
  std::mt19937_64 random(1);
  constexpr int64_t kShapes = 512;
  std::vector<int64_t> shapes(3 * kShapes);
  while (state.KeepRunningBatch(kShapes)) {
    state.PauseTiming();
    for (int64_t& dim_size : shapes) dim_size = 1 + static_cast<int64_t>(random() % 4096);
    state.ResumeTiming();
    benchmark::DoNotOptimize(choice.Run(shapes.data(), kShapes));
  }
}
BENCHMARK(MeasureChoice)->Name("choice/never_seen");

// Regret over all held-out matmuls: time of the chosen tiling over that of the best of the family, mean, less 1.
void MeasureChoiceRegret(benchmark::State& state) {
  double regret = 0, of_rule = 0;
  for (auto _ : state) {
    double sum = 0, rule = 0;
    int count = 0;
    int64_t k = 0;
    std::unique_ptr<TiledMatmul> matmul;
    for (const gemm::MatmulShape& dim_sizes : HeldOutMatmuls()) {
      if (matmul == nullptr || dim_sizes.k != k) {
        matmul = std::make_unique<TiledMatmul>(tune::MatmulForm{.n = dim_sizes.n, .k = dim_sizes.k});
      }
      k = dim_sizes.k;
      const Regret measured = MeasureRegret(*matmul, dim_sizes);
      sum += std::log(measured.of_choice), rule += std::log(measured.of_rule), ++count;
    }
    regret = std::exp(sum / count) - 1, of_rule = std::exp(rule / count) - 1;
  }
  state.counters["regret"] = regret;
  state.counters["regret_of_rule"] = of_rule;
}
BENCHMARK(MeasureChoiceRegret)->Name("choice/regret")->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace tailor::bench
