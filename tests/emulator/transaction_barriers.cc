// mbarriers and the bulk copies that they count. Bytes arrive as late as possible: when a thread waits for a phase that
// lacks nothing else.
#include "tests/emulator/transaction_barriers.h"

#include <cstring>

#include "tests/emulator/device_functions.h"
#include "tests/emulator/launch.h"

namespace tailor::simt {
namespace {

static_assert(sizeof(SimtTensorMap) <= 128);

using Kind = AccessChecker::Kind;
constexpr uint64_t kBarrierBytes = 8;
constexpr uint32_t kPieceBytes = sizeof(BulkPiece::data);

std::byte* Address(uint64_t slot) { return reinterpret_cast<std::byte*>(slot); }

TransactionBarrier& BarrierAt(uint64_t slot) {
  auto& barriers = RunningThread().block->transaction_barriers;
  const auto found = barriers.find(slot);
  if (found == barriers.end()) Fail(NameOf(RunningThread()) + ": an mbarrier that is not initialised");
  if (RunningChecker() != nullptr) RunningChecker()->Shared(Address(slot), kBarrierBytes, Kind::kAtomicWrite);
  return found->second;
}

void Init(uint64_t* slots) {
  const Thread& thread = RunningThread();
  const auto arrivals = static_cast<uint32_t>(slots[1]);
  if (slots[0] % kBarrierBytes != 0) Fail(NameOf(thread) + ": an mbarrier at an address that is not a multiple of 8");
  if (RunningChecker() != nullptr) {
    RunningChecker()->Shared(Address(slots[0]), kBarrierBytes, Kind::kWrite);
    RunningChecker()->TrackWarps(*thread.block);
  }
  thread.block->transaction_barriers[slots[0]] = {.arrivals = arrivals, .missing = arrivals};
}

// Completes the phase if nothing is missing.
void EndPhase(TransactionBarrier& barrier) {
  if (barrier.missing > 0 || barrier.bytes != 0 || !barrier.pieces.empty()) return;
  ++barrier.phase;
  barrier.missing = barrier.arrivals;
}

void CheckMissesOne(const TransactionBarrier& barrier) {
  if (barrier.missing > barrier.batches.size()) return;
  Fail(NameOf(RunningThread()) + ": an arrival at an mbarrier that has all " + std::to_string(barrier.arrivals) +
       " of its phase");
}

void CountArrival(TransactionBarrier& barrier) {
  CheckMissesOne(barrier);
  --barrier.missing;
  if (RunningChecker() != nullptr) RunningChecker()->Release(RunningThread().id / kWarp, barrier.clock);
}

void Arrive(uint64_t* slots) {
  TransactionBarrier& barrier = BarrierAt(slots[0]);
  CountArrival(barrier);
  EndPhase(barrier);
}

void ArriveExpect(uint64_t* slots) {
  TransactionBarrier& barrier = BarrierAt(slots[0]);
  barrier.bytes += static_cast<uint32_t>(slots[1]);
  CountArrival(barrier);
  EndPhase(barrier);
}

void ArriveWithCopies(uint64_t* slots) {
  TransactionBarrier& barrier = BarrierAt(slots[0]);
  Thread& thread = RunningThread();
  CheckMissesOne(barrier);
  barrier.batches.push_back({std::move(thread.copies), thread.id / kWarp});
  thread.copies.clear();
}

// Delivers bytes if the phase lacks nothing else.
void DeliverTo(TransactionBarrier& barrier) {
  if (barrier.missing != barrier.batches.size() || barrier.bytes != 0) return;
  AccessChecker* checker = RunningChecker();
  for (const CopyBatch& batch : barrier.batches) {
    for (const AsyncCopy& copy : batch.copies) Deliver(copy);
    if (checker != nullptr) checker->Release(batch.warp, barrier.clock);
  }
  for (const BulkPiece& piece : barrier.pieces) {
    std::memcpy(piece.to, piece.data, kPieceBytes);
    if (checker == nullptr) continue;
    checker->FinishCopy(piece.to, kPieceBytes);
    checker->Release(piece.warp, barrier.clock);
  }
  barrier.missing = 0;
  barrier.batches.clear();
  barrier.pieces.clear();
  EndPhase(barrier);
}

void WaitForPhase(uint64_t* slots) {
  TransactionBarrier& barrier = BarrierAt(slots[0]);
  const uint32_t parity = slots[1] & 1;
  RunningThread().waits_at = "an mbarrier";
  while (barrier.phase % 2 == parity) {
    DeliverTo(barrier);
    if (barrier.phase % 2 == parity) Spin();
  }
  RunningThread().waits_at = nullptr;
  if (RunningChecker() != nullptr) RunningChecker()->Acquire(barrier.clock);
}

// Starts a copy of 16 bytes from `from`, or of zeros if it is null.
void StartPiece(TransactionBarrier& barrier, std::byte* to, const std::byte* from) {
  BulkPiece piece = {.to = to, .data = {}, .warp = RunningThread().id / kWarp};
  if (from != nullptr) std::memcpy(piece.data, from, kPieceBytes);
  if (RunningChecker() != nullptr) RunningChecker()->StartCopy(to, kPieceBytes, /*bulk=*/true);
  std::memset(to, kUnwritten, kPieceBytes);
  barrier.pieces.push_back(piece);
  barrier.bytes -= kPieceBytes;
}

void BulkCopy(uint64_t* slots) {
  const auto bytes = static_cast<uint32_t>(slots[2]);
  if (slots[0] % 16 != 0 || slots[1] % 16 != 0 || bytes % 16 != 0) {
    Fail(NameOf(RunningThread()) + ": a bulk copy of addresses or a size that are not multiples of 16");
  }
  TransactionBarrier& barrier = BarrierAt(slots[3]);
  if (RunningChecker() != nullptr) RunningChecker()->Global(Address(slots[1]), bytes, Kind::kRead);
  for (uint32_t i = 0; i < bytes; i += kPieceBytes) StartPiece(barrier, Address(slots[0]) + i, Address(slots[1]) + i);
}

// Address of a byte in a swizzled box: 16-byte chunks of a row of `row_bytes` are permuted by the row's number (XOR).
uint64_t Swizzled(uint64_t address, uint32_t row_bytes) {
  const uint64_t chunks = row_bytes == 0 ? 1 : row_bytes / 16;
  return address ^ (address >> 7 & (chunks - 1)) << 4;
}

// Bytes [first, first + 16) of one innermost row of the box into `data`; bytes outside the tensor are left unchanged.
void GatherRow(const SimtTensorMap& map, const int32_t* at, uint32_t first, const std::byte* row, std::byte* data) {
  for (uint32_t i = 0; i < kPieceBytes; i += map.element_bytes) {
    const int64_t element = at[0] + static_cast<int64_t>((first + i) / map.element_bytes);
    if (element < 0 || element >= static_cast<int64_t>(map.dim_sizes[0])) continue;
    const std::byte* from = row + element * map.element_bytes;
    if (RunningChecker() != nullptr) RunningChecker()->Global(from, map.element_bytes, Kind::kRead);
    std::memcpy(data + i, from, map.element_bytes);
  }
}

template <int rank>
void TensorLoad(uint64_t* slots) {
  const Thread& thread = RunningThread();
  SimtTensorMap map;
  std::memcpy(&map, Address(slots[1]), sizeof(map));
  if (map.magic != SimtTensorMap::kMagic || map.rank != rank) Fail(NameOf(thread) + ": no tensor map of this rank");
  const uint32_t row_bytes = map.box[0] * map.element_bytes;
  if (slots[0] % 128 != 0 || row_bytes % 16 != 0 || (map.swizzle_bytes != 0 && row_bytes > map.swizzle_bytes)) {
    Fail(NameOf(thread) + ": a box that cannot lie at this address or with this swizzle");
  }
  TransactionBarrier& barrier = BarrierAt(slots[2]);
  int32_t at[rank];
  for (int i = 0; i < rank; ++i) at[i] = static_cast<int32_t>(slots[3 + i]);
  const uint32_t planes = rank == 3 ? map.box[2] : 1;
  uint64_t to = slots[0];
  for (uint32_t plane = 0; plane < planes; ++plane) {
    for (uint32_t line = 0; line < map.box[1]; ++line) {
      const int64_t y = at[1] + int64_t{line}, z = rank == 3 ? at[rank - 1] + int64_t{plane} : 0;
      const bool inside = y >= 0 && y < static_cast<int64_t>(map.dim_sizes[1]) && z >= 0 &&
                          (rank == 2 || z < static_cast<int64_t>(map.dim_sizes[2]));
      const std::byte* row = Address(map.address) + (inside ? y * map.strides[0] + z * map.strides[1] : 0);
      for (uint32_t first = 0; first < row_bytes; first += kPieceBytes, to += kPieceBytes) {
        std::byte data[kPieceBytes] = {};
        if (inside) GatherRow(map, at, first, row, data);
        StartPiece(barrier, Address(Swizzled(to, map.swizzle_bytes)), data);
      }
    }
  }
}

}  // namespace

std::span<const NamedDeviceFunction> TransactionBarrierFunctions() {
  static constexpr NamedDeviceFunction kFunctions[] = {
      {"mbarrier_init", Init},
      {"mbarrier_arrive", Arrive},
      {"mbarrier_arrive_expect", ArriveExpect},
      {"mbarrier_wait", WaitForPhase},
      {"cp_async_arrive", ArriveWithCopies},
      {"bulk_copy", BulkCopy},
      {"tensor_load_2d", TensorLoad<2>},
      {"tensor_load_3d", TensorLoad<3>},
  };
  return kFunctions;
}

}  // namespace tailor::simt
