// Matrix products and determinants.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bindings/onnx/indexing.h"
#include "bindings/onnx/matmul.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"
#include "bindings/onnx/quantization.h"

namespace tailor::onnx {

using frontend::Dim;
using frontend::Dims;
using frontend::Fail;
using frontend::ReduceOp;
using frontend::Shape;
using frontend::Tensor;
using frontend::Unsupported;

Tensor BatchedMatmul(const Tensor& lhs, const Tensor& rhs) {
  if (lhs.rank() == 0 || rhs.rank() == 0) Fail("an operand has rank 0, not at least 1");
  const bool row = lhs.rank() == 1, column = rhs.rank() == 1;
  const Tensor out = Dot(row ? Reshape(lhs, {1, lhs.dim(0)}) : lhs, column ? Reshape(rhs, {rhs.dim(0), 1}) : rhs);
  Shape shape = out.shape();
  if (row) shape.erase(shape.end() - 2);
  if (column) shape.pop_back();
  return Reshape(out, shape);
}

namespace {

Tensors MatMul(const Node& node) {
  if (const auto product = QuantizedProduct(node[0], node[1])) return {*product};
  return {BatchedMatmul(node[0], node[1])};
}

Tensors Gemm(const Node& node) {
  const double alpha = node.Float("alpha"), beta = node.Float("beta");
  const auto quantized = node.Flag("transA") ? std::nullopt : QuantizedProduct(node[0], node[1], node.Flag("transB"));
  const Tensor product = quantized ? *quantized : Dot(node[0], node[1], node.Flag("transA"), node.Flag("transB"));
  const Tensor out = alpha == 1.0 ? product : product * alpha;
  if (!node[2] || beta == 0.0) return {out};
  return {out + (beta == 1.0 ? node[2] : node[2] * beta)};
}

// The letters of a term of Einsum. Digits stand for the dims of "...": 8 for the last.
using Letters = std::string;

bool IsDot(char letter) { return letter >= '0' && letter <= '9'; }
bool Has(const Letters& letters, char letter) { return letters.find(letter) != Letters::npos; }

// A tensor whose dims have letters.
struct Term {
  Tensor tensor;
  Letters letters;

  const Dim& dim(char letter) const { return tensor.shape()[letters.find(letter)]; }  // requires the letter
};

// The tensor with its dims in the order of `letters`, which are all of its own.
Tensor Moved(const Term& term, const Letters& letters) {
  std::vector<int64_t> order;
  for (char letter : letters) order.push_back(static_cast<int64_t>(term.letters.find(letter)));
  return Transpose(term.tensor, order);
}

// The sum over all letters but `kept`.
Term Summed(const Term& term, const Letters& kept) {
  std::vector<int64_t> axes;
  Letters left;
  for (size_t i = 0; i < term.letters.size(); ++i) {
    if (Has(kept, term.letters[i])) {
      left += term.letters[i];
    } else {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  return {axes.empty() ? term.tensor : Reduce(ReduceOp::kSum, term.tensor, axes), left};
}

// The elements whose indices are equal wherever a letter occurs twice.
Term Diagonal(Term term) {
  frontend::Builder& builder = term.tensor.builder();
  for (size_t second = 1; second < term.letters.size();) {
    const size_t first = term.letters.find(term.letters[second]);
    if (first == second) {
      ++second;
      continue;
    }
    const Shape& shape = term.tensor.shape();
    builder.dims().AssumeEqual(shape[first], shape[second]);
    const auto index = [&](size_t axis) { return Position(builder, shape, static_cast<int>(axis)); };
    const Tensor kept = Select(Eq(index(first), index(second)), term.tensor, 0);
    term.tensor = Reduce(ReduceOp::kSum, kept, {static_cast<int64_t>(second)});
    term.letters.erase(second, 1);
  }
  return term;
}

// The term's dims in `order`, 1 where it has none.
Tensor Spread(const Term& term, const Letters& order) {
  Letters own;
  Shape shape;
  for (char letter : order) {
    const bool has = Has(term.letters, letter);
    if (has) own += letter;
    shape.push_back(has ? term.dim(letter) : Dim(1));
  }
  return Reshape(Moved(term, own), shape);
}

// Whether one of a letter's dims may be the 1 that broadcasts: for a dim of "...", or where it is known.
bool MayStretch(char letter, const Dim& lhs, const Dim& rhs) {
  return lhs != rhs && (IsDot(letter) || lhs.is(1) || rhs.is(1));
}

bool TakesDot(DType dtype) {
  return IsFloat(dtype) || dtype == DType::kI32 || dtype == DType::kI64 || dtype == DType::kU32 || dtype == DType::kU64;
}

// The letters of two terms by what becomes of them.
struct Roles {
  Letters batch, inner, rows, columns;
};

Roles RolesOf(const Term& lhs, const Term& rhs, const Letters& needed) {
  Roles roles;
  for (char letter : lhs.letters) {
    Letters& role = !Has(rhs.letters, letter) ? roles.rows : Has(needed, letter) ? roles.batch : roles.inner;
    role += letter;
  }
  for (char letter : rhs.letters) {
    if (!Has(lhs.letters, letter)) roles.columns += letter;
  }
  return roles;
}

// The term as a batch of matrices.
Tensor Matrices(Dims& dims, const Term& term, const Letters& batch, const Letters& rows, const Letters& columns) {
  const auto of = [&](const Letters& letters) {
    Shape shape;
    for (char letter : letters) shape.push_back(term.dim(letter));
    return shape;
  };
  Shape shape = of(batch);
  shape.push_back(dims.Product(of(rows)));
  shape.push_back(dims.Product(of(columns)));
  return Reshape(Moved(term, batch + rows + columns), shape);
}

// The product of two terms, summed over the letters that are not needed.
Term Multiplied(Dims& dims, const Term& left, const Term& right, const Letters& needed) {
  const Term lhs = Summed(left, needed + right.letters), rhs = Summed(right, needed + left.letters);
  const auto [batch, inner, rows, columns] = RolesOf(lhs, rhs, needed);
  const Letters order = batch + inner + rows + columns;
  if (order.size() > TAILOR_MAX_RANK) Unsupported("more than 8 letters");
  bool stretches = false;
  for (char letter : batch + inner) stretches = stretches || MayStretch(letter, lhs.dim(letter), rhs.dim(letter));
  if (inner.empty() || stretches || !TakesDot(lhs.tensor.dtype())) {
    return Summed({Spread(lhs, order) * Spread(rhs, order), order}, needed);
  }
  const Tensor out = Dot(Matrices(dims, lhs, batch, rows, inner), Matrices(dims, rhs, batch, inner, columns));
  Shape shape(out.shape().begin(), out.shape().end() - 2);
  for (char letter : rows) shape.push_back(lhs.dim(letter));
  for (char letter : columns) shape.push_back(rhs.dim(letter));
  return {Reshape(out, shape), batch + rows + columns};
}

// The text with `dots` in place of "...". Fails unless the rest are letters.
Letters WithDots(const std::string& text, const Letters& dots) {
  Letters letters;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "...") == 0) {
      letters += dots;
      i += 2;
    } else if ((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z')) {
      letters += text[i];
    } else {
      Fail("unexpected '" + std::string(1, text[i]) + "' in the equation");
    }
  }
  return letters;
}

// The letters of one operand.
Letters LettersOf(const std::string& text, int rank) {
  const size_t dots = text.find("...");
  const int given = static_cast<int>(WithDots(text, "").size()), hidden = rank - given;
  if (hidden < 0 || (hidden > 0 && dots == std::string::npos) || text.find("...", dots + 1) != std::string::npos) {
    Fail("\"" + text + "\" does not fit rank " + std::to_string(rank));
  }
  return WithDots(text, Letters("12345678").substr(static_cast<size_t>(TAILOR_MAX_RANK - hidden)));
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The letters of the result. `arrow`: where "->" is in the equation.
Letters ResultOf(const std::string& equation, size_t arrow, const std::vector<Term>& terms) {
  std::map<char, int> counts;
  for (const Term& term : terms) {
    for (char letter : term.letters) ++counts[letter];
  }
  Letters dots, single;
  for (const auto& [letter, count] : counts) {  // digits come first
    if (IsDot(letter)) dots += letter;
    if (IsDot(letter) || count == 1) single += letter;
  }
  if (arrow == std::string::npos) return single;
  const Letters result = WithDots(equation.substr(arrow + 2), dots);
  for (char letter : result) {
    if (!counts.contains(letter) || std::count(result.begin(), result.end(), letter) > 1) {
      Fail("\"" + equation + "\" has an unknown or repeated letter in its result");
    }
  }
  return result;
}

// Operands multiplied from the left, each time summed over the letters that nothing after needs.
Tensors Einsum(const Node& node) {
  std::string equation = node.String("equation");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const size_t arrow = equation.find("->");
  const std::vector<std::string> texts = Split(equation.substr(0, arrow), ',');
  if (texts.size() != node.all().size()) {
    Fail("\"" + equation + "\" is for " + std::to_string(texts.size()) + " operands");
  }
  std::vector<Term> terms;
  for (size_t i = 0; i < texts.size(); ++i) terms.push_back({node.all()[i], LettersOf(texts[i], node.all()[i].rank())});
  const Letters result = ResultOf(equation, arrow, terms);
  for (Term& term : terms) term = Diagonal(term);
  std::vector<Letters> needed(terms.size(), result);  // after each operand
  for (size_t i = terms.size() - 1; i > 0; --i) {
    needed[i - 1] = needed[i];
    for (char letter : terms[i].letters) {
      if (!Has(needed[i], letter)) needed[i - 1] += letter;
    }
  }
  Term out = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) out = Multiplied(node.dims(), out, terms[i], needed[i]);
  return {Moved(Summed(out, result), result)};
}

// The determinant of the rows from `row` on and these columns of [..., rows, columns], by Laplace's expansion.
Tensor Minor(const Tensor& x, int64_t row, const std::vector<int64_t>& columns) {
  const Shape batch(x.shape().begin(), x.shape().end() - 2);
  const auto entry = [&](int64_t column) { return Reshape(SliceAxis(SliceAxis(x, -2, row, 1), -1, column, 1), batch); };
  if (columns.size() == 1) return entry(columns[0]);
  Tensor total;
  for (size_t i = 0; i < columns.size(); ++i) {
    std::vector<int64_t> others = columns;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Tensor term = entry(columns[i]) * Minor(x, row + 1, others);
    total = !total ? term : i % 2 == 0 ? total + term : total - term;
  }
  return total;
}

Tensors Det(const Node& node) {
  const Tensor& x = node[0];
  if (x.rank() < 2) Fail("the input has rank " + std::to_string(x.rank()));
  const Dim& size = x.dim(-1);
  if (!size.known() || size.number() < 1 || size.number() > 4 || size != x.dim(-2)) {
    Unsupported("determinants of other than static square matrices up to 4 x 4");
  }
  std::vector<int64_t> columns(static_cast<size_t>(size.number()));
  std::iota(columns.begin(), columns.end(), 0);
  return {Minor(x, 0, columns)};
}

constexpr OperatorRow kMatmulOperators[] = {
    {"", "Det", 11, "X", "Y", "", Det},
    {"", "Einsum", 12, "Inputs*", "Output", "equation:string!", Einsum},
    {"", "Gemm", 1, "A B C", "Y", "alpha:float=1.0 beta:float=1.0 broadcast:int=0 transA:int=0 transB:int=0", Gemm},
    {"", "Gemm", 7, "A B C", "Y", "alpha:float=1.0 beta:float=1.0 transA:int=0 transB:int=0", Gemm},
    {"", "Gemm", 11, "A B C?", "Y", "alpha:float=1.0 beta:float=1.0 transA:int=0 transB:int=0", Gemm},
    {"", "MatMul", 1, "A B", "Y", "", MatMul},
};

}  // namespace

std::span<const OperatorRow> MatmulOperators() { return kMatmulOperators; }

}  // namespace tailor::onnx
