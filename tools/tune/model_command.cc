#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

#include "exec/cpu_features.h"
#include "tools/handles.h"
#include "tools/measure/averages.h"
#include "tools/measure/measuring_thread.h"
#include "tools/tailor/failures.h"
#include "tools/tailor/figures.h"
#include "tools/tailor/files.h"
#include "tools/tailor/inputs.h"
#include "tools/tailor/loaded_model.h"
#include "tools/tune/commands.h"
#include "tools/tune/interleaved_times.h"
#include "tools/tune/profile_space.h"
#include "tools/tune/region_search.h"

namespace tailor::tune {
namespace {

LoadedModel LoadWith(const ModelTuneArguments& arguments, const CostProfile& profile) {
  const std::string text = CostProfileText(profile);
  tailor_load_options options;
  tailor_load_options_init(&options);
  if (!arguments.target.empty()) options.target = arguments.target.c_str();
  options.cost_profile = text.data();
  options.cost_profile_size = text.size();
  LoadedModel model;
  model.path = arguments.artifact;
  model.executable = LoadArtifact(arguments.artifact, &options);
  model.signature = SignatureOf(model.executable.get());
  return model;
}

// The profile to begin with: of the file, else the compiler's own for the artifact's target on this machine.
CostProfile FirstProfile(const ModelTuneArguments& arguments) {
  if (arguments.profile.empty()) {
    return BuiltInCostProfile(LoadWith(arguments, CostProfile()).signature.target, CpuFamily(ThisCpu()));
  }
  CostProfile profile;
  if (const std::string wrong = ParseCostProfile(ReadFile(arguments.profile), &profile); !wrong.empty()) {
    throw UsageError("--profile " + arguments.profile + ": " + wrong);
  }
  return profile;
}

// A session of a model, and its inputs at each shape.
class Runner {
 public:
  Runner(LoadedModel model, const InputChoices& choices, const std::vector<SymbolValues>& shapes)
      : model_(std::move(model)), inputs_(choices, shapes), outputs_(model_.signature.outputs.size()) {
    for (const SymbolValues& shape : shapes) tensors_.push_back(inputs_.At(shape));
    tailor_session_options options;
    tailor_session_options_init(&options);
    options.threads = 1;
    options.host_outputs = 1;
    tailor_session* session = nullptr;
    Check(tailor_session_create(model_.executable.get(), &options, &session));
    session_.reset(session);
  }

  void Run(size_t shape) {
    for (tailor_tensor& output : outputs_) tailor_tensor_init(&output);
    const std::vector<tailor_tensor>& inputs = tensors_[shape];
    Check(tailor_session_run(session_.get(), inputs.data(), inputs.size(), outputs_.data(), outputs_.size()));
  }

 private:
  const LoadedModel model_;
  InputBuffers inputs_;
  std::vector<std::vector<tailor_tensor>> tensors_;  // by shape
  std::vector<tailor_tensor> outputs_;
  SessionHandle session_;
};

// Times the model under profiles against the first one.
class ProfileJudge {
 public:
  ProfileJudge(const ModelTuneArguments& arguments, const CostProfile& first)
      : ProfileJudge(arguments, LoadWith(arguments, first)) {}

  const std::vector<SymbolValues>& shapes() const { return shapes_; }

  struct Times {
    std::vector<double> first, changed;  // least seconds at each shape
    double Ratio() const {
      std::vector<double> ratios;
      for (size_t i = 0; i < first.size(); ++i) ratios.push_back(changed[i] / first[i]);
      return GeometricMean(ratios);
    }
  };

  Times Measure(const CostProfile& profile, int rounds) {
    constexpr double kSeconds = 2e-3;
    Runner changed(LoadWith(arguments_, profile), choices_, shapes_);
    std::vector<Call> calls;
    for (size_t shape = 0; shape < shapes_.size(); ++shape) {
      calls.push_back([this, shape] { first_.Run(shape); });
      calls.push_back([&changed, shape] { changed.Run(shape); });
    }
    const std::vector<double> least = LeastTimes(calls, rounds, kSeconds);
    Times times;
    for (size_t i = 0; i < least.size(); i += 2) times.first.push_back(least[i]), times.changed.push_back(least[i + 1]);
    return times;
  }

 private:
  ProfileJudge(const ModelTuneArguments& arguments, LoadedModel first)
      : arguments_(arguments),
        choices_(arguments.input, first.signature),
        shapes_(DrawSizes(choices_.Dims(), first.signature, 0, 0)),
        first_(std::move(first), choices_, shapes_) {}

  const ModelTuneArguments& arguments_;
  const InputChoices choices_;
  const std::vector<SymbolValues> shapes_;
  Runner first_;
};

void PrintTable(const std::vector<SymbolValues>& shapes, const ProfileJudge::Times& times) {
  std::printf("| shape | first profile | best found | ratio of times |\n|---|---|---|---|\n");
  for (size_t i = 0; i < shapes.size(); ++i) {
    std::printf("| %s | %s | %s | %.3f |\n", Text(shapes[i]).c_str(), TimeText(times.first[i]).c_str(),
                TimeText(times.changed[i]).c_str(), times.changed[i] / times.first[i]);
  }
  std::printf("| geometric mean | | | %.3f |\n", times.Ratio());
}

void CheckArguments(const ModelTuneArguments& arguments) {
  if (!(arguments.seconds > 0)) throw UsageError("--seconds is above 0");
  for (const DimChoice& choice : ParseDimChoices(arguments.input.dims)) {
    if (!choice.IsList()) throw UsageError("--dims " + choice.symbol + ": a range; expected sizes: 1,8");
  }
}

}  // namespace

void TuneModel(const ModelTuneArguments& arguments) {
  CheckArguments(arguments);
  constexpr int kRounds = 3;            // of a trial
  constexpr double kSearchShare = 0.8;  // of the time; the rest measures the best again
  constexpr double kFaster = 0.99;      // the ratio from which on the best is kept
  const Stopwatch watch;
  PinToCurrentCpu();
  const CostProfile first = FirstProfile(arguments);
  // What cannot be written is known before the search, and an interrupted search leaves a profile.
  if (!arguments.output.empty()) WriteFile(arguments.output, CostProfileText(first));
  const ProfileSpace changes(first);
  const SearchSpace space = changes.Space();
  ProfileJudge judge(arguments, first);

  RegionSearch search(space, {changes.Unchanged()}, arguments.seed);
  Point best = changes.Unchanged();
  double least = std::numeric_limits<double>::infinity();
  int trials = 0;
  double trial_seconds = 0;  // of the last one
  do {
    const Stopwatch trial;
    const Point point = search.Next();
    const double value = std::log(judge.Measure(changes.At(point), kRounds).Ratio());
    search.Tell(value);
    if (value < least) least = value, best = point;
    ++trials;
    trial_seconds = trial.Seconds();
  } while (watch.Seconds() + trial_seconds < kSearchShare * arguments.seconds);

  const double left = std::max(arguments.seconds - watch.Seconds(), trial_seconds);
  const ProfileJudge::Times times =
      judge.Measure(changes.At(best), std::max(kRounds, static_cast<int>(kRounds * left / trial_seconds)));
  const bool better = times.Ratio() <= kFaster;
  std::printf("%d profiles measured.\n\n", trials);
  PrintTable(judge.shapes(), times);
  if (!better) std::printf("\nNone is faster than the first one by 1 %%: it is kept.\n");
  if (better && !arguments.output.empty()) WriteFile(arguments.output, CostProfileText(changes.At(best)));
}

}  // namespace tailor::tune
