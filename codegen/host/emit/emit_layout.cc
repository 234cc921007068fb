// Emits tailor.layout: everything that depends only on dims, computed once per distinct shape.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "codegen/host/emit/emit_calls.h"
#include "codegen/host/emit/emit_gemms.h"
#include "codegen/host/emit/host_function.h"
#include "codegen/host/emit/host_shapes.h"
#include "codegen/host/emit/host_unit.h"
#include "codegen/link/link.h"
#include "codegen/plan/kernel_signature.h"

namespace tailor::host {
namespace {

using Place = HostBuffer::Place;

class LayoutEmitter {
 public:
  explicit LayoutEmitter(const HostUnit& unit)
      : unit_(unit),
        f_(unit.module, absl::StrCat("tailor.layout.", unit.number), 3, /*internal=*/true),
        shapes_(unit.program, unit.kernels, unit.place, f_, f_.argument(2)),
        shape_cache_(f_.LoadPtr(f_.context(), offsetof(RtContext, shape_cache), "shape.cache")) {}

  llvm::Function* Emit() {
    f_.function()->addFnAttr(kOncePerShape);
    Set(unit_.shape_cache.valid, f_.b.getInt64(0));
    shapes_.BindAndCheck();
    SetOutputs();
    for (const auto& [symbol, word] : unit_.shape_cache.symbols) {
      Set(word, shapes_.Dim(DimExpr::Symbol(symbol)).value);
    }
    const std::vector<LaunchShape> launches = ShapesOfLaunches(unit_, shapes_);
    const WorkspaceShape workspace = shapes_.Place(launches, unit_.first_fit, unit_.placement);
    GetWorkspace(shapes_.Add({workspace.bytes, 0, INT64_MAX}, InnerBytes()).value);
    workers_ = f_.LoadI64(f_.context(), offsetof(RtContext, workers), "workers");
    for (size_t i = 0; i < launches.size(); ++i) {
      SetLaunch(unit_.program.launches[i], unit_.shape_cache.launches[i], launches[i]);
      SetArguments(unit_.program.launches[i], unit_.shape_cache.launches[i], launches[i], workspace);
    }
    for (size_t i = 0; i < unit_.program.gemms.size(); ++i) {
      EmitGemmLayout(f_, shapes_, unit_, static_cast<int>(i), shape_cache_,
                     [&](const HostBuffer& buffer) { return PlaceOf(buffer, workspace); });
    }
    SetCalls(workspace);
    SetKeys();
    Set(unit_.shape_cache.valid, f_.b.getInt64(1));
    f_.Finish();
    return f_.function();
  }

 private:
  void Set(int word, llvm::Value* value) { f_.Store(value, shape_cache_, ShapeCacheByte(word)); }

  void SetOutputs() {
    for (size_t i = 0; i < unit_.program.output_dims.size(); ++i) {
      int word = unit_.shape_cache.outputs[i].dims;
      for (const DimExpr& dim : unit_.program.output_dims[i]) Set(word++, shapes_.Dim(dim).value);
    }
    for (const HostBuffer& buffer : unit_.program.buffers) {
      if (buffer.place != Place::kOutput) continue;
      Set(unit_.shape_cache.outputs[OutputOf(buffer)].bytes, shapes_.Dim(BytesOf(buffer)).value);
    }
  }

  // The index of the buffer among the program's outputs.
  int OutputOf(const HostBuffer& buffer) const {
    const std::vector<int>& numbers = unit_.program.output_numbers;
    return static_cast<int>(std::find(numbers.begin(), numbers.end(), buffer.index) - numbers.begin());
  }

  DimValue InnerBytes() {
    std::vector<llvm::Value*> blocks;
    for (size_t i = 0; i < unit_.program.calls.size(); ++i) {
      blocks.push_back(f_.Address(shape_cache_, ShapeCacheByte(unit_.shape_cache.calls[i].arguments)));
      EmitArgumentDimSizes(f_, shapes_, unit_.program.calls[i], blocks.back());
    }
    return EmitInnerBytes(f_, unit_, blocks, [&](int call, llvm::Value* bytes) {
      Set(unit_.shape_cache.calls[call].workspace + 1, bytes);
    });
  }

  // The workspace: the session's, grown on demand. A called program's starts where its caller says, or is a block of
  // its own.
  void GetWorkspace(llvm::Value* bytes) {
    if (unit_.program.outermost) {
      llvm::Value* held = f_.LoadI64(f_.context(), offsetof(RtContext, workspace_bytes), "held");
      f_.If(f_.b.CreateICmpULT(held, bytes), /*likely=*/false, [&] {
        f_.ReturnIfFailed(f_.CallApi(offsetof(RtApi, grow), f_.b.getInt32Ty(),
                                     {f_.b.getInt32(unit_.place == KernelPlace::kDevice), bytes}));
      });
      base_ = f_.LoadPtr(f_.context(), offsetof(RtContext, workspace), "workspace");
      return;
    }
    if (unit_.program.own_workspace >= 0) {
      f_.ReturnIfFailed(f_.CallApi(offsetof(RtApi, block), f_.b.getInt32Ty(),
                                   {f_.b.getInt32(unit_.program.own_workspace),
                                    f_.Address(shape_cache_, ShapeCacheByte(unit_.shape_cache.base)), bytes}));
    }
    base_ = f_.LoadPtr(shape_cache_, ShapeCacheByte(unit_.shape_cache.base), "workspace");
  }

  llvm::Value* PlaceOf(const HostBuffer& buffer, const WorkspaceShape& workspace) {
    if (buffer.place == Place::kConstant) {
      llvm::Value* constants = f_.LoadPtr(f_.context(), offsetof(RtContext, constants), "constants");
      return f_.LoadPtr(constants, 8 * static_cast<int64_t>(buffer.index), "constant");
    }
    llvm::Value* offset = f_.LoadI64(workspace.offsets, 8 * static_cast<int64_t>(buffer.index), "offset");
    return f_.b.CreateGEP(f_.b.getInt8Ty(), base_, offset, "block");
  }

  void SetCalls(const WorkspaceShape& workspace) {
    llvm::Value* inner = f_.b.CreateGEP(f_.b.getInt8Ty(), base_, workspace.bytes, "inner");
    for (size_t i = 0; i < unit_.program.calls.size(); ++i) {
      EmitCallLayout(
          f_, shapes_, unit_, static_cast<int>(i), shape_cache_,
          [&](const HostBuffer& buffer) { return PlaceOf(buffer, workspace); }, inner);
    }
  }

  void SetLaunch(const Launch& launch, const ShapeCache::LaunchWords& words, const LaunchShape& shape) {
    if (unit_.place == KernelPlace::kDevice) return SetDeviceLaunch(launch, words, shape);
    const HostLaunchShape& host = shape.on_host();
    Set(words.tasks, host.tasks.value);
    // A single thread is faster on long ranges, and shares them with nobody: it only returns to poll. A chunk of
    // several tasks takes microseconds; one of a single task may take any time.
    constexpr uint64_t kSerialChunks = 8;
    llvm::Value* chunk = host.tasks_per_chunk.value;
    llvm::Value* longer = f_.b.CreateAnd(f_.b.CreateICmpEQ(workers_, f_.b.getInt64(1), "serial"),
                                         f_.b.CreateICmpUGT(chunk, f_.b.getInt64(1)), "longer");
    Set(words.tasks_per_chunk,
        f_.b.CreateSelect(longer, f_.b.CreateMul(chunk, f_.b.getInt64(kSerialChunks)), chunk, "tasks.per.chunk"));
    const EmittedKernel& called = unit_.kernels[launch.kernel];
    if (called.signature().SlotOf(KernelParameter::kPhase) >= 0) Set(words.phases, host.phases.value);
    const size_t versions = called.on_host().versions.size();
    llvm::Value* kernel = KernelFunction(unit_, launch.kernel, versions - 1);
    for (size_t v = versions - 1; v-- > 0;) {
      llvm::Value* chosen = f_.b.CreateICmpEQ(shape.version, f_.b.getInt32(static_cast<uint32_t>(v)));
      kernel = f_.b.CreateSelect(chosen, KernelFunction(unit_, launch.kernel, v), kernel, "kernel");
    }
    Set(words.kernel, kernel);
  }

  void SetDeviceLaunch(const Launch& launch, const ShapeCache::LaunchWords& words, const LaunchShape& shape) {
    const auto set = [&](size_t field, const DimValue& value) {
      Set(words.grid + static_cast<int>(field / sizeof(int64_t)), value.value);
    };
    const DeviceLaunchShape& device = shape.on_device();
    set(offsetof(LaunchGrid, blocks), device.blocks);
    set(offsetof(LaunchGrid, shared_bytes), device.shared_bytes);
    set(offsetof(LaunchGrid, cooperative), device.cooperative);
    llvm::Value* first = f_.b.getInt64(unit_.kernels[launch.kernel].on_device().first);
    Set(words.kernel, f_.b.CreateAdd(first, f_.b.CreateZExt(shape.version, f_.b.getInt64Ty()), "kernel"));
  }

  void SetArguments(const Launch& launch, const ShapeCache::LaunchWords& words, const LaunchShape& shape,
                    const WorkspaceShape& workspace) {
    const KernelSignature signature = unit_.kernels[launch.kernel].signature();
    int slot = words.arguments;
    for (const KernelParameter& parameter : signature.parameters()) {
      llvm::Value* value = Argument(launch, parameter, shape, workspace);
      if (value != nullptr) Set(slot, value);
      ++slot;
    }
  }

  // The slot's value; null if tailor_run fills it, since it changes between or within runs.
  llvm::Value* Argument(const Launch& launch, const KernelParameter& parameter, const LaunchShape& shape,
                        const WorkspaceShape& workspace) {
    if (const auto field = parameter.context_field()) return f_.LoadI64(f_.context(), *field, parameter.Name());
    switch (parameter.kind) {
      case KernelParameter::kBuffer: {
        const HostBuffer& buffer = unit_.program.buffers[launch.buffers[parameter.index]];
        const bool settled = buffer.place == Place::kConstant || buffer.place == Place::kWorkspace;
        return settled ? PlaceOf(buffer, workspace) : nullptr;
      }
      case KernelParameter::kDim:
        return shape.dims[parameter.index].value;
      case KernelParameter::kScratch:
      case KernelParameter::kLaunchScratch:
        return f_.b.CreateGEP(f_.b.getInt8Ty(), base_, workspace.scratch, "scratch");
      case KernelParameter::kScratchBytes:
        return shape.scratch_bytes.value;
      case KernelParameter::kFault:
        return f_.Address(shape_cache_, ShapeCacheByte(unit_.shape_cache.fault));
      case KernelParameter::kFaultBase:
        return f_.b.getInt64(unit_.program.first_check + launch.first_fault_check);
      case KernelParameter::kTiling:
        return shape.on_host().tiling;
      case KernelParameter::kRowBlocks:
        return shape.on_host().row_blocks;
      case KernelParameter::kParts:
        return shape.parts.value;
      case KernelParameter::kPhase:
        return nullptr;
      case KernelParameter::kContext:
        return f_.context();
      case KernelParameter::kGridBarrier:
      case KernelParameter::kTensorMap:
        break;
    }
    llvm_unreachable("a parameter without a value");
  }

  void SetKeys() {
    int word = unit_.shape_cache.first_key;
    for (const auto& [input, dim] : unit_.shape_cache.keys) Set(word++, shapes_.InputDim(input, dim).value);
    Set(unit_.shape_cache.workers, workers_);
    Set(unit_.shape_cache.workspace, base_);
  }

  const HostUnit& unit_;
  HostFunction f_;
  HostShapes shapes_;
  llvm::Value* shape_cache_;
  llvm::Value *base_ = nullptr, *workers_ = nullptr;
};

}  // namespace

llvm::Function* EmitLayout(const HostUnit& unit) { return LayoutEmitter(unit).Emit(); }

}  // namespace tailor::host
