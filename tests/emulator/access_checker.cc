#include "tests/emulator/access_checker.h"

#include <algorithm>
#include <utility>

#include "tests/emulator/launch.h"

namespace tailor::simt {
namespace {

using Kind = AccessChecker::Kind;

void Join(KnownBlocks& known, const KnownBlocks& more) {
  for (const auto& [block, time] : more) known[block] = std::max(known[block], time);
}

}  // namespace

std::string AccessChecker::DescribeAccess(uint64_t bytes, Kind kind) {
  return NameOf(RunningThread()) + (Writes(kind) ? ": writes " : ": reads ") + std::to_string(bytes) + " bytes";
}

void AccessChecker::OpenLaunch(const FindMemory* find_memory) {
  constexpr size_t kMostPages = 2048;
  if (pages_.size() > kMostPages) {
    pages_.clear();
    recent_pages_ = {};
  }
  launched_ = ++now_;
  find_memory_ = find_memory;
  ranges_ = {};
  traffic_ = {};
  published_.clear();
  doubt_.address = nullptr;
}

void AccessChecker::OpenBlock(Block& block) {
  block.order.opened = block.order.barrier = ++now_;
  block.order.warp_barriers = {};
  block.order.known.clear();
  block.order.tracks_warps = false;
  block.order.known_warps = {};
  for (Thread& thread : block.threads) thread.order = {};
}

void AccessChecker::Generic(const void* address, uint64_t bytes, Kind kind) {
  const Block& block = *RunningThread().block;
  const auto* first = static_cast<const std::byte*>(address);
  if (RunningThread().OwnsStack(address)) return;
  if (first >= block.shared && first < block.shared + RunningGrid().shared_bytes) return Shared(address, bytes, kind);
  Global(address, bytes, kind);
}

void AccessChecker::BlockBarrier(Block& block) {
  block.order.barrier = ++now_;
  uint32_t fenced = 0;
  for (const Thread& thread : block.threads) fenced = std::max(fenced, thread.order.fenced);
  for (Thread& thread : block.threads) thread.order.fenced = fenced;
}

void AccessChecker::WarpBarrier(Block& block, int warp) { block.order.warp_barriers[warp] = ++now_; }

void AccessChecker::TrackWarps(Block& block) {
  block.order.tracks_warps = true;
  block.order.warp_reads.resize(block.order.cells.size());
}

void AccessChecker::Release(int warp, WarpClock& clock) {
  const WarpClock& known = RunningThread().block->order.known_warps[warp];
  for (int i = 0; i < kMostWarps; ++i) clock[i] = std::max(clock[i], known[i]);
  clock[warp] = now_++;
}

void AccessChecker::Acquire(const WarpClock& clock) {
  BlockOrder& order = RunningThread().block->order;
  const int own = WarpOf(RunningThread().id);
  for (int i = 0; i < kMostWarps; ++i) order.known_warps[own][i] = std::max(order.known_warps[own][i], clock[i]);
  order.warp_barriers[own] = std::max(order.warp_barriers[own], clock[own] + 1);
}

void AccessChecker::GridBarrier() { launched_ = ++now_; }

void AccessChecker::Fence() {
  Thread& thread = RunningThread();
  thread.order.fenced = now_++;
  Join(thread.block->order.known, std::exchange(thread.order.observed, {}));
}

void AccessChecker::ProxyFence() { RunningThread().order.proxied = ++now_; }

void AccessChecker::Synchronize(const void* address, bool orders) {
  Thread& thread = RunningThread();
  if (orders) Fence();
  const auto found = published_.find(address);
  if (found != published_.end()) Join(thread.order.observed, found->second);
  if (thread.order.fenced >= thread.block->order.opened) {
    KnownBlocks& published = published_[address];
    Join(published, thread.block->order.known);
    uint32_t& own = published[thread.block->id];
    own = std::max(own, thread.order.fenced);
  }
  if (orders) Fence();
}

}  // namespace tailor::simt
