#include "tests/emulator/fibers.h"

#include <sys/mman.h>

#include <cassert>

namespace tailor::simt {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

constexpr size_t kGuardBytes = 4096;
constexpr size_t kStride = StackPool::kBytes + kGuardBytes;

// The context to which the running fiber yields.
thread_local boost::context::detail::fcontext_t resumer = nullptr;

// The first Resume passes the entry.
void Run(transfer_t from) {
  resumer = from.fctx;
  reinterpret_cast<void (*)()>(from.data)();
  assert(false && "a fiber's entry returned");
}

}  // namespace

StackPool::~StackPool() {
  for (char* mapping : mappings_) munmap(mapping, kStacksPerMapping * kStride);
}

void* StackPool::Top(size_t index) {
  while (mappings_.size() <= index / kStacksPerMapping) {
    void* mapping = mmap(nullptr, kStacksPerMapping * kStride, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert(mapping != MAP_FAILED);
    mappings_.push_back(static_cast<char*>(mapping));
    for (size_t i = 0; i < kStacksPerMapping; ++i) mprotect(mappings_.back() + i * kStride, kGuardBytes, PROT_NONE);
  }
  return mappings_[index / kStacksPerMapping] + (index % kStacksPerMapping + 1) * kStride;
}

void Fiber::Start(void* top, void (*entry)()) {
  context_ = make_fcontext(top, StackPool::kBytes, Run);
  entry_ = entry;
}

void Fiber::Resume() { context_ = jump_fcontext(context_, reinterpret_cast<void*>(entry_)).fctx; }

void Fiber::Yield() { resumer = jump_fcontext(resumer, nullptr).fctx; }

}  // namespace tailor::simt
