// The access checker's view of shared memory.
#include "tests/emulator/access_checker.h"

#include <algorithm>

#include "tests/emulator/launch.h"

namespace tailor::simt {
namespace {

using Kind = AccessChecker::Kind;

int WarpOf(int thread) { return thread / kWarp; }

int64_t OffsetOf(const void* address, const Thread& thread) {
  return static_cast<const std::byte*>(address) - thread.block->shared;
}

}  // namespace

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

// Fails if the access of one byte is not sound.
void AccessChecker::CheckSharedByte(const SharedAccess& access, int64_t byte) const {
  const Thread& thread = RunningThread();
  const SharedCell& cell = thread.block->order.cells[byte];
  const auto fail = [&](const std::string& why) {
    Fail(DescribeAccess(access.bytes, access.kind) + " at byte " + std::to_string(access.offset) +
         " of shared memory, " + why);
  };
  const auto race = [&](int other, const char* did) {
    fail("of which thread " + std::to_string(other) + " " + did + " byte " + std::to_string(byte) +
         ", with no barrier between");
  };
  if (cell.copied && cell.written >= thread.block->order.opened) {
    fail("where an asynchronous copy of thread " + std::to_string(cell.writer) + " is under way");
  }
  if (!SharedWriteIsOrdered(cell, thread, IsAtomic(access.kind))) race(cell.writer, "wrote");
  if (Writes(access.kind) && !SharedReadsAreOrdered(cell, thread)) race(cell.reader, "read");
}

void AccessChecker::NoteRead(int64_t byte) {
  const Thread& thread = RunningThread();
  BlockOrder& order = thread.block->order;
  SharedCell& cell = order.cells[byte];
  if (SharedReadsAreOrdered(cell, thread)) {
    cell.readers = SharedCell::Readers::kOne;
  } else {
    const bool same_warp = cell.readers != SharedCell::Readers::kMany && WarpOf(cell.reader) == WarpOf(thread.id);
    cell.readers = same_warp ? SharedCell::Readers::kOneWarp : SharedCell::Readers::kMany;
  }
  cell.reader = static_cast<uint16_t>(thread.id);
  cell.read = now_;
  if (order.tracks_warps) order.warp_reads[byte][WarpOf(thread.id)] = now_;
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
  for (int64_t byte = access.offset; byte < end; ++byte) {
    CheckSharedByte(access, byte);
    if (kind == Kind::kRead) NoteRead(byte);
    if (!Writes(kind)) continue;
    const auto writer = static_cast<uint16_t>(thread.id);
    thread.block->order.cells[byte] = {.written = now_, .writer = writer, .atomic = IsAtomic(kind)};
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
