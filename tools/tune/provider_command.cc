#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "exec/matmul_choice.h"
#include "tools/measure/measuring_thread.h"
#include "tools/provider_library.h"
#include "tools/tune/best_fit.h"
#include "tools/tune/commands.h"
#include "tools/tune/decision_tree.h"
#include "tools/tune/interleaved_times.h"
#include "tools/tune/plain_matmul.h"
#include "tools/tune/search_space.h"

namespace tailor::tune {
namespace {

enum Way { kOwn, kProvider };

// A matmul by the provider is a step of its own; the compiler's kernel could fuse what follows.
constexpr double kGain = 0.9;  // the provider is chosen at up to this share of the own time

// Measurements of one rhs.
struct Measured {
  std::vector<std::vector<double>> features;
  TimeTable times;  // by size, then way
};

// In the order of MatmulChoice::kFeatures.
std::vector<double> Features(int64_t m, int64_t n, int64_t k) {
  const double columns = static_cast<double>(n), depth = static_cast<double>(k);
  return {static_cast<double>(m), columns, depth, columns * depth};
}

Measured Measure(const tailor_product_provider& provider, const MatmulForm& form, Random& random) {
  constexpr int kRowCounts = 8, kRounds = 24;
  constexpr int64_t kMostRows = 512;
  constexpr double kSeconds = 1e-4;
  Measured measured;
  const auto matmul = PlainMatmul::Compile(form);
  for (int i = 0; i < kRowCounts; ++i) {
    const int64_t m = DrawDimSize(1, kMostRows, random);
    PlainOperands operands(m, *form.n, *form.k);
    const tailor_product offered = operands.Offered();
    if (provider.take(provider.user, &offered) == 0) continue;
    const BoundMatmul own = operands.Bind(*matmul);
    const auto theirs = [&] {
      if (provider.multiply(provider.user, &offered) != 0) throw std::runtime_error("the provider failed");
    };
    theirs();
    if (!operands.IsRight()) throw std::runtime_error("the provider's matmul is wrong");
    measured.features.push_back(Features(m, *form.n, *form.k));
    measured.times.push_back(LeastTimes({own, theirs}, kRounds, kSeconds));
    provider.forget(provider.user, offered.rhs);
  }
  return measured;
}

void Append(const Measured& from, Measured* to) {
  to->features.insert(to->features.end(), from.features.begin(), from.features.end());
  to->times.insert(to->times.end(), from.times.begin(), from.times.end());
}

void PrintRow(const char* name, const Measured& held_out, const std::vector<int>& chosen) {
  const ChoiceQuality quality = Judge(held_out.times, chosen, 1);
  std::printf("| %s | %.3f | %.3f |\n", name, quality.mean, quality.worst);
}

}  // namespace

void ChooseProvider(const ProviderArguments& arguments) {
  constexpr int kEvery = 5;
  if (arguments.operands < kEvery) throw std::runtime_error("--operands is at least 5: every fifth is held out");
  std::ofstream out(arguments.output);
  if (!out) throw std::runtime_error("cannot write " + arguments.output);
  const tailor_product_provider& provider = *LoadProvider(arguments.name);
  if (provider.forget == nullptr) throw std::runtime_error(arguments.name + " has no `forget` for an rhs");
  PinToCurrentCpu();
  Random random(arguments.seed);
  Measured seen, held_out;
  for (int i = 0; i < arguments.operands; ++i) {
    constexpr int64_t kLeast = 16, kMost = 2048;
    const MatmulForm form{.n = DrawDimSize(kLeast, kMost, random), .k = DrawDimSize(kLeast, kMost, random)};
    Append(Measure(provider, form, random), i % kEvery == kEvery - 1 ? &held_out : &seen);
  }
  if (seen.times.empty() || held_out.times.empty()) throw std::runtime_error(arguments.name + " takes no matmuls");

  std::vector<Sample> samples;
  for (size_t i = 0; i < seen.times.size(); ++i) {
    const bool gains = seen.times[i][kProvider] <= kGain * seen.times[i][kOwn];
    samples.push_back({seen.features[i], gains ? kProvider : kOwn});
  }
  const DecisionTree tree(samples, {.depth = 4, .leaf = 8});
  std::vector<int> by_tree;
  for (const std::vector<double>& features : held_out.features) by_tree.push_back(tree.Classify(features));
  out << tree.Text({std::begin(MatmulChoice::kFeatures), std::end(MatmulChoice::kFeatures)}, {"own", "provider"});
  out.close();
  if (!out) throw std::runtime_error("cannot write " + arguments.output);

  std::printf("%zu matmuls to learn from, %zu held out; a tree of %d leaves gives %td of these to %s\n\n",
              seen.times.size(), held_out.times.size(), tree.leaves(),
              std::count(by_tree.begin(), by_tree.end(), kProvider), arguments.name.c_str());
  std::printf("| held-out matmuls | mean speed over the faster one | worst |\n|---|---|---|\n");
  PrintRow("always own", held_out, std::vector<int>(by_tree.size(), kOwn));
  PrintRow("always the provider's", held_out, std::vector<int>(by_tree.size(), kProvider));
  PrintRow("as the tree says", held_out, by_tree);
}

}  // namespace tailor::tune
