// The access checker for shared memory.
#include "tests/emulator/access_checker.h"

#include <algorithm>

#include "tests/emulator/launch.h"

namespace tailor::simt {
namespace {

using Kind = AccessChecker::Kind;

int64_t OffsetOf(const void* address, const Thread& thread) {
  return static_cast<const std::byte*>(address) - thread.block->shared;
}

}  // namespace

// Whether the running thread's access is ordered after one by thread `other` of its block at `time`.
bool AccessChecker::IsOrderedInBlock(uint32_t time, int other, const Thread& thread) const {
  const BlockOrder& order = thread.block->order;
  if (time < order.barrier || other == thread.id) return true;
  return IsKnown(time, WarpOf(other), thread);
}

// Whether the thread is ordered after the actions of warp `warp` of its block at `time`.
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

bool AccessChecker::IsSound(const SharedCell& cell, const Thread& thread, Kind kind) const {
  if (cell.copied && cell.written >= thread.block->order.opened) return false;
  return SharedWriteIsOrdered(cell, thread, IsAtomic(kind)) && (!Writes(kind) || SharedReadsAreOrdered(cell, thread));
}

// Fails with the reason why an access to one byte is unsound.
void AccessChecker::FailAtSharedByte(const SharedAccess& access, int64_t byte) const {
  const Thread& thread = RunningThread();
  const SharedCell& cell = thread.block->order.cells[byte];
  std::string why;
  if (cell.copied && cell.written >= thread.block->order.opened) {
    why = "where an asynchronous copy of thread " + std::to_string(cell.writer) + " is under way";
  } else {
    const bool wrote = !SharedWriteIsOrdered(cell, thread, IsAtomic(access.kind));
    why = "of which thread " + std::to_string(wrote ? cell.writer : cell.reader) + (wrote ? " wrote" : " read") +
          " byte " + std::to_string(byte) + ", with no barrier between";
  }
  Fail(DescribeAccess(access.bytes, access.kind) + " at byte " + std::to_string(access.offset) + " of shared memory, " +
       why);
}

void AccessChecker::NoteRead(SharedCell& cell, const Thread& thread) const {
  BlockOrder& order = thread.block->order;
  if (SharedReadsAreOrdered(cell, thread)) {
    cell.readers = SharedCell::Readers::kOne;
  } else {
    const bool same_warp = cell.readers != SharedCell::Readers::kMany && WarpOf(cell.reader) == WarpOf(thread.id);
    cell.readers = same_warp ? SharedCell::Readers::kOneWarp : SharedCell::Readers::kMany;
  }
  cell.reader = static_cast<uint16_t>(thread.id);
  cell.read = now_;
  if (order.tracks_warps) order.warp_reads[&cell - order.cells.data()][WarpOf(thread.id)] = now_;
}

void AccessChecker::Shared(const void* address, uint64_t bytes, Kind kind) {
  SettleDoubt();
  const Thread& thread = RunningThread();
  const SharedAccess access = {OffsetOf(address, thread), static_cast<int64_t>(bytes), kind};
  const int64_t size = RunningGrid().shared_bytes, end = access.offset + access.bytes;
  if (bytes > 0 && (access.offset < 0 || end > size)) {
    Fail(DescribeAccess(bytes, kind) + " at byte " + std::to_string(access.offset) + " of shared memory, which has " +
         std::to_string(size));
  }
  const SharedCell written = {.written = now_, .writer = static_cast<uint16_t>(thread.id), .atomic = IsAtomic(kind)};
  for (int64_t byte = access.offset; byte < end; ++byte) {
    SharedCell& cell = thread.block->order.cells[byte];
    if (!IsSound(cell, thread, kind)) FailAtSharedByte(access, byte);
    if (kind == Kind::kRead) NoteRead(cell, thread);
    if (Writes(kind)) cell = written;
  }
}

void AccessChecker::SharedByProxy(const void* address, uint64_t bytes) {
  Shared(address, bytes, Kind::kRead);
  const Thread& thread = RunningThread();
  const int64_t offset = OffsetOf(address, thread);
  for (uint64_t i = 0; i < bytes; ++i) {
    const SharedCell& cell = thread.block->order.cells[offset + i];
    const uint32_t fenced = std::max(thread.order.proxied, thread.block->threads[cell.writer].order.proxied);
    if (cell.bulk || cell.written < thread.block->order.opened || fenced > cell.written) continue;
    Fail(NameOf(thread) + ": wgmma reads byte " + std::to_string(offset + i) + " of shared memory, which thread " +
         std::to_string(cell.writer) + " wrote, with no fence_async_proxy between");
  }
}

void AccessChecker::StartCopy(const void* to, uint64_t bytes, bool bulk) {
  Shared(to, bytes, Kind::kWrite);
  Block& block = *RunningThread().block;
  const int64_t offset = OffsetOf(to, RunningThread());
  for (uint64_t i = 0; i < bytes; ++i) {
    SharedCell& cell = block.order.cells[offset + i];
    cell.copied = true;
    cell.bulk = bulk;
  }
}

void AccessChecker::FinishCopy(const void* to, uint64_t bytes) {
  Block& block = *RunningThread().block;
  const int64_t offset = OffsetOf(to, RunningThread());
  for (uint64_t i = 0; i < bytes; ++i) {
    SharedCell& cell = block.order.cells[offset + i];
    cell.copied = false;
    cell.written = now_;
  }
}

}  // namespace tailor::simt
