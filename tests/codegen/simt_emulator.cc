#include "tests/codegen/simt_emulator.h"

#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <numeric>
#include <random>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

namespace tailor {
namespace {

constexpr int kWarp = 32;
constexpr size_t kStackBytes = 64 << 10;

enum class State { kReady, kAtBarrier, kAtShuffle, kDone };

struct Fiber {
  ucontext_t context;
  std::vector<char> stack = std::vector<char>(kStackBytes);
  State state = State::kReady;
  uint64_t offered = 0;  // to the other lanes of a shuffle
  int mask = 0;
};

// The block that runs: one at a time.
struct Block {
  int64_t id = 0;
  int64_t blocks = 0;
  std::vector<Fiber> fibers;
  std::vector<std::max_align_t> shared;
  ucontext_t scheduler;
  int current = 0;
  void (*kernel)(const int64_t*) = nullptr;
  const int64_t* slots = nullptr;
};
Block* block = nullptr;

void Wait(State state) {
  Fiber& own = block->fibers[block->current];
  own.state = state;
  swapcontext(&own.context, &block->scheduler);
}

int32_t ThreadId() { return block->current; }
int32_t BlockDim() { return static_cast<int32_t>(block->fibers.size()); }
int32_t BlockId() { return static_cast<int32_t>(block->id); }
int32_t GridDim() { return static_cast<int32_t>(block->blocks); }
void* SharedMemory() { return block->shared.data(); }
void Barrier() { Wait(State::kAtBarrier); }

uint64_t ShuffleBits(uint64_t value, int32_t mask) {
  const int own = block->current;
  block->fibers[own].offered = value;
  block->fibers[own].mask = mask;
  Wait(State::kAtShuffle);
  return block->fibers[own].offered;
}

template <class T, class Bits>
T Shuffle(T value, int32_t mask) {
  return std::bit_cast<T>(static_cast<Bits>(ShuffleBits(std::bit_cast<Bits>(value), mask)));
}

void RunFiber() {
  block->kernel(block->slots);
  Wait(State::kDone);
}

// Gives each lane of a warp, all of which wait with one mask, what its partner offered.
bool ExchangeWarp(int warp) {
  Fiber* lanes = &block->fibers[warp * kWarp];
  uint64_t offered[kWarp];
  for (int i = 0; i < kWarp; ++i) {
    if (lanes[i].state != State::kAtShuffle || lanes[i].mask != lanes[0].mask) return false;
    offered[i] = lanes[i].offered;
  }
  for (int i = 0; i < kWarp; ++i) {
    lanes[i].offered = offered[i ^ lanes[i].mask];
    lanes[i].state = State::kReady;
  }
  return true;
}

// Runs the ready threads of a warp in random order until each waits; false if none was ready.
bool StepWarp(int warp, std::mt19937& random) {
  std::vector<int> ready;
  for (int i = warp * kWarp; i < (warp + 1) * kWarp; ++i) {
    if (block->fibers[i].state == State::kReady) ready.push_back(i);
  }
  std::shuffle(ready.begin(), ready.end(), random);
  for (int thread : ready) {
    block->current = thread;
    swapcontext(&block->scheduler, &block->fibers[thread].context);
  }
  return !ready.empty();
}

bool AllAre(State state) {
  return std::all_of(block->fibers.begin(), block->fibers.end(), [&](const Fiber& f) { return f.state == state; });
}

// Warps take turns in random order, each running through a random number of shuffles at a stretch, so that some
// are far ahead of others; a barrier opens when every thread of the block is there.
bool RunBlock(std::mt19937& random) {
  std::vector<int> warps(block->fibers.size() / kWarp);
  std::iota(warps.begin(), warps.end(), 0);
  while (!AllAre(State::kDone)) {
    bool moved = false;
    std::shuffle(warps.begin(), warps.end(), random);
    for (int warp : warps) {
      for (int steps = 1 << random() % 6; steps > 0; --steps) {
        const bool stepped = StepWarp(warp, random);
        const bool exchanged = ExchangeWarp(warp);
        moved |= stepped || exchanged;
        if (!exchanged) break;
      }
    }
    if (moved) continue;
    if (!AllAre(State::kAtBarrier)) return false;
    for (Fiber& fiber : block->fibers) fiber.state = State::kReady;
  }
  return true;
}

// Wraps each kernel as `void @launch.<name>(ptr slots)`, which unpacks the parameters.
void WrapKernels(llvm::Module& module) {
  std::vector<llvm::Function*> kernels;
  for (llvm::Function& f : module) {
    if (f.getCallingConv() == llvm::CallingConv::PTX_Kernel) kernels.push_back(&f);
  }
  for (llvm::Function* kernel : kernels) {
    kernel->setCallingConv(llvm::CallingConv::C);
    llvm::IRBuilder<> b(module.getContext());
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
    auto* wrapper =
        llvm::Function::Create(type, llvm::Function::ExternalLinkage, "launch." + kernel->getName(), module);
    b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", wrapper));
    std::vector<llvm::Value*> args;
    for (llvm::Argument& parameter : kernel->args()) {
      llvm::Value* slot = b.CreateConstGEP1_64(b.getInt64Ty(), wrapper->getArg(0), parameter.getArgNo());
      args.push_back(b.CreateLoad(parameter.getType(), slot));
    }
    b.CreateCall(kernel, args);
    b.CreateRetVoid();
  }
}

}  // namespace

SimtEmulator::SimtEmulator(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  jit_ = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  llvm::orc::SymbolMap symbols;
  auto define = [&](const char* name, auto* function) {
    symbols[jit_->mangleAndIntern(std::string("tailor.device.") + name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function), llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  define("thread_id", &ThreadId);
  define("block_dim", &BlockDim);
  define("block_id", &BlockId);
  define("grid_dim", &GridDim);
  define("barrier", &Barrier);
  define("shared_memory", &SharedMemory);
  define("shuffle_xor.float", &Shuffle<float, uint32_t>);
  define("shuffle_xor.double", &Shuffle<double, uint64_t>);
  define("shuffle_xor.i32", &Shuffle<int32_t, uint32_t>);
  define("shuffle_xor.i64", &Shuffle<int64_t, uint64_t>);
  llvm::cantFail(jit_->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))));
  WrapKernels(*module);
  [[maybe_unused]] const bool broken = llvm::verifyModule(*module, &llvm::errs());
  assert(!broken);
  llvm::cantFail(jit_->addIRModule({std::move(module), std::move(context)}));
}

bool SimtEmulator::Launch(const std::string& kernel, const Grid& grid, const std::vector<int64_t>& slots,
                          uint32_t seed) {
  std::mt19937 random(seed);
  Block running;
  running.kernel = llvm::cantFail(jit_->lookup("launch." + kernel)).toPtr<void (*)(const int64_t*)>();
  running.slots = slots.data();
  running.blocks = grid.blocks;
  running.fibers.resize(grid.threads);
  running.shared.resize(grid.shared_bytes / sizeof(std::max_align_t) + 1);
  block = &running;
  bool met = true;
  for (running.id = 0; running.id < grid.blocks && met; ++running.id) {
    for (Fiber& fiber : running.fibers) {
      fiber.state = State::kReady;
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.data();
      fiber.context.uc_stack.ss_size = fiber.stack.size();
      makecontext(&fiber.context, RunFiber, 0);
    }
    met = RunBlock(random);
  }
  block = nullptr;
  return met;
}

}  // namespace tailor
