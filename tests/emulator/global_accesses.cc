// The access checker for global memory, alignment and bounds.
#include "tests/emulator/access_checker.h"

#include <cstdio>
#include <cstring>
#include <utility>

#include "tests/emulator/launch.h"

namespace tailor::simt {
namespace {

std::string Hex(const void* address) {
  char text[32];
  std::snprintf(text, sizeof(text), "%p", address);
  return text;
}

}  // namespace

void AccessChecker::Aligned(const void* address, uint64_t align) const {
  if ((reinterpret_cast<uint64_t>(address) & (align - 1)) == 0) return;
  Fail(NameOf(RunningThread()) + ": accesses " + Hex(address) + ", which is not a multiple of the " +
       std::to_string(align) + " bytes that the instruction claims");
}

void AccessChecker::CheckBounds(const void* address, uint64_t bytes, Kind kind) {
  if (find_memory_ == nullptr || !*find_memory_) return;
  const auto begin = reinterpret_cast<uint64_t>(address);
  for (const SimtMemoryRange& known : ranges_) {
    if (known.begin <= begin && begin + bytes <= known.end) return;
  }
  const SimtMemoryRange found = (*find_memory_)(begin);
  if (found.begin > begin || found.end <= begin) {
    Fail(DescribeAccess(bytes, kind) + " at " + Hex(address) + ", outside the device's memory");
  }
  if (begin + bytes > found.end) {
    Fail(DescribeAccess(bytes, kind) + " at byte " + std::to_string(begin - found.begin) + " of " +
         std::to_string(found.end - found.begin) + " bytes of global memory");
  }
  ranges_[next_range_++ % ranges_.size()] = found;
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
  (Writes(kind) ? traffic_.written : traffic_.read) += static_cast<int64_t>(bytes);
  const Thread& thread = RunningThread();
  const auto begin = reinterpret_cast<uint64_t>(address);
  const GlobalCell written = {.written = now_,
                              .block = static_cast<uint32_t>(thread.block->id),
                              .writer = static_cast<uint16_t>(thread.id),
                              .atomic = IsAtomic(kind)};
  GlobalCell* cell = nullptr;
  for (uint64_t i = 0; i < bytes; ++i, ++cell) {
    if (i == 0 || (begin + i) % kPageBytes == 0) cell = &CellOf(begin + i);
    if (!GlobalWriteIsOrdered(*cell, thread, IsAtomic(kind))) {
      std::string text = DescribeAccess(bytes, kind) + " of global memory at " + Hex(address) + ", of which thread " +
                         std::to_string(cell->writer) + " of block " + std::to_string(cell->block) + " wrote byte " +
                         std::to_string(i) + ", with nothing that orders the two";
      if (kind != Kind::kWrite) Fail(std::move(text));
      if (doubt_.address == nullptr) {
        const auto* first = static_cast<const std::byte*>(address);
        doubt_ = {first, {first, first + bytes}, std::move(text)};
      }
    }
    if (Writes(kind)) *cell = written;
  }
}

void AccessChecker::SettleDoubt() {
  if (doubt_.address == nullptr) return;
  const bool changed = std::memcmp(doubt_.address, doubt_.before.data(), doubt_.before.size()) != 0;
  doubt_.address = nullptr;
  if (changed) Fail(std::move(doubt_.diagnosis));
}

}  // namespace tailor::simt
