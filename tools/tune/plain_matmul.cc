#include "tools/tune/plain_matmul.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "codegen/contract/panels.h"
#include "codegen/cpu/gemm/emit_contraction.h"
#include "codegen/cpu/gemm/micro_kernels.h"
#include "codegen/cpu/schedule/schedule_contraction.h"
#include "codegen/cpu/tiling/tiling_model.h"
#include "codegen/link/link.h"
#include "codegen/link/target_machine.h"
#include "exec/cpu_features.h"
#include "llvm/IR/LLVMContext.h"
#include "tools/tune/idle_context.h"

namespace tailor::tune {
namespace {

constexpr SymbolId kM = 0, kN = 1, kK = 2;

int AddBuffer(KernelPlan& plan, BufferKind kind, std::vector<DimSize> dims) {
  plan.buffers.push_back({.kind = kind, .dtype = DType::kF32, .dims = std::move(dims)});
  return static_cast<int>(plan.buffers.size()) - 1;
}

// The number of panels, and of elements in them.
int64_t PanelsOf(int64_t n) { return (n + kPanelColumns - 1) / kPanelColumns; }
int64_t PanelElements(int64_t n, int64_t k) { return PanelsOf(n) * kPanelColumns * k; }

// Elements of the operands: integers from -3 to 3.
float LhsElement(int64_t m, int64_t k) { return static_cast<float>((m * 5 + k * 3) % 7 - 3); }
float RhsElement(int64_t k, int64_t n) { return static_cast<float>((k * 2 + n * 3) % 5 - 2); }

void ThrowUnless(const absl::Status& status) {
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}
template <typename T>
T Value(absl::StatusOr<T> result) {
  ThrowUnless(result.status());
  return *std::move(result);
}

// The fields that the rule uses (codegen/cpu/tiling/tile_shapes.h); other fields of a tile have their defaults.
ContractionTile RuleTile(const ContractionTile& tile) {
  return {.rows = tile.rows,
          .panels = tile.panels,
          .tall_rows = tile.tall_rows,
          .tall_panels = tile.tall_panels,
          .task_rows = tile.task_rows,
          .task_panels = tile.task_panels,
          .depth = tile.depth};
}

}  // namespace

KernelPlan PlainMatmulPlan(const MatmulForm& form) {
  KernelPlan plan;
  plan.name = "product";
  plan.form = ContractionForm{.m = 0, .n = 1, .k = 2};
  const auto dim_size = [&plan](SymbolId symbol, std::optional<int64_t> value) {
    return value.has_value() ? DimSize{.constant = *value} : plan.AddDim({.value = DimExpr::Symbol(symbol)});
  };
  const DimSize m = dim_size(kM, {}), n = dim_size(kN, form.n), k = dim_size(kK, form.k);
  plan.axes = {{m, AxisRole::kParallel}, {n, AxisRole::kParallel}, {k, AxisRole::kContract}};
  const int lhs = AddBuffer(plan, BufferKind::kInput, {m, k}), rhs = AddBuffer(plan, BufferKind::kInput, {k, n});
  const int out = AddBuffer(plan, BufferKind::kOutput, {m, n}), sums = AddBuffer(plan, BufferKind::kLocal, {});
  plan.buffers[rhs].layout = PanelLayout(DType::kF32);

  const auto axis = [&plan](int index) {
    return plan.axes[index].dim_size == DimSize{.constant = 1} ? plan.Add({.kind = ExprKind::kDimSize})
                                                               : plan.Add({.kind = ExprKind::kAxis, .ref = index});
  };
  const auto load = [&plan](int buffer, std::vector<ExprId> indices) {
    return plan.Add({.kind = ExprKind::kLoad, .dtype = DType::kF32, .ref = buffer, .args = std::move(indices)});
  };
  const ExprId factors[] = {load(lhs, {axis(kM), axis(kK)}), load(rhs, {axis(kK), axis(kN)})};
  const ExprId matmul =
      plan.Add({.kind = ExprKind::kOp, .dtype = DType::kF32, .op = OpKind::kMul, .args = {factors[0], factors[1]}});
  Statement sum{.buffer = sums, .value = matmul, .reduce_axes = {kK}, .accumulate = DType::kF32};
  plan.stages.push_back({.axes = {kK}, .statements = {sum}});
  plan.stages.push_back({.statements = {{.buffer = out, .indices = {axis(kM), axis(kN)}, .value = load(sums, {})}}});
  return plan;
}

std::unique_ptr<llvm::MemoryBuffer> CompilePlainMatmul(const KernelPlan& plan, const ContractionTile& tile,
                                                       const CpuTarget& target, const std::string& name) {
  Schedule schedule = cpu::ScheduleContraction(plan, target.traits);
  schedule.tile = tile;
  schedule.row_blocks = 0;  // Bind counts the tasks
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>(name, context);
  const EmitTarget emit = EmitTarget::Of(target.traits);
  ThrowUnless(gemm::EmitContraction(plan, schedule, emit, name, *module));
  for (const gemm::MicroKernel& kernel : Value(gemm::MicroKernelsOf(plan, schedule))) {
    gemm::EmitMicroKernel(kernel, emit, *module);
    module->getFunction(NameOf(kernel))
        ->setLinkage(llvm::GlobalValue::InternalLinkage);  // other objects have their own
  }
  return Value(CompileModule(std::move(module), *Value(MakeTargetMachine(target))));
}

std::unique_ptr<PlainMatmul> PlainMatmul::Compile(const MatmulForm& form, const std::optional<ContractionTile>& tile) {
  const CpuTarget& target = HostCpuTarget();
  std::unique_ptr<PlainMatmul> matmul(new PlainMatmul(form));
  const KernelPlan& plan = matmul->plan_;
  matmul->tile_ = tile.has_value() ? *tile : RuleTile(cpu::ScheduleContraction(plan, target.traits).tile);
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
  objects.push_back(CompilePlainMatmul(plan, matmul->tile_, target, plan.name));
  const std::string entry = plan.name + "_v0";
  const Image image = Value(LinkImage(std::move(objects), {entry}));
  if (Failure failure = matmul->image_.Map(image.bytes); !failure.ok()) throw std::runtime_error(failure.message);
  matmul->kernel_ = matmul->image_.At<KernelFn>(image.symbols.at(entry));
  return matmul;
}

BoundMatmul PlainMatmul::Bind(int64_t m, int64_t n, int64_t k, const float* lhs, const float* panels, float* out,
                              const MatmulTiling* tiling) const {
  BoundMatmul bound{.kernel = kernel_};
  std::vector<int64_t> slots;
  for (const DimSlot& slot : plan_.dims) slots.push_back(*slot.value.Evaluate({m, n, k}));
  for (const float* data : {lhs, panels, static_cast<const float*>(out)}) {
    bound.args.push_back(reinterpret_cast<int64_t>(data));
  }
  bound.args.insert(bound.args.end(), slots.begin(), slots.end());
  if (tiling != nullptr) {
    bound.args.push_back(static_cast<int64_t>(gemm::TilingWord(*tiling, HostCosts().prefetch_distance)));
    bound.tasks = gemm::TilingTasks(*tiling, {m, n, k});
  } else {
    const int64_t columns = tile_.task_panels * kPanelColumns;
    bound.tasks = ((m + tile_.task_rows - 1) / tile_.task_rows) * ((n + columns - 1) / columns);
  }
  bound.args.push_back(IdleContext());
  return bound;
}

const CostProfile& HostCosts() {
  static const CostProfile& costs = BuiltInCostProfile(HostCpuTarget().level, CpuFamily(ThisCpu()));
  return costs;
}

PlainOperands::PlainOperands(int64_t m, int64_t n, int64_t k)
    : m_(m), n_(n), k_(k), lhs_(m * k), storage_(PanelElements(n, k) + kPanelColumns), out_(m * n) {
  constexpr uintptr_t kAlignment = 64;
  panels_ = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(storage_.data()) + kAlignment - 1) & -kAlignment);
  for (int64_t i = 0; i < m * k; ++i) lhs_[i] = LhsElement(i / k, i % k);
  float* to = panels_;
  for (int64_t panel = 0; panel < PanelsOf(n); ++panel) {
    for (int64_t row = 0; row < k; ++row) {
      for (int64_t column = 0; column < kPanelColumns; ++column) {
        *to++ = RhsElement(row, panel * kPanelColumns + column);
      }
    }
  }
}

tailor_product PlainOperands::Offered() {
  return {.struct_size = sizeof(tailor_product),
          .dtype = TAILOR_F32,
          .rhs_layout = TAILOR_PANELS_16,
          .rhs_constant = 1,
          .threads = 1,
          .batch = 1,
          .m = m_,
          .n = n_,
          .k = k_,
          .lhs_strides = {m_ * k_, k_, 1},
          .rhs_strides = {PanelElements(n_, k_), 0, 0},
          .lhs = lhs_.data(),
          .rhs = panels_,
          .out = out_.data()};
}

bool PlainOperands::IsRight() const {
  for (int64_t m = 0; m < m_; ++m) {
    for (int64_t n = 0; n < n_; ++n) {
      float sum = 0;
      for (int64_t k = 0; k < k_; ++k) sum += LhsElement(m, k) * RhsElement(k, n);
      if (out_[m * n_ + n] != sum) return false;
    }
  }
  return true;
}

}  // namespace tailor::tune
