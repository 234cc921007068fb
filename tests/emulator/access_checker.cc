#include "tests/emulator/access_checker.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tests/emulator/launch.h"

namespace tailor::simt {
namespace {

using Kind = AccessChecker::Kind;

bool IsAtomic(Kind kind) { return kind == Kind::kAtomicRead || kind == Kind::kAtomicWrite; }
bool Writes(Kind kind) { return kind == Kind::kWrite || kind == Kind::kAtomicWrite; }
int WarpOf(int thread) { return thread / kWarp; }

std::string Hex(const void* address) {
  char text[32];
  std::snprintf(text, sizeof(text), "%p", address);
  return text;
}

std::string DescribeAccess(const Thread& thread, uint64_t bytes, Kind kind) {
  return NameOf(thread) + (Writes(kind) ? ": writes " : ": reads ") + std::to_string(bytes) + " bytes";
}

void Join(KnownBlocks& known, const KnownBlocks& more) {
  for (const auto& [block, time] : more) known[block] = std::max(known[block], time);
}

}  // namespace

void AccessChecker::OpenLaunch(const FindMemory* find_memory) {
  constexpr size_t kMostPages = 2048;
  if (pages_.size() > kMostPages) {
    pages_.clear();
    recent_pages_ = {};
  }
  launched_ = ++now_;
  find_memory_ = find_memory;
  extents_ = {};
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

// Whether the running thread's access comes after one of thread `other` of its block at `time`.
bool AccessChecker::IsOrderedInBlock(uint32_t time, int other, const Thread& thread) const {
  const BlockOrder& order = thread.block->order;
  if (time < order.barrier || other == thread.id) return true;
  return IsKnown(time, WarpOf(other), thread);
}

// Whether the thread comes after what warp `warp` of its block did at `time`.
bool AccessChecker::IsKnown(uint32_t time, int warp, const Thread& thread) const {
  const BlockOrder& order = thread.block->order;
  const int own = WarpOf(thread.id);
  return warp == own ? time < order.warp_barriers[own] : time <= order.known_warps[own][warp];
}

bool AccessChecker::SharedWriteIsOrdered(const SharedCell& cell, const Thread& thread, bool atomic) const {
  return (atomic && cell.atomic) || IsOrderedInBlock(cell.written, cell.writer, thread);
}

bool AccessChecker::SharedReadsAreOrdered(const SharedCell& cell, const Thread& thread) const {
  if (cell.read < thread.block->order.barrier) return true;
  switch (cell.readers) {
    case SharedCell::Readers::kOne:
      return IsOrderedInBlock(cell.read, cell.reader, thread);
    case SharedCell::Readers::kOneWarp:
      return IsKnown(cell.read, WarpOf(cell.reader), thread);
    case SharedCell::Readers::kMany:
      break;
  }
  const BlockOrder& order = thread.block->order;
  if (!order.tracks_warps) return false;
  const WarpClock& reads = order.warp_reads[&cell - order.cells.data()];
  for (int warp = 0; warp < kMostWarps; ++warp) {
    const bool known = reads[warp] < order.barrier || warp == WarpOf(thread.id) || IsKnown(reads[warp], warp, thread);
    if (!known) return false;
  }
  return true;
}

void AccessChecker::Shared(const void* address, uint64_t bytes, Kind kind) {
  SettleDoubt();
  if (bytes == 0) return;
  const Thread& thread = RunningThread();
  BlockOrder& order = thread.block->order;
  const int64_t offset = static_cast<const std::byte*>(address) - thread.block->shared;
  const int64_t size = RunningGrid().shared_bytes;
  if (offset < 0 || offset + static_cast<int64_t>(bytes) > size) {
    Fail(DescribeAccess(thread, bytes, kind) + " at byte " + std::to_string(offset) + " of shared memory, which has " +
         std::to_string(size));
  }
  auto race = [&](uint64_t i, int other, const char* did) {
    const uint64_t at = static_cast<uint64_t>(offset) + i;
    Fail(DescribeAccess(thread, bytes, kind) + " at byte " + std::to_string(offset) +
         " of shared memory, of which thread " + std::to_string(other) + " " + did + " byte " + std::to_string(at) +
         ", with no barrier between");
  };
  const bool atomic = IsAtomic(kind);
  for (uint64_t i = 0; i < bytes; ++i) {
    SharedCell& cell = order.cells[offset + i];
    if (cell.copied && cell.written >= order.opened) {
      Fail(DescribeAccess(thread, bytes, kind) + " at byte " + std::to_string(offset) +
           " of shared memory, where an asynchronous copy of thread " + std::to_string(cell.writer) + " is under way");
    }
    if (!SharedWriteIsOrdered(cell, thread, atomic)) race(i, cell.writer, "wrote");
    if (Writes(kind)) {
      if (!SharedReadsAreOrdered(cell, thread)) race(i, cell.reader, "read");
      cell = {.written = now_, .writer = static_cast<uint16_t>(thread.id), .atomic = atomic};
    } else if (!atomic) {
      if (SharedReadsAreOrdered(cell, thread)) {
        cell.readers = SharedCell::Readers::kOne;
      } else {
        const bool same_warp = cell.readers != SharedCell::Readers::kMany && WarpOf(cell.reader) == WarpOf(thread.id);
        cell.readers = same_warp ? SharedCell::Readers::kOneWarp : SharedCell::Readers::kMany;
      }
      cell.reader = static_cast<uint16_t>(thread.id);
      cell.read = now_;
      if (order.tracks_warps) order.warp_reads[offset + i][WarpOf(thread.id)] = now_;
    }
  }
}

void AccessChecker::StartCopy(const void* to, uint64_t bytes) {
  Shared(to, bytes, Kind::kWrite);
  Block& block = *RunningThread().block;
  const int64_t offset = static_cast<const std::byte*>(to) - block.shared;
  for (uint64_t i = 0; i < bytes; ++i) block.order.cells[offset + i].copied = true;
}

void AccessChecker::FinishCopy(const void* to, uint64_t bytes) {
  Block& block = *RunningThread().block;
  const int64_t offset = static_cast<const std::byte*>(to) - block.shared;
  for (uint64_t i = 0; i < bytes; ++i) {
    SharedCell& cell = block.order.cells[offset + i];
    cell.copied = false;
    cell.written = now_;
  }
}

void AccessChecker::CheckBounds(const void* address, uint64_t bytes, Kind kind) {
  if (find_memory_ == nullptr || !*find_memory_) return;
  const auto begin = reinterpret_cast<uint64_t>(address);
  for (const SimtExtent& known : extents_) {
    if (known.begin <= begin && begin + bytes <= known.end) return;
  }
  const SimtExtent found = (*find_memory_)(begin);
  if (found.begin > begin || found.end <= begin) {
    Fail(DescribeAccess(RunningThread(), bytes, kind) + " at " + Hex(address) + ", outside the device's memory");
  }
  if (begin + bytes > found.end) {
    Fail(DescribeAccess(RunningThread(), bytes, kind) + " at byte " + std::to_string(begin - found.begin) + " of " +
         std::to_string(found.end - found.begin) + " bytes of global memory");
  }
  extents_[next_extent_++ % extents_.size()] = found;
}

AccessChecker::GlobalCell& AccessChecker::CellOf(uint64_t address) {
  const uint64_t number = address / kPageBytes;
  auto& [known, page] = recent_pages_[number % recent_pages_.size()];
  if (page == nullptr || known != number) {
    std::unique_ptr<Page>& own = pages_[number];
    if (own == nullptr) own = std::make_unique<Page>();
    known = number;
    page = own.get();
  }
  return (*page)[address % kPageBytes];
}

bool AccessChecker::GlobalWriteIsOrdered(const GlobalCell& cell, const Thread& thread, bool atomic) const {
  if (cell.written < launched_ || (atomic && cell.atomic)) return true;
  if (cell.block == thread.block->id) return IsOrderedInBlock(cell.written, cell.writer, thread);
  const KnownBlocks& known = thread.block->order.known;
  const auto found = known.find(cell.block);
  return found != known.end() && cell.written <= found->second;
}

void AccessChecker::Global(const void* address, uint64_t bytes, Kind kind) {
  SettleDoubt();
  if (bytes == 0) return;
  CheckBounds(address, bytes, kind);
  const Thread& thread = RunningThread();
  const auto begin = reinterpret_cast<uint64_t>(address);
  for (uint64_t i = 0; i < bytes; ++i) {
    GlobalCell& cell = CellOf(begin + i);
    if (!GlobalWriteIsOrdered(cell, thread, IsAtomic(kind))) {
      std::string text = DescribeAccess(thread, bytes, kind) + " of global memory at " + Hex(address) +
                         ", of which thread " + std::to_string(cell.writer) + " of block " +
                         std::to_string(cell.block) + " wrote byte " + std::to_string(i) +
                         ", with nothing that orders the two";
      if (kind != Kind::kWrite) Fail(std::move(text));
      if (doubt_.address == nullptr) {
        const auto* first = static_cast<const std::byte*>(address);
        doubt_ = {first, {first, first + bytes}, std::move(text)};
      }
    }
    if (!Writes(kind)) continue;
    cell = {.written = now_,
            .block = static_cast<uint32_t>(thread.block->id),
            .writer = static_cast<uint16_t>(thread.id),
            .atomic = IsAtomic(kind)};
  }
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

void AccessChecker::SettleDoubt() {
  if (doubt_.address == nullptr) return;
  const bool changed = std::memcmp(doubt_.address, doubt_.before.data(), doubt_.before.size()) != 0;
  doubt_.address = nullptr;
  if (changed) Fail(std::move(doubt_.diagnosis));
}

void AccessChecker::Leave() { SettleDoubt(); }

}  // namespace tailor::simt
