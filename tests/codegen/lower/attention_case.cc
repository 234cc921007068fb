#include "tests/codegen/lower/attention_case.h"

#include <cmath>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "graph/element.h"

namespace tailor::lower {
namespace {

using Mask = AttentionCase::Mask;
using Layout = AttentionCase::Layout;

constexpr int64_t kHeads = kAttentionHeads;
constexpr double kScale = 0.25;

double ElementAt(const HostTensor& tensor, size_t i) {
  return ElementToDouble(tensor.dtype, &tensor.bytes[i * SizeOf(tensor.dtype)]);
}

double Rounded(DType dtype, double value) {
  uint64_t element;
  ElementFromDouble(dtype, value, &element);
  return ElementToDouble(dtype, &element);
}

HostTensor Tensor(DType dtype, std::vector<int64_t> dims, const auto& element) {
  HostTensor tensor{.dtype = dtype, .dims = std::move(dims)};
  int64_t count = 1;
  for (int64_t dim : tensor.dims) count *= dim;
  tensor.bytes.resize(count * SizeOf(dtype));
  for (int64_t i = 0; i < count; ++i) ElementFromDouble(dtype, element(i), &tensor.bytes[i * SizeOf(dtype)]);
  return tensor;
}

// A factor of the graph, as the numbers of its elements say where they lie.
class Factor {
 public:
  Factor(const AttentionCase& form, const AttentionSizes& sizes, int64_t rows, int64_t columns, bool keys,
         uint32_t seed)
      : rows_(rows), columns_(columns), layout_(form.layout), keys_(keys) {
    std::vector<int64_t> dims = {sizes.b, kHeads, rows, columns};
    if (layout_ == Layout::kHeadsInside) dims = {sizes.b, rows, kHeads, columns};
    if (IsTransposed()) dims = {sizes.b, kHeads, columns, rows};
    tensor = RandomTensor(form.dtype, dims, seed);
  }
  double At(int64_t b, int64_t h, int64_t row, int64_t column) const {
    int64_t index = ((b * kHeads + h) * rows_ + row) * columns_ + column;
    if (layout_ == Layout::kHeadsInside) index = ((b * rows_ + row) * kHeads + h) * columns_ + column;
    if (IsTransposed()) index = ((b * kHeads + h) * columns_ + column) * rows_ + row;
    return ElementAt(tensor, index);
  }
  HostTensor tensor;

 private:
  bool IsTransposed() const { return keys_ && layout_ == Layout::kKeysTransposed; }
  int64_t rows_, columns_;
  Layout layout_;
  bool keys_;
};

HostTensor MakeMask(const AttentionCase& form, const AttentionSizes& sizes) {
  if (form.mask == Mask::kLengths) {
    return Tensor(DType::kI32, {sizes.b, 1, 1, 1}, [&](int64_t i) {
      return i == 0 && sizes.masked_rows > 0 ? 0.0 : static_cast<double>((i + 1) * sizes.n / (sizes.b + 1));
    });
  }
  const bool additive = form.mask == Mask::kAdditive;
  std::vector<int64_t> dims = {sizes.b, 1, additive ? 1 : sizes.s, sizes.n};
  return Tensor(additive ? form.dtype : DType::kBool, dims, [&](int64_t i) {
    const int64_t n = i % sizes.n, row = i / sizes.n;
    const bool none = additive ? row == 0 && sizes.masked_rows > 0 : row % sizes.s >= sizes.s - sizes.masked_rows;
    const bool seen = !none && (n == 0 || (n * 7 + row) % 5 != 0);
    if (!additive) return seen ? 1.0 : 0.0;
    return seen ? n % 3 * 0.5 : -std::numeric_limits<double>::infinity();
  });
}

}  // namespace

std::string AttentionGraph(const AttentionCase& form) {
  const std::string t = NameOf(form.dtype);
  const bool inside = form.layout == Layout::kHeadsInside, transposed = form.layout == Layout::kKeysTransposed;
  const auto factor = [&](const char* name, const char* rows, int64_t columns, bool keys) {
    if (inside) return absl::StrCat("%", name, ": ", t, "[B, ", rows, ", 2, ", columns, "]");
    if (keys && transposed) return absl::StrCat("%", name, ": ", t, "[B, 2, ", columns, ", ", rows, "]");
    return absl::StrCat("%", name, ": ", t, "[B, 2, ", rows, ", ", columns, "]");
  };
  std::string text = absl::StrCat("graph @attention(", factor("q", "S", form.depth, false), ", ",
                                  factor("k", "N", form.depth, true), ", ", factor("v", "N", form.columns, false));
  if (form.mask == Mask::kAdditive) absl::StrAppend(&text, ", %mask: ", t, "[B, 1, 1, N]");
  if (form.mask == Mask::kBoolean) absl::StrAppend(&text, ", %mask: bool[B, 1, S, N]");
  if (form.mask == Mask::kLengths) absl::StrAppend(&text, ", %length: i32[B, 1, 1, 1]");
  absl::StrAppend(&text, ") {\n");
  const auto line = [&](const std::string& name, const std::string& op) {
    absl::StrAppend(&text, "  %", name, " = ", op, "\n");
  };
  std::string q = "q", k = "k", v = "v";
  for (std::string* name : {&q, &k, &v}) {
    if (!inside) continue;
    line(*name + "h", absl::StrCat("transpose %", *name, " {permutation = [0, 2, 1, 3]}"));
    *name += "h";
  }
  line("dots", absl::StrCat("dot %", q, ", %", k, transposed ? "" : " {transpose_rhs = 1}"));
  line("scale", absl::StrCat("constant ", kScale, " : ", t, "[]"));
  line("scaled", "mul %dots, %scale");
  std::string scores = "scaled";
  if (form.mask == Mask::kAdditive) {
    line("scores", "add %scaled, %mask");
    scores = "scores";
  } else if (form.mask != Mask::kNone) {
    std::string seen = "mask";
    if (form.mask == Mask::kCausal) {  // the last row sees all keys
      line("columns", "iota {shape = [N], axis = 0, dtype = i64}");
      line("last", "slice %columns {starts = [N - S], sizes = [S]}");
      line("reach", "reshape %last {shape = [S, 1]}");
      line("seen", "le %columns, %reach");
      seen = "seen";
    } else if (form.mask == Mask::kLengths) {
      line("columns", "iota {shape = [N], axis = 0, dtype = i32}");
      line("seen", "gt %length, %columns");
      seen = "seen";
    }
    line("never", absl::StrCat("constant ", DoubleText(form.never), " : ", t, "[]"));
    line("scores", absl::StrCat("select %", seen, ", %scaled, %never"));
    scores = "scores";
  }
  line("top", absl::StrCat("reduce_max %", scores, " {axes = [3], keep_dims = 1}"));
  line("below", absl::StrCat("sub %", scores, ", %top"));
  line("e", "exp %below");
  line("sum", "reduce_sum %e {axes = [3], keep_dims = 1}");
  line("p", "div %e, %sum");
  line("mixed", absl::StrCat("dot %p, %", v));
  line("heads", "transpose %mixed {permutation = [0, 2, 1, 3]}");
  line("joined", absl::StrCat("reshape %heads {shape = [B, S, ", kHeads * form.columns, "]}"));
  absl::StrAppend(&text, "  return \"y\" = %joined\n}\n");
  return text;
}

AttentionValues MakeAttentionValues(const AttentionCase& form, const AttentionSizes& sizes) {
  const Factor q(form, sizes, sizes.s, form.depth, false, 1), k(form, sizes, sizes.n, form.depth, true, 2),
      v(form, sizes, sizes.n, form.columns, false, 3);
  AttentionValues values{.inputs = {q.tensor, k.tensor, v.tensor}};
  HostTensor mask;
  if (form.mask != Mask::kNone && form.mask != Mask::kCausal) {
    values.inputs.push_back(mask = MakeMask(form, sizes));
  }
  const auto masked = [&](int64_t b, int64_t s, int64_t n, double score) {
    const double never = Rounded(form.dtype, form.never);
    if (form.mask == Mask::kAdditive) return Rounded(form.dtype, score + ElementAt(mask, b * sizes.n + n));
    if (form.mask == Mask::kBoolean) return ElementAt(mask, (b * sizes.s + s) * sizes.n + n) != 0 ? score : never;
    if (form.mask == Mask::kCausal) return n <= s + sizes.n - sizes.s ? score : never;
    if (form.mask == Mask::kLengths) return n < ElementAt(mask, b) ? score : never;
    return score;
  };
  for (int64_t b = 0; b < sizes.b; ++b) {
    for (int64_t s = 0; s < sizes.s; ++s) {
      for (int64_t h = 0; h < kHeads; ++h) {
        std::vector<double> e;
        double top = -std::numeric_limits<double>::infinity(), total = 0;
        for (int64_t n = 0; n < sizes.n; ++n) {
          double score = 0;
          for (int64_t d = 0; d < form.depth; ++d) score += q.At(b, h, s, d) * k.At(b, h, n, d);
          e.push_back(masked(b, s, n, Rounded(form.dtype, Rounded(form.dtype, score) * kScale)));
          top = std::max(top, e.back());
        }
        for (double& score : e) total += score = std::exp(score - top);
        for (int64_t c = 0; c < form.columns; ++c) {
          double sum = 0;
          for (int64_t n = 0; n < sizes.n; ++n) sum += e[n] / total * v.At(b, h, n, c);
          values.expected.push_back(sum);
        }
      }
    }
  }
  return values;
}

HostTensor RandomTensor(DType dtype, std::vector<int64_t> dims, uint32_t seed) {
  std::mt19937 random(seed);
  return Tensor(dtype, std::move(dims), [&](int64_t) { return std::uniform_real_distribution<double>(-2, 2)(random); });
}

std::vector<double> ToDoubles(const HostTensor& tensor) {
  std::vector<double> values;
  for (size_t i = 0; i < tensor.bytes.size() / SizeOf(tensor.dtype); ++i) values.push_back(ElementAt(tensor, i));
  return values;
}

}  // namespace tailor::lower
