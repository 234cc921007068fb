#include "codegen/ir/transpose_square.h"

#include <utility>

namespace tailor {
namespace {

using llvm::Value;

Value* RowAddress(llvm::IRBuilderBase& b, const Matrix& matrix, int row) {
  Value* offset = b.CreateMul(b.getInt64(row), matrix.stride, "row.offset");
  return b.CreateInBoundsGEP(matrix.element, matrix.address, offset, "row.address");
}

// Swaps the off-diagonal `step` x `step` squares of each square of twice the size.
void ExchangeSquares(llvm::IRBuilderBase& b, int step, std::vector<Value*>& rows) {
  const int size = static_cast<int>(rows.size());
  for (int upper = 0; upper < size; ++upper) {
    if ((upper & step) != 0) continue;
    const int lower = upper | step;
    std::vector<int> left, right;  // shuffle masks over the concatenated lanes of both rows
    for (int lane = 0; lane < size; ++lane) {
      const bool second = (lane & step) != 0;
      left.push_back(second ? size + lane - step : lane);
      right.push_back(second ? size + lane : lane + step);
    }
    Value* first = b.CreateShuffleVector(rows[upper], rows[lower], left, "exchanged");
    rows[lower] = b.CreateShuffleVector(rows[upper], rows[lower], right, "exchanged");
    rows[upper] = first;
  }
}

// x86 interleaves bytes or 16-bit elements of two 128-bit registers in one instruction; exchanging them takes three.
bool InterleavesInOneInstruction(Value* row) {
  return row->getType()->getPrimitiveSizeInBits() == 128 && row->getType()->getScalarSizeInBits() < 32;
}

void InterleaveHalves(llvm::IRBuilderBase& b, std::vector<Value*>& rows) {
  const int size = static_cast<int>(rows.size());
  std::vector<int> low, high;  // interleaved halves of two rows
  for (int lane = 0; lane < size / 2; ++lane) {
    for (const int first : {lane, lane + size}) low.push_back(first), high.push_back(first + size / 2);
  }
  // A step moves the top bit of an element's position, its row before its lane, to the bottom.
  for (int step = 1; step < size; step *= 2) {
    std::vector<Value*> next;
    for (int row = 0; row < size / 2; ++row) {
      next.push_back(b.CreateShuffleVector(rows[row], rows[row + size / 2], low, "interleaved"));
      next.push_back(b.CreateShuffleVector(rows[row], rows[row + size / 2], high, "interleaved"));
    }
    rows = std::move(next);
  }
}

}  // namespace

void TransposeSquare(llvm::IRBuilderBase& b, std::vector<Value*>& rows) {
  if (InterleavesInOneInstruction(rows[0])) return InterleaveHalves(b, rows);
  for (int step = 1; step < static_cast<int>(rows.size()); step *= 2) ExchangeSquares(b, step, rows);
}

void EmitTranspose(llvm::IRBuilderBase& b, int size, const Matrix& from, const Matrix& to) {
  llvm::Type* type = llvm::FixedVectorType::get(from.element, size);
  std::vector<Value*> rows;
  for (int row = 0; row < size; ++row) {
    rows.push_back(b.CreateAlignedLoad(type, RowAddress(b, from, row), from.align, "row"));
  }
  TransposeSquare(b, rows);
  for (int row = 0; row < size; ++row) b.CreateAlignedStore(rows[row], RowAddress(b, to, row), to.align);
}

}  // namespace tailor
