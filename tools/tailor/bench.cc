#include <algorithm>
#include <memory>

#include "tools/handles.h"
#include "tools/tailor/bench_report.h"
#include "tools/tailor/bench_runs.h"
#include "tools/tailor/commands.h"
#include "tools/tailor/failures.h"
#include "tools/tailor/traced_runs.h"

namespace tailor {
namespace {

constexpr int kDraws = 20;  // of all shapes, to find valid ones

// A model of the benchmark and what its runs need.
struct Candidate {
  LoadedModel model;
  std::unique_ptr<InputChoices> choices;
  std::unique_ptr<InputBuffers> inputs;
};

// The status of a run at `shape`, as far as shapes decide it.
StatusHandle PlanStatus(const Candidate& candidate, const SymbolValues& shape) {
  const std::vector<tailor_tensor> inputs = candidate.choices->TensorsAt(shape);
  std::vector<tailor_tensor> outputs(candidate.model.signature.outputs.size());
  for (tailor_tensor& output : outputs) tailor_tensor_init(&output);
  return StatusHandle(tailor_executable_plan(candidate.model.executable.get(), inputs.data(), inputs.size(),
                                             outputs.data(), outputs.size(), nullptr));
}

// UsageError if --random would draw one shape again and again.
void RequireSomethingToDraw(const std::vector<DimChoice>& choices, const ModelSignature& signature) {
  const auto varies = [](const DimChoice& choice) { return choice.sizes.size() > 1 || !choice.IsList(); };
  if (std::any_of(choices.begin(), choices.end(), varies)) return;
  std::string example;
  for (const SymbolSpec& symbol : signature.symbols) example += (example.empty() ? "" : ",") + symbol.name + "=1..8";
  throw UsageError("--random: no symbol of --dims has several sizes" +
                   (example.empty() ? ", and the model has no symbol" : ": --dims " + example));
}

// Shapes at which all candidates run. Random ones that violate a check of a program are drawn again.
std::vector<SymbolValues> ValidShapes(const BenchArguments& arguments, const std::vector<Candidate>& candidates) {
  const Candidate& first = candidates[0];
  if (arguments.random_dims > 0) RequireSomethingToDraw(first.choices->Dims(), first.model.signature);
  std::vector<SymbolValues> valid;
  StatusHandle last;
  for (uint64_t draw = 0; draw < kDraws; ++draw) {
    for (const SymbolValues& shape :
         DrawSizes(first.choices->Dims(), first.model.signature, arguments.random_dims, arguments.input.seed + draw)) {
      for (const Candidate& candidate : candidates) {
        last = PlanStatus(candidate, shape);
        if (last) break;
      }
      if (last && arguments.random_dims == 0) Check(last.release(), Text(shape) + ": ");
      if (!last) valid.push_back(shape);
      if (valid.size() == std::max<uint64_t>(arguments.random_dims, 1) && arguments.random_dims > 0) return valid;
    }
    if (arguments.random_dims == 0) return valid;
  }
  if (valid.empty()) Check(last.release(), "no shape of --dims runs: ");
  return valid;
}

// The items of a run at each shape.
std::vector<int64_t> ItemsOf(const std::vector<SymbolValues>& shapes, const std::string& symbol) {
  std::vector<int64_t> items;
  for (const SymbolValues& shape : shapes) items.push_back(symbol.empty() ? 1 : shape.at(symbol));
  return items;
}

// The symbol that counts items; empty: each run is one.
std::string ItemsSymbol(const BenchArguments& arguments, const ModelSignature& signature) {
  if (!arguments.items.empty()) return signature.CheckSymbol(arguments.items, "--items").name;
  const bool has = !signature.inputs.empty() && !signature.inputs[0].dims.empty();
  return has && signature.Find(signature.inputs[0].dims[0]) != nullptr ? signature.inputs[0].dims[0] : "";
}

std::vector<Candidate> LoadCandidates(const BenchArguments& arguments, const tailor_runtime* runtime) {
  std::vector<Candidate> candidates(arguments.compared.empty() ? 1 : 2);
  for (size_t i = 0; i < candidates.size(); ++i) {
    LoadArguments load = arguments.load;
    if (i == 1) load.model.path = arguments.compared;
    candidates[i].model = LoadModel(load, runtime);
    candidates[i].choices = std::make_unique<InputChoices>(arguments.input, candidates[i].model.signature);
  }
  return candidates;
}

}  // namespace

int Bench(const BenchArguments& arguments) {
  const RuntimeHandle runtime = MakeRuntime(arguments.load);
  std::vector<Candidate> candidates = LoadCandidates(arguments, runtime.get());
  const std::vector<SymbolValues> shapes = ValidShapes(arguments, candidates);
  const std::string items = ItemsSymbol(arguments, candidates[0].model.signature);
  std::vector<BenchModel> models;
  for (Candidate& candidate : candidates) {
    candidate.inputs = std::make_unique<InputBuffers>(*candidate.choices, shapes);
    models.push_back({&candidate.model, candidate.inputs.get(), ItemsOf(shapes, items)});
  }
  BenchReport report = {arguments, items, shapes, models, {}, {}};
  report.times =
      MeasureModels(models, shapes, {arguments.seconds, arguments.warmup, arguments.callers, arguments.threads});
  if (!arguments.trace.empty()) {
    const std::vector<SymbolValues> traced(shapes.begin(),
                                           shapes.begin() + std::min<ptrdiff_t>(shapes.size(), arguments.traced));
    for (Candidate& candidate : candidates) {
      report.traces.push_back(TraceRuns(candidate.model, arguments.threads, traced, candidate.inputs.get()));
    }
    WriteTrace(arguments.trace, report.traces);
  }
  if (arguments.json) {
    PrintJson(report);
  } else {
    PrintTables(report);
  }
  return kExitSuccess;
}

}  // namespace tailor
