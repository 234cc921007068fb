#include "bindings/frontend/dim_text.h"

#include <cctype>
#include <charconv>
#include <optional>
#include <vector>

#include "bindings/frontend/error.h"

namespace tailor::frontend {
namespace {

constexpr int kMaxNesting = 100;

class Parser {
 public:
  Parser(Dims& dims, std::string_view text, const std::function<Dim(const std::string&)>& symbol)
      : dims_(dims), text_(text), symbol_(symbol) {}

  Dim All() {
    const Dim out = Sum(0);
    Space();
    if (at_ < text_.size()) Wrong();
    return out;
  }

 private:
  [[noreturn]] void Wrong() const {
    Fail("\"" + std::string(text_) + "\" is not a dim size: column " + std::to_string(at_ + 1) + " cannot be read");
  }
  Dim Required(const std::optional<Dim>& dim) const {
    if (!dim) Fail("\"" + std::string(text_) + "\" divides by what may be negative or 0");
    return *dim;
  }
  void Space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Skip(char c) {
    Space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void Expect(char c) {
    if (!Skip(c)) Wrong();
  }

  Dim Sum(int depth) {
    if (depth > kMaxNesting) Wrong();
    Dim out = Skip('-') ? dims_.Sub(0, Term(depth)) : Term(depth);
    for (;;) {
      if (Skip('+')) {
        out = dims_.Add(out, Term(depth));
      } else if (Skip('-')) {
        out = dims_.Sub(out, Term(depth));
      } else {
        return out;
      }
    }
  }

  Dim Term(int depth) {
    Dim out = Factor(depth);
    while (Skip('*')) out = dims_.Mul(out, Factor(depth));
    return out;
  }

  Dim Factor(int depth) {
    if (Skip('(')) {
      const Dim out = Sum(depth + 1);
      Expect(')');
      return out;
    }
    Space();
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) return Number();
    const std::string name = Name();
    if (!Skip('(')) return symbol_(name);
    std::vector<Dim> operands = {Sum(depth + 1)};
    while (Skip(',')) operands.push_back(Sum(depth + 1));
    Expect(')');
    return Applied(name, operands);
  }

  Dim Applied(const std::string& name, const std::vector<Dim>& x) {
    if (name == "select" && x.size() == 3) return dims_.Select(x[0], x[1], x[2]);
    if (x.size() != 2) Wrong();
    if (name == "floordiv") return dims_.FloorDiv(x[0], x[1]);
    if (name == "ceildiv") return dims_.FloorDiv(dims_.Add(x[0], dims_.Sub(x[1], 1)), x[1]);
    if (name == "mod") return dims_.Mod(x[0], x[1]);
    if (name == "min") return dims_.Min(x[0], x[1]);
    if (name == "max") return dims_.Max(x[0], x[1]);
    if (name == "less") return dims_.Less(x[0], x[1]);
    if (name == "equal") return dims_.Equal(x[0], x[1]);
    if (name == "truncdiv") return Required(dims_.TruncDiv(x[0], x[1]));
    if (name == "truncmod") return Required(dims_.TruncMod(x[0], x[1]));
    Wrong();
  }

  Dim Number() {
    int64_t number;
    const char* end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(text_.data() + at_, end, number);
    if (error != std::errc()) Wrong();
    at_ = static_cast<size_t>(stop - text_.data());
    return number;
  }

  std::string Name() {
    const size_t start = at_;
    while (at_ < text_.size() && std::string_view(" +-*(),").find(text_[at_]) == std::string_view::npos) ++at_;
    if (at_ == start) Wrong();
    return std::string(text_.substr(start, at_ - start));
  }

  Dims& dims_;
  std::string_view text_;
  const std::function<Dim(const std::string&)>& symbol_;
  size_t at_ = 0;
};

}  // namespace

Dim ParseDim(Dims& dims, std::string_view text, const std::function<Dim(const std::string& name)>& symbol) {
  return Parser(dims, text, symbol).All();
}

}  // namespace tailor::frontend
