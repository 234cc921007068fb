#include "graph/activations.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace tailor {
namespace {

Value Positive(Formula& f, Value x) { return f.Apply(OpKind::kMax, {x, f.Scalar(x, 0)}); }

Value Affine(Formula& f, Value x, double alpha, double beta) {
  return f.Apply(OpKind::kAdd, {f.Scale(x, alpha), f.Scalar(x, beta)});
}

// x where x > bound, else `other`.
Value Above(Formula& f, Value x, double bound, Value other) {
  return f.Apply(OpKind::kSelect, {f.Apply(OpKind::kLe, {x, f.Scalar(x, bound)}), other, x});
}

Value Softsign(Formula& f, Value x) {
  return f.Apply(OpKind::kDiv, {x, f.Apply(OpKind::kAdd, {f.Apply(OpKind::kAbs, {x}), f.Scalar(x, 1)})});
}

// max(x, 0) + log(1 + e^-|x|), which does not overflow.
Value Softplus(Formula& f, Value x) {
  Value decay = f.Apply(OpKind::kExp, {f.Apply(OpKind::kNeg, {f.Apply(OpKind::kAbs, {x})})});
  Value log = f.Apply(OpKind::kLog, {f.Apply(OpKind::kAdd, {decay, f.Scalar(x, 1)})});
  return f.Apply(OpKind::kAdd, {Positive(f, x), log});
}

Value HardSigmoid(Formula& f, Value x, double alpha, double beta) {
  return Positive(f, f.Apply(OpKind::kMin, {Affine(f, x, alpha, beta), f.Scalar(x, 1)}));
}

Value Elu(Formula& f, Value x, double alpha) {
  Value below = f.Apply(OpKind::kSub, {f.Apply(OpKind::kExp, {x}), f.Scalar(x, 1)});
  return Above(f, x, 0, f.Scale(below, alpha));
}

struct Function {
  absl::string_view name;
  double alpha, beta;  // defaults
  Value (*append)(Formula& f, Value x, double alpha, double beta);
};

constexpr Function kFunctions[] = {
    {"sigmoid", 0, 0, [](Formula& f, Value x, double, double) { return f.Apply(OpKind::kSigmoid, {x}); }},
    {"tanh", 0, 0, [](Formula& f, Value x, double, double) { return f.Apply(OpKind::kTanh, {x}); }},
    {"relu", 0, 0, [](Formula& f, Value x, double, double) { return Positive(f, x); }},
    {"softsign", 0, 0, [](Formula& f, Value x, double, double) { return Softsign(f, x); }},
    {"softplus", 0, 0, [](Formula& f, Value x, double, double) { return Softplus(f, x); }},
    {"affine", 1, 0, Affine},
    {"scaled_tanh", 1, 1,
     [](Formula& f, Value x, double a, double b) { return f.Scale(f.Apply(OpKind::kTanh, {f.Scale(x, b)}), a); }},
    {"hard_sigmoid", 0.2, 0.5, HardSigmoid},
    {"leaky_relu", 0.01, 0, [](Formula& f, Value x, double a, double) { return Above(f, x, 0, f.Scale(x, a)); }},
    {"thresholded_relu", 1, 0, [](Formula& f, Value x, double a, double) { return Above(f, x, a, f.Scalar(x, 0)); }},
    {"elu", 1, 0, [](Formula& f, Value x, double a, double) { return Elu(f, x, a); }},
};

const Function* Find(absl::string_view name) {
  const Function* found =
      std::find_if(std::begin(kFunctions), std::end(kFunctions), [&](const Function& f) { return f.name == name; });
  return found == std::end(kFunctions) ? nullptr : found;
}

}  // namespace

absl::Status CheckActivation(absl::string_view builder, const Activation& activation) {
  if (Find(activation.name) != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(builder, ": there is no activation function \"", activation.name, "\""));
}

Value Activate(Formula& f, const Activation& activation, Value x) {
  const Function* function = Find(activation.name);
  assert(function != nullptr);
  return function->append(f, x, activation.alpha.value_or(function->alpha), activation.beta.value_or(function->beta));
}

}  // namespace tailor
