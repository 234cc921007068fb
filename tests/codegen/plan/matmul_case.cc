#include "tests/codegen/plan/matmul_case.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "codegen/contract/panels.h"
#include "gtest/gtest.h"

namespace tailor {
namespace {

// ---- The plan ------------------------------------------------------------------------------------

class PlanBuilder {
 public:
  explicit PlanBuilder(const MatmulCaseForm& form) : form_(form) {
    for (int64_t dim_size : form.batch) AddAxis(dim_size, AxisRole::kParallel);
    AddAxis(form.m, AxisRole::kParallel);
    AddAxis(form.n, AxisRole::kParallel);
    AddAxis(form.k, AxisRole::kContract);
    m_ = static_cast<int>(form.batch.size());
  }

  KernelPlan Build() {
    const int n = m_ + 1, k = m_ + 2;
    const std::vector<int> lhs_axes = form_.transpose_lhs ? Order({k, m_}) : Order({m_, k});
    const std::vector<int> out_axes = form_.transpose_out ? Order({n, m_}) : Order({m_, n});
    std::vector<int> rhs_axes;
    for (int i = 0; i < m_; ++i) {
      if (form_.rhs_has_batch[i]) rhs_axes.push_back(i);
    }
    rhs_axes.insert(rhs_axes.end(), {k, n});
    const int lhs = AddBuffer(BufferKind::kInput, lhs_axes);
    const int rhs = AddBuffer(BufferKind::kInput, rhs_axes);
    plan_.buffers[rhs].layout = LayoutOf(form_);
    const int bias = form_.epilogue ? AddBuffer(BufferKind::kInput, {n}) : -1;
    const int residual = form_.epilogue ? AddBuffer(BufferKind::kInput, out_axes) : -1;
    const int out = AddBuffer(BufferKind::kOutput, out_axes);
    const int sums = AddBuffer(BufferKind::kLocal, {});

    const ExprId matmul = Op(OpKind::kMul, {Load(lhs, lhs_axes), Load(rhs, rhs_axes)});
    Statement sum{.buffer = sums, .value = matmul, .reduce_axes = {k}};
    sum.accumulate = form_.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
    plan_.stages.push_back({.axes = {k}, .statements = {sum}});
    ExprId value = Load(sums, {});
    if (form_.epilogue) {
      value = Op(OpKind::kAdd, {value, Load(bias, {n})});
      value = Op(OpKind::kMul, {value, Op(OpKind::kSigmoid, {value})});
      value = Op(OpKind::kAdd, {value, Load(residual, out_axes)});
    }
    plan_.stages.push_back({.axes = {}, .statements = {Statement{out, Indices(out_axes), value}}});
    plan_.name = "matmul";
    plan_.form = ContractionForm{.m = k - 2, .n = k - 1, .k = k};
    return std::move(plan_);
  }

 private:
  void AddAxis(int64_t dim_size, AxisRole role) {
    const int index = static_cast<int>(plan_.axes.size());
    DimSize e{.constant = dim_size};
    if (dim_size == kDynamic) e = plan_.AddDim({.value = DimExpr::Symbol(index)});
    plan_.axes.push_back({e, role});
  }
  std::vector<int> Order(std::vector<int> last) {
    std::vector<int> axes;
    for (int i = 0; i < m_; ++i) axes.push_back(i);
    axes.insert(axes.end(), last.begin(), last.end());
    if (form_.heads) std::swap(axes[1], axes[2]);
    return axes;
  }
  int AddBuffer(BufferKind kind, const std::vector<int>& axes) {
    Buffer buffer{.kind = kind, .dtype = form_.dtype};
    for (int axis : axes) buffer.dims.push_back(plan_.axes[axis].dim_size);
    plan_.buffers.push_back(buffer);
    return static_cast<int>(plan_.buffers.size()) - 1;
  }
  std::vector<ExprId> Indices(const std::vector<int>& axes) {
    std::vector<ExprId> indices;
    for (int axis : axes) indices.push_back(plan_.Add(Expr{.kind = ExprKind::kAxis, .ref = axis}));
    return indices;
  }
  ExprId Load(int buffer, const std::vector<int>& axes) {
    return plan_.Add(Expr{.kind = ExprKind::kLoad, .dtype = form_.dtype, .ref = buffer, .args = Indices(axes)});
  }
  ExprId Op(OpKind op, std::vector<ExprId> args) {
    return plan_.Add(Expr{.kind = ExprKind::kOp, .dtype = form_.dtype, .op = op, .args = std::move(args)});
  }

  const MatmulCaseForm& form_;
  KernelPlan plan_;
  int m_;
};

// ---- Elements ------------------------------------------------------------------------------------

void Write(DType dtype, char* to, double value) {
  if (dtype == DType::kF64) {
    std::memcpy(to, &value, 8);
  } else if (dtype == DType::kF32) {
    const float narrow = static_cast<float>(value);
    std::memcpy(to, &narrow, 4);
  } else if (dtype == DType::kF16) {
    const _Float16 narrow = static_cast<_Float16>(value);
    std::memcpy(to, &narrow, 2);
  } else {  // values in tests have few bits, so that cutting is exact
    const uint16_t narrow = std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16;
    std::memcpy(to, &narrow, 2);
  }
}

double Read(DType dtype, const char* from) {
  if (dtype == DType::kF64) return *reinterpret_cast<const double*>(from);
  if (dtype == DType::kF32) return *reinterpret_cast<const float*>(from);
  if (dtype == DType::kF16) return static_cast<double>(*reinterpret_cast<const _Float16*>(from));
  return std::bit_cast<float>(uint32_t{*reinterpret_cast<const uint16_t*>(from)} << 16);
}

// Largest relative error that rounding to `dtype` and the order of sums explain.
double Tolerance(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1e-13;
    case DType::kF32:
      return 2e-6;
    case DType::kF16:
      return 0x1p-9;
    default:
      return 0x1p-6;
  }
}

// Element i of operand `operand`: a multiple of 1/4 between -2 and 2.
double Element(int operand, int64_t i) {
  uint64_t x = static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15u + operand * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 29)) * 0x94d049bb133111ebu;
  return (static_cast<double>((x >> 40) % 17) - 8) / 4;
}

// ---- Memory --------------------------------------------------------------------------------------

AlignedMemory Operand(DType dtype, int operand, int64_t count) {
  AlignedMemory bytes(count * SizeOf(dtype));
  for (int64_t i = 0; i < count; ++i) Write(dtype, bytes.data() + i * SizeOf(dtype), Element(operand, i));
  return bytes;
}

int64_t Count(const MatmulCaseForm& form, const MatmulCaseSize& size, bool rhs) {
  int64_t count = 1;
  for (size_t i = 0; i < size.batch.size(); ++i) count *= rhs && !form.rhs_has_batch[i] ? 1 : size.batch[i];
  return count;
}

// The right operand in panels. What pads the last panel's columns is not zero here: it must not matter. What pads an
// odd depth to pairs is, as matmuls rely on. On devices halves of rows swap (HasXorSwizzle).
AlignedMemory Panels(const MatmulCaseForm& form, const MatmulCaseSize& size) {
  const int64_t panels = (size.n + 15) / 16, batch = Count(form, size, true);
  const int64_t step = LayoutOf(form) == ConstantLayout::kWordPanels16 ? 2 : 1;  // rows that lie together
  const int64_t rows = (size.k + step - 1) / step * step;
  AlignedMemory bytes(batch * panels * rows * 16 * SizeOf(form.dtype));
  char* to = bytes.data();
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t p = 0; p < panels; ++p) {
      for (int64_t first = 0; first < rows; first += step) {
        for (int64_t place = 0; place < 16; ++place) {
          for (int64_t k = first; k < first + step; ++k, to += SizeOf(form.dtype)) {
            const bool swapped = !form.pairs && HasXorSwizzle(form.dtype) && k / 4 % 2 == 1;
            const int64_t n = p * 16 + (swapped ? (place + 8) % 16 : place);
            const double inside = n < size.n ? Element(1, (b * size.k + k) * size.n + n) : NAN;
            Write(form.dtype, to, k < size.k ? inside : 0);
          }
        }
      }
    }
  }
  return bytes;
}

}  // namespace

ConstantLayout LayoutOf(const MatmulCaseForm& form) {
  return form.pairs ? PanelLayout(form.dtype) : ConstantLayout::kPanels16;
}

KernelPlan MakeMatmulPlan(const MatmulCaseForm& form) { return PlanBuilder(form).Build(); }

std::vector<int64_t> DimsOf(const KernelPlan& plan, const MatmulCaseSize& size) {
  std::vector<int64_t> axes = size.batch, dims;
  axes.insert(axes.end(), {size.m, size.n, size.k});
  for (const DimSlot& slot : plan.dims) dims.push_back(*slot.value.Evaluate(axes));
  return dims;
}

int64_t BatchCount(const MatmulCaseForm& form, const MatmulCaseSize& size) { return Count(form, size, false); }

AlignedMemory::AlignedMemory(int64_t bytes)
    : data_(static_cast<char*>(std::aligned_alloc(64, (bytes + 64) / 64 * 64))), bytes_((bytes + 64) / 64 * 64) {}
AlignedMemory::~AlignedMemory() { std::free(data_); }

namespace {
constexpr char kUntouched = 0x5a;
}  // namespace

MatmulMemory::MatmulMemory(const MatmulCaseForm& form, const MatmulCaseSize& size) : form_(form), size_(size) {
  const int64_t batch = BatchCount(form, size), outputs = batch * size.m * size.n;
  buffers_.push_back(Operand(form.dtype, 0, batch * size.m * size.k));
  buffers_.push_back(Panels(form, size));
  if (form.epilogue) buffers_.push_back(Operand(form.dtype, 2, size.n));
  if (form.epilogue) buffers_.push_back(Operand(form.dtype, 3, outputs));
  buffers_.emplace_back(outputs * SizeOf(form.dtype));
  std::memset(buffers_.back().data(), kUntouched, buffers_.back().bytes());
}

void MatmulMemory::ShiftLeftOperand() {
  left_shift_ = SizeOf(form_.dtype);
  AlignedMemory moved(buffers_[0].bytes() + left_shift_);
  std::memcpy(moved.data() + left_shift_, buffers_[0].data(), buffers_[0].bytes());
  std::swap(buffers_[0], moved);
}

std::vector<int64_t> MatmulMemory::Arguments(const KernelPlan& plan) const {
  std::vector<int64_t> arguments;
  for (const AlignedMemory& buffer : buffers_) arguments.push_back(reinterpret_cast<int64_t>(buffer.data()));
  arguments[0] += left_shift_;
  const std::vector<int64_t> dims = DimsOf(plan, size_);
  arguments.insert(arguments.end(), dims.begin(), dims.end());
  return arguments;
}

std::pair<uint64_t, uint64_t> MatmulMemory::BufferAt(uint64_t address) const {
  for (const AlignedMemory& buffer : buffers_) {
    const auto begin = reinterpret_cast<uint64_t>(buffer.data());
    if (address >= begin && address - begin < static_cast<uint64_t>(buffer.bytes())) {
      return {begin, begin + buffer.bytes()};
    }
  }
  return {0, 0};
}

std::vector<char> MatmulMemory::Output() const {
  const AlignedMemory& out = buffers_.back();
  const int64_t bytes = BatchCount(form_, size_) * size_.m * size_.n * SizeOf(form_.dtype);
  for (int64_t i = bytes; i < out.bytes(); ++i) EXPECT_EQ(out.data()[i], kUntouched) << "byte " << i;
  return std::vector<char>(out.data(), out.data() + bytes);
}

void ExpectMatmul(const MatmulCaseForm& form, const MatmulCaseSize& size, const std::vector<char>& out) {
  const int64_t heads = form.heads ? size.batch[1] : 1, element = SizeOf(form.dtype);
  const int64_t batch = BatchCount(form, size);
  for (int64_t b = 0; b < batch; ++b) {
    int64_t rhs_batch = 0;  // b without the axes that rhs lacks
    for (int64_t i = size.batch.size() - 1, rest = b, stride = 1; i >= 0; rest /= size.batch[i], --i) {
      if (form.rhs_has_batch[i]) rhs_batch += rest % size.batch[i] * stride;
      if (form.rhs_has_batch[i]) stride *= size.batch[i];
    }
    // Row m of this batch index, in rows of the stored matrix.
    auto row = [&](int64_t m) { return (b / heads * size.m + m) * heads + b % heads; };
    for (int64_t m = 0; m < size.m; ++m) {
      for (int64_t n = 0; n < size.n; ++n) {
        double sum = 0, scale = 1;
        for (int64_t k = 0; k < size.k; ++k) {
          const int64_t at = form.transpose_lhs ? (b * size.k + k) * size.m + m : row(m) * size.k + k;
          const double matmul = Element(0, at) * Element(1, (rhs_batch * size.k + k) * size.n + n);
          sum += matmul;
          scale += std::abs(matmul);
        }
        const int64_t at = form.transpose_out ? (b * size.n + n) * size.m + m : row(m) * size.n + n;
        if (form.epilogue) {
          sum += Element(2, n);
          sum = sum / (1 + std::exp(-sum)) + Element(3, at);
          scale += std::abs(sum);  // each step of the epilogue rounds
        }
        const double got = Read(form.dtype, out.data() + at * element);
        ASSERT_NEAR(got, sum, Tolerance(form.dtype) * scale)
            << size.m << " x " << size.n << " x " << size.k << " batch " << b << " at " << m << ", " << n;
      }
    }
  }
}

}  // namespace tailor
