#include "codegen/host/emit/emit_calls.h"

#include <vector>

#include "codegen/host/emit/counters.h"

namespace tailor::host {
namespace {

using Place = HostBuffer::Place;
using Kind = CarriedValue::Kind;

bool AtRun(Place place) { return place == Place::kInput || place == Place::kOutput || place == Place::kResult; }

// The dims of one entry of an argument block.
struct Entry {
  const Shape* shape;
  bool known;  // known before the run
  bool held;   // stored in this block
};

// Stores the entries' dims pointers (the dim sizes follow the last entry) and the dim sizes that are known.
void EmitDimSizes(HostFunction& f, HostShapes& shapes, const std::vector<Entry>& entries, llvm::Value* block) {
  auto at = static_cast<int64_t>(sizeof(TensorArg) * entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].held)
      f.Store(f.Address(block, at), block, TensorByte(static_cast<int>(i), offsetof(TensorArg, dims)));
    for (const DimExpr& dim : *entries[i].shape) {
      if (entries[i].known) f.Store(shapes.Dim(dim).value, block, at);
      at += 8;
    }
  }
}

// Byte offset of the dim sizes of entry `index` in its block.
template <typename Entries>
int64_t DimSizesByte(const Entries& entries, size_t index) {
  auto at = static_cast<int64_t>(sizeof(TensorArg) * entries.size());
  for (size_t i = 0; i < index; ++i) at += 8 * static_cast<int64_t>(entries[i].shape.size());
  return at;
}

void CopyEntry(HostFunction& f, llvm::Value* from, llvm::Value* to, int index) {
  for (const size_t field : {offsetof(TensorArg, data), offsetof(TensorArg, dims)}) {
    f.Store(f.LoadPtr(from, TensorByte(index, field)), to, TensorByte(index, field));
  }
}

llvm::Value* Number(HostFunction& f, int number) {
  return llvm::ConstantExpr::getIntToPtr(f.b.getInt64(number), f.b.getPtrTy());
}

// The workspace bytes of a custom operator, whose arguments' dim sizes are in `block`.
llvm::Value* EmitCustomBytes(HostFunction& f, const Call& call, llvm::Value* block) {
  llvm::IRBuilder<> entry(&f.function()->getEntryBlock(), f.function()->getEntryBlock().begin());
  llvm::Value* bytes = entry.CreateAlloca(f.b.getInt64Ty(), nullptr, "custom.bytes");
  f.ReturnIfFailed(
      f.CallApi(offsetof(RtApi, custom_workspace), f.b.getInt32Ty(), {f.b.getInt32(call.custom), block, bytes}));
  return f.LoadI64(bytes, 0, "custom.bytes");
}

class CallEmitter {
 public:
  CallEmitter(HostFunction& f, const HostUnit& unit, int index, llvm::Value* shape_cache)
      : f_(f),
        unit_(unit),
        call_(unit.program.calls[index]),
        words_(unit.shape_cache.calls[index]),
        shape_cache_(shape_cache),
        arguments_(Word(words_.arguments)),
        results_(Word(words_.results)),
        condition_(call_.decided ? nullptr : Word(words_.condition)) {}

  void LayOut(HostShapes& shapes, llvm::function_ref<llvm::Value*(const HostBuffer&)> place_of, llvm::Value* inner) {
    const auto put = [&](int buffer, llvm::Value* block, int entry) {
      if (buffer < 0 || AtRun(unit_.program.buffers[buffer].place)) return;
      f_.Store(place_of(unit_.program.buffers[buffer]), block, TensorByte(entry, offsetof(TensorArg, data)));
    };
    // Lets entry `entry` of `block` point to the dim sizes in `sizes`.
    const auto put_dim_sizes = [&](size_t entry, llvm::Value* block, llvm::Value* sizes) {
      f_.Store(f_.Address(sizes, DimSizesByte(call_.arguments, entry)), block,
               TensorByte(static_cast<int>(entry), offsetof(TensorArg, dims)));
    };
    for (size_t i = 0; i < call_.arguments.size(); ++i) {
      put(call_.arguments[i].buffer, arguments_, static_cast<int>(i));
      if (call_.kind != Call::Kind::kWhile || call_.carried[i].kind != Kind::kSwapped) continue;
      for (int place = 0; place < 2; ++place) {
        llvm::Value* block = Word(words_.places[place]);
        put(call_.carried[i].places[place], block, static_cast<int>(i));
        if (call_.carried[i].grown[place] >= 0) {
          put_dim_sizes(i, block, block);
        } else {
          put_dim_sizes(i, block, arguments_);
        }
      }
    }
    for (const Counter& counter : call_.counters) {
      for (int place : words_.places) put_dim_sizes(counter.argument, Word(place), Word(place));
    }
    put(call_.condition, condition_, 0);
    if (call_.kind == Call::Kind::kIf) {
      std::vector<Entry> entries;
      for (size_t r = 0; r < call_.results.size(); ++r) {
        put(call_.results[r].place, results_, static_cast<int>(r));
        entries.push_back({&call_.results[r].shape, call_.results[r].grown < 0, true});
      }
      EmitDimSizes(f_, shapes, entries, results_);
    }
    for (int program : call_.programs) {
      if ((*unit_.all)[program].program.own_workspace >= 0) continue;
      f_.Store(inner, shape_cache_, ShapeCacheByte((*unit_.all)[program].shape_cache.base));
    }
    if (call_.kind == Call::Kind::kCustom) f_.Store(inner, shape_cache_, ShapeCacheByte(words_.workspace));
  }

  void Run(llvm::function_ref<llvm::Value*(const HostBuffer&)> data_of) {
    for (size_t i = 0; i < call_.arguments.size(); ++i) {
      const CallArgument& argument = call_.arguments[i];
      if (argument.buffer < 0) continue;
      const HostBuffer& buffer = unit_.program.buffers[argument.buffer];
      if (!AtRun(buffer.place)) continue;
      const int entry = static_cast<int>(i);
      f_.Store(data_of(buffer), arguments_, TensorByte(entry, offsetof(TensorArg, data)));
      if (!argument.data_dependent) continue;
      llvm::Value* data_dependent = Word(unit_.shape_cache.calls[buffer.call].results);
      f_.Store(f_.LoadPtr(data_dependent, TensorByte(buffer.index, offsetof(TensorArg, dims))), arguments_,
               TensorByte(entry, offsetof(TensorArg, dims)));
    }
    switch (call_.kind) {
      case Call::Kind::kWhile:
        return RunWhile();
      case Call::Kind::kIf:
        return RunIf(data_of);
      case Call::Kind::kContinuation:
        return RunContinuation();
      case Call::Kind::kCustom:
        return RunCustom();
    }
  }

 private:
  llvm::Value* Word(int word) { return f_.Address(shape_cache_, ShapeCacheByte(word)); }

  void CallProgram(size_t which, llvm::Value* in, llvm::Value* out) {
    llvm::Function* run = CalledFunction(unit_, "run", call_.programs[which]);
    f_.ReturnIfFailed(f_.b.CreateCall(run, {f_.api(), f_.context(), in, out}));
  }

  // The host address of a tensor's first `bytes`. A device tensor is read back, which waits for earlier kernels and so
  // makes their faults visible too.
  llvm::Value* Visible(llvm::Value* data, int64_t bytes) {
    if (unit_.place == KernelPlace::kHost) return data;
    llvm::Value* copy = Word(words_.read);
    f_.ReturnIfFailed(
        f_.CallApi(offsetof(RtApi, readback), f_.b.getInt32Ty(), {f_.b.getInt32(1), copy, data, f_.b.getInt64(bytes)}));
    EmitFaultCheck(f_, unit_, shape_cache_);
    return copy;
  }

  llvm::Value* IsTrue(llvm::Value* tensor) {
    llvm::Value* data = Visible(tensor, 1);
    llvm::Value* byte = f_.b.CreateAlignedLoad(f_.b.getInt8Ty(), data, llvm::Align(1), "condition");
    return f_.b.CreateICmpNE(byte, f_.b.getInt8(0));
  }

  // The body first reads the arguments, then its own previous results; it writes the two places alternately.
  void RunWhile() {
    llvm::Value* places[] = {Word(words_.places[0]), Word(words_.places[1])};
    for (size_t i = 0; i < call_.carried.size(); ++i) {
      if (call_.carried[i].kind == Kind::kSwapped || call_.CounterOf(i) != nullptr) continue;
      for (llvm::Value* place : places) CopyEntry(f_, arguments_, place, static_cast<int>(i));
    }
    llvm::Value* last = f_.While(
        arguments_,
        [&](llvm::Value* state) {
          if (call_.decided) return IsDecided(DimsAt(state));
          CallProgram(0, state, condition_);
          return IsTrue(f_.LoadPtr(condition_, offsetof(TensorArg, data)));
        },
        [&](llvm::Value* state) {
          llvm::Value* second = f_.b.CreateICmpEQ(state, places[0], "second");
          llvm::Value* next = f_.b.CreateSelect(second, places[1], places[0], "next");
          for (size_t i = 0; i < call_.carried.size(); ++i) {
            const int* grown = call_.carried[i].grown;
            if (grown[0] < 0) continue;
            f_.Store(f_.b.CreateSelect(second, Number(f_, grown[1]), Number(f_, grown[0])), next,
                     TensorByte(static_cast<int>(i), offsetof(TensorArg, data)));
          }
          DimEmitter dims = DimsAt(state);
          for (const Counter& counter : call_.counters) {
            f_.Store(dims.Emit(counter.next).value, next, DimSizesByte(call_.arguments, counter.argument));
          }
          CallProgram(call_.programs.size() - 1, state, next);
          if (unit_.place == KernelPlace::kHost) EmitFaultCheck(f_, unit_, shape_cache_);
          EmitPoll(f_, kBetweenLaunches);
          return next;
        });
    for (size_t i = 0; i < call_.carried.size(); ++i) {
      if (call_.carried[i].kind == Kind::kSwapped) CopyEntry(f_, last, results_, static_cast<int>(i));
    }
  }

  // Emits expressions over the program's symbols and the loop's counters, whose values are dim sizes in block `state`.
  DimEmitter DimsAt(llvm::Value* state) {
    DimEmitter dims = DimsOfRun(f_, unit_, shape_cache_);
    for (const Counter& counter : call_.counters) {
      llvm::Value* value = f_.LoadI64(state, DimSizesByte(call_.arguments, counter.argument), "counter");
      dims.SetSymbol(counter.symbol, {value, 0, INT64_MAX});
    }
    return dims;
  }

  llvm::Value* IsDecided(DimEmitter dims) {
    return f_.b.CreateICmpNE(dims.Emit(*call_.decided).value, f_.b.getInt64(0), "decided");
  }

  // The condition of a branch.
  llvm::Value* Takes(llvm::function_ref<llvm::Value*(const HostBuffer&)> data_of) {
    if (call_.decided) return IsDecided(DimsOfRun(f_, unit_, shape_cache_));
    const HostBuffer& condition = unit_.program.buffers[call_.condition];
    return IsTrue(AtRun(condition.place) ? data_of(condition)
                                         : f_.LoadPtr(condition_, offsetof(TensorArg, data), "data"));
  }

  void RunIf(llvm::function_ref<llvm::Value*(const HostBuffer&)> data_of) {
    for (size_t r = 0; r < call_.results.size(); ++r) {
      if (call_.results[r].grown < 0) continue;
      f_.Store(Number(f_, call_.results[r].grown), results_,
               TensorByte(static_cast<int>(r), offsetof(TensorArg, data)));
    }
    f_.IfElse(
        Takes(data_of), [&] { CallProgram(0, arguments_, results_); }, [&] { CallProgram(1, arguments_, results_); });
  }

  void RunContinuation() {
    if (unit_.place == KernelPlace::kHost) EmitFaultCheck(f_, unit_, shape_cache_);
    for (size_t i = 0; i < call_.arguments.size(); ++i) {
      const CallArgument& argument = call_.arguments[i];
      if (argument.count < 0) continue;
      llvm::Value* data = f_.LoadPtr(arguments_, TensorByte(argument.count, offsetof(TensorArg, data)), "data");
      llvm::Value* count = f_.LoadI64(Visible(data, sizeof(int64_t)), 0, "count");
      f_.FailIf(f_.b.CreateICmpSLT(count, f_.b.getInt64(0)), unit_.program.first_check + argument.count_check, count,
                f_.b.getInt64(0));
      f_.Store(count, arguments_, DimSizesByte(call_.arguments, i));
    }
    CallProgram(0, arguments_, f_.argument(3));
  }

  // Kernels that faulted have written anything: their results do not leave the program.
  void RunCustom() {
    if (unit_.place == KernelPlace::kHost) EmitFaultCheck(f_, unit_, shape_cache_);
    llvm::Value* workspace = f_.LoadPtr(shape_cache_, ShapeCacheByte(words_.workspace), "workspace");
    llvm::Value* bytes = f_.LoadI64(shape_cache_, ShapeCacheByte(words_.workspace + 1), "workspace.bytes");
    f_.ReturnIfFailed(f_.CallApi(offsetof(RtApi, custom), f_.b.getInt32Ty(),
                                 {f_.b.getInt32(call_.custom), arguments_, workspace, bytes}));
  }

  HostFunction& f_;
  const HostUnit& unit_;
  const Call& call_;
  const ShapeCache::CallWords& words_;
  llvm::Value* shape_cache_;
  llvm::Value *arguments_, *results_, *condition_;
};

}  // namespace

void EmitArgumentDimSizes(HostFunction& f, HostShapes& shapes, const Call& call, llvm::Value* block) {
  std::vector<Entry> entries;
  for (const CallArgument& argument : call.arguments) {
    entries.push_back({&argument.shape, !argument.data_dependent && argument.count < 0, !argument.data_dependent});
  }
  EmitDimSizes(f, shapes, entries, block);
}

DimValue EmitInnerBytes(HostFunction& f, const HostUnit& unit, const std::vector<llvm::Value*>& blocks,
                        llvm::function_ref<void(int call, llvm::Value* bytes)> keep) {
  DimValue most{f.b.getInt64(0), 0, 0};
  const auto include = [&](llvm::Value* bytes) {
    most = {f.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, most.value, bytes), 0, INT64_MAX};
  };
  for (size_t i = 0; i < unit.program.calls.size(); ++i) {
    const Call& call = unit.program.calls[i];
    if (call.kind == Call::Kind::kCustom) {
      llvm::Value* bytes = EmitCustomBytes(f, call, blocks[i]);
      keep(static_cast<int>(i), bytes);
      include(bytes);
    }
    for (int program : call.programs) {
      if ((*unit.all)[program].program.own_workspace >= 0) continue;
      llvm::IRBuilder<> entry(&f.function()->getEntryBlock(), f.function()->getEntryBlock().begin());
      auto* words = llvm::ArrayType::get(f.b.getInt64Ty(), sizeof(PlanResult) / 8);
      llvm::Value* plan = entry.CreateAlloca(words, nullptr, "plan");
      llvm::Function* planner = CalledFunction(unit, "plan", program);
      llvm::Value* none = llvm::ConstantPointerNull::get(f.b.getPtrTy());
      f.Store(f.b.getInt64(0), plan, offsetof(PlanResult, workspace_bytes));
      // A failed plan needs no memory: the error is reported when the program is called, and a loop may have no
      // iterations.
      f.b.CreateCall(planner, {f.api(), f.context(), blocks[i], none, plan});
      include(f.LoadI64(plan, offsetof(PlanResult, workspace_bytes), "inner"));
    }
  }
  return most;
}

void EmitCallLayout(HostFunction& f, HostShapes& shapes, const HostUnit& unit, int index, llvm::Value* shape_cache,
                    llvm::function_ref<llvm::Value*(const HostBuffer&)> place_of, llvm::Value* inner) {
  CallEmitter(f, unit, index, shape_cache).LayOut(shapes, place_of, inner);
}

void EmitCall(HostFunction& f, const HostUnit& unit, int index, llvm::Value* shape_cache,
              llvm::function_ref<llvm::Value*(const HostBuffer&)> data_of) {
  CallEmitter(f, unit, index, shape_cache).Run(data_of);
}

void EmitPoll(HostFunction& f, int32_t launch) {
  llvm::LoadInst* interrupt =
      f.b.CreateAlignedLoad(f.b.getInt64Ty(), f.Address(f.context(), offsetof(RtContext, interrupt)), llvm::Align(8));
  interrupt->setAtomic(llvm::AtomicOrdering::Monotonic);
  f.If(f.b.CreateICmpNE(interrupt, f.b.getInt64(0)), /*likely=*/false,
       [&] { f.ReturnIfFailed(f.CallApi(offsetof(RtApi, poll), f.b.getInt32Ty(), {f.b.getInt32(launch)})); });
}

void EmitFaultCheck(HostFunction& f, const HostUnit& unit, llvm::Value* shape_cache) {
  if (unit.shape_cache.fault < 0) return;
  const auto word = [&](int i) { return f.LoadI64(shape_cache, ShapeCacheByte(unit.shape_cache.fault + i)); };
  llvm::Value* flag = word(0);
  llvm::Value* check = f.b.CreateTrunc(f.b.CreateSub(flag, f.b.getInt64(1)), f.b.getInt32Ty(), "fault.check");
  f.FailIf(f.b.CreateICmpNE(flag, f.b.getInt64(0)), check, word(1), word(2));
}

}  // namespace tailor::host
