#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "graph/element.h"
#include "tools/handles.h"
#include "tools/tailor/commands.h"
#include "tools/tailor/comparison.h"
#include "tools/tailor/failures.h"
#include "tools/tailor/figures.h"
#include "tools/tailor/traced_runs.h"

namespace tailor {
namespace {

using nlohmann::json;

constexpr int64_t kShownElements = 8;  // of an output, beside its statistics

// An output as a tensor.
NamedTensor Result(const std::string& name, const tailor_tensor& tensor) {
  NamedTensor result;
  result.name = name;
  result.dtype = static_cast<DType>(tensor.dtype);
  result.dims.assign(tensor.dims, tensor.dims + tensor.rank);
  size_t bytes = SizeOf(result.dtype);
  for (int64_t dim : result.dims) bytes *= static_cast<size_t>(dim);
  const char* data = static_cast<const char*>(tensor.data);
  result.bytes.assign(data, data + bytes);
  return result;
}

// By name, checked to be outputs. `arguments` are NAME=VALUE.
template <typename Value>
void CheckNames(const std::map<std::string, Value>& by_name, const ModelSignature& signature,
                const std::string& option) {
  for (const auto& [name, value] : by_name) {
    std::string names;
    bool found = false;
    for (const TensorSpec& output : signature.outputs) {
      found |= output.name == name;
      names += (names.empty() ? "" : ", ") + output.name;
    }
    if (!found) throw UsageError(option + ": there is no output \"" + name + "\"; outputs: " + names);
  }
}

std::map<std::string, std::string> OutputFiles(const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> files;
  for (const std::string& argument : arguments) {
    const size_t at = argument.find("=@");
    if (at == std::string::npos) throw UsageError("--output " + argument + ": expected NAME=@FILE.npy");
    files[argument.substr(0, at)] = argument.substr(at + 2);
  }
  return files;
}

std::map<std::string, NamedTensor> ExpectedOutputs(const std::vector<std::string>& arguments) {
  std::map<std::string, NamedTensor> expected;
  for (NamedTensor& tensor : ParseTensors(arguments)) {
    const std::string name = tensor.name;
    if (!expected.emplace(name, std::move(tensor)).second) throw UsageError("--expect: " + name + " is given twice");
  }
  return expected;
}

// The outputs of one run, and its time.
struct RunResult {
  std::vector<NamedTensor> outputs;
  double seconds;
};

RunResult RunOnce(const LoadedModel& model, uint64_t threads, const std::vector<tailor_tensor>& inputs) {
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.threads = threads;
  options.host_outputs = 1;
  tailor_session* created = nullptr;
  Check(tailor_session_create(model.executable.get(), &options, &created));
  const SessionHandle session(created);
  std::vector<tailor_tensor> outputs(model.signature.outputs.size());
  for (tailor_tensor& output : outputs) tailor_tensor_init(&output);
  const Stopwatch watch;
  Check(tailor_session_run(session.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size()));
  RunResult result = {{}, watch.Seconds()};
  for (size_t i = 0; i < outputs.size(); ++i) {
    result.outputs.push_back(Result(model.signature.outputs[i].name, outputs[i]));
  }
  return result;
}

json OutputJson(const NamedTensor& output) {
  json out = {
      {"name", output.name}, {"dtype", NameOf(output.dtype)}, {"dims", output.dims}, {"hash", HashText(output)}};
  if (output.count() == 0) return out;
  const Statistics statistics = StatisticsOf(output);
  const auto number = [](double value) { return std::isfinite(value) ? json(value) : json(DoubleText(value)); };
  out["min"] = number(statistics.min), out["mean"] = number(statistics.mean), out["max"] = number(statistics.max);
  out["nans"] = statistics.nans;
  return out;
}

void PrintOutput(const NamedTensor& output, int64_t values) {
  if (values >= 0) {
    std::cout << output.name << "=" << TensorText(output, values) << "\n";
    return;
  }
  std::cout << output.name << "  " << output.type();
  if (output.count() > 0) {
    const Statistics statistics = StatisticsOf(output);
    std::cout << "  min " << NumberText(statistics.min) << "  mean " << NumberText(statistics.mean) << "  max "
              << NumberText(statistics.max);
    if (statistics.nans > 0) std::cout << "  NaNs " << statistics.nans;
  }
  if (output.count() <= kShownElements && output.count() > 0) {
    const std::string text = TensorText(output, kShownElements);
    std::cout << "  = " << text.substr(text.find('=') + 1);
  }
  std::cout << "\n";
}

// Appends the comparisons to `all`; reports mismatches to stderr. Whether all match.
bool CompareOutputs(const RunArguments& arguments, const std::vector<NamedTensor>& outputs,
                    const std::map<std::string, NamedTensor>& expected, json* all) {
  bool matches = true;
  for (const NamedTensor& output : outputs) {
    const auto found = expected.find(output.name);
    if (found == expected.end()) continue;
    const Comparison comparison = tailor::Compare(output, found->second, arguments.rtol, arguments.atol);
    json entry = {{"output", output.name}, {"matches", comparison.matches()}, {"differing", comparison.differing}};
    if (std::isfinite(comparison.max_difference)) entry["max_difference"] = comparison.max_difference;
    all->push_back(entry);
    if (!comparison.matches()) {
      std::cerr << "tailor: mismatch: output \"" << output.name << "\": " << comparison.message << "\n";
    } else if (!arguments.json) {
      std::cout << output.name << "  as expected, max difference " << NumberText(comparison.max_difference) << "\n";
    }
    matches = matches && comparison.matches();
  }
  return matches;
}

std::string Summary(const LoadedModel& model, const SymbolValues& dims, double seconds) {
  return "first run " + TimeText(seconds) + (model.compiled ? ", compiled in " : ", loaded in ") +
         TimeText(model.seconds) + (dims.empty() ? "" : ", dims " + Text(dims));
}

// RunOnce, with a hint where random indices may be the reason of a failure.
RunResult RunWithHint(const LoadedModel& model, uint64_t threads, const InputChoices& choices,
                      const std::vector<tailor_tensor>& inputs) {
  try {
    return RunOnce(model, threads, inputs);
  } catch (const StatusError& failure) {
    const std::string names = choices.IntegersByDefault();
    if (names.empty()) throw;
    throw StatusError(failure.code(), failure.what() + ("\n(random integers in 0..1: " + names +
                                                        "; --range NAME=LOW:HIGH draws others)"));
  }
}

// Writes, compares and prints the outputs of a run. Returns the exit code.
int Report(const RunArguments& arguments, const LoadedModel& model, const SymbolValues& dims,
           const std::map<std::string, std::string>& files, const std::map<std::string, NamedTensor>& expected,
           const RunResult& result) {
  json out = {{"model", model.path},         {"dims", dims},
              {"seconds", result.seconds},   {"load_seconds", model.seconds},
              {"compiled", model.compiled},  {"outputs", json::array()},
              {"comparisons", json::array()}};
  for (const NamedTensor& output : result.outputs) {
    const auto file = files.find(output.name);
    if (file != files.end()) WriteNpy(file->second, output);
    out["outputs"].push_back(OutputJson(output));
    if (!arguments.json && (arguments.values < 0 || file == files.end())) PrintOutput(output, arguments.values);
  }
  const bool matches = CompareOutputs(arguments, result.outputs, expected, &out["comparisons"]);
  if (arguments.json) {
    std::cout << out.dump(2) << "\n";
  } else if (arguments.values < 0) {
    std::cout << Summary(model, dims, result.seconds) << "\n";
  }
  return matches ? kExitSuccess : kExitNo;
}

}  // namespace

int Run(const RunArguments& arguments) {
  const std::map<std::string, std::string> files = OutputFiles(arguments.outputs);
  const std::map<std::string, NamedTensor> expected = ExpectedOutputs(arguments.expected);
  const RuntimeHandle runtime = MakeRuntime(arguments.load);
  const LoadedModel model = LoadModel(arguments.load, runtime.get());
  CheckNames(files, model.signature, "--output");
  CheckNames(expected, model.signature, "--expect");
  const InputChoices choices(arguments.input, model.signature);
  const std::vector<DimChoice> dims = choices.Dims();
  RequireSingleSizes(dims);
  const std::vector<SymbolValues> shapes = DrawSizes(dims, model.signature, 0, 0);
  InputBuffers inputs(choices, shapes);
  if (!arguments.trace.empty()) {
    InputBuffers own = inputs;  // runs may write donated inputs
    WriteTrace(arguments.trace, {TraceRuns(model, arguments.threads, shapes, &own)});
  }
  const RunResult result = RunWithHint(model, arguments.threads, choices, inputs.At(shapes[0]));
  return Report(arguments, model, shapes[0], files, expected, result);
}

}  // namespace tailor
