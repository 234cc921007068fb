#include "codegen/math/pairs.h"

namespace tailor::math {
namespace {

using llvm::Value;

// x in two halves of 26 bits.
Pair Split(const LaneMath& m, Value* x, const llvm::Twine& name) {
  auto& b = m.builder();
  Value* bits = b.CreateAnd(m.Bits(x, name + ".bits"), m.KBits(~uint64_t{0x7ffffff}), name + ".kept");
  Value* hi = m.FromBits(bits, name + ".hi");
  return {hi, b.CreateFSub(x, hi, name + ".lo")};
}

}  // namespace

Pair FastSum(const LaneMath& m, Value* x, Value* y, const llvm::Twine& name) {
  auto& b = m.builder();
  Value* hi = b.CreateFAdd(x, y, name + ".hi");
  return {hi, b.CreateFSub(y, b.CreateFSub(hi, x, name + ".taken"), name + ".lo")};
}

Pair ExactSum(const LaneMath& m, Value* x, Value* y, const llvm::Twine& name) {
  auto& b = m.builder();
  Value* hi = b.CreateFAdd(x, y, name + ".hi");
  Value* taken = b.CreateFSub(hi, x, name + ".taken");
  Value* of_x = b.CreateFSub(x, b.CreateFSub(hi, taken, name + ".kept"), name + ".of_x");
  return {hi, b.CreateFAdd(of_x, b.CreateFSub(y, taken, name + ".of_y"), name + ".lo")};
}

Pair Product(const LaneMath& m, Value* x, Value* y, const llvm::Twine& name) {
  auto& b = m.builder();
  Value* hi = b.CreateFMul(x, y, name + ".hi");
  if (m.fma()) return {hi, m.MulAdd(x, y, b.CreateFNeg(hi, name + ".neg"), name + ".lo")};
  Pair xs = Split(m, x, name + ".x"), ys = Split(m, y, name + ".y");
  Value* error = b.CreateFSub(b.CreateFMul(xs.hi, ys.hi, name + ".hh"), hi, name + ".e0");
  error = b.CreateFAdd(error, b.CreateFMul(xs.hi, ys.lo, name + ".hl"), name + ".e1");
  error = b.CreateFAdd(error, b.CreateFMul(xs.lo, ys.hi, name + ".lh"), name + ".e2");
  return {hi, b.CreateFAdd(error, b.CreateFMul(xs.lo, ys.lo, name + ".ll"), name + ".lo")};
}

Pair Product(const LaneMath& m, Pair x, Pair y, const llvm::Twine& name) {
  auto& b = m.builder();
  Pair product = Product(m, x.hi, y.hi, name);
  Value* cross = m.MulAdd(x.hi, y.lo, b.CreateFMul(x.lo, y.hi, name + ".cross"), name + ".crosses");
  return FastSum(m, product.hi, b.CreateFAdd(product.lo, cross, name + ".low"), name + ".sum");
}

Pair Sum(const LaneMath& m, Pair x, Pair y, const llvm::Twine& name) {
  auto& b = m.builder();
  Pair hi = FastSum(m, x.hi, y.hi, name + ".high");
  Value* low = b.CreateFAdd(hi.lo, b.CreateFAdd(x.lo, y.lo, name + ".lows"), name + ".low");
  return FastSum(m, hi.hi, low, name);
}

}  // namespace tailor::math
