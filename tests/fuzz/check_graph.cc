#include "tests/fuzz/check_graph.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <random>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/may_refuse.h"
#include "tests/support/random_graph_inputs.h"
#include "tests/support/reference_evaluator.h"
#include "tests/support/reference_shapes.h"
#include "tests/support/reference_symbols.h"

namespace tailor {
namespace {

using reference::Array;
using reference::Element;

constexpr unsigned kSecondsPerGraph = 120;  // a check that takes longer hangs

std::string SymbolText(const Graph& graph, const std::vector<int64_t>& symbols) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i] == reference::kUnbound) continue;
    texts.push_back(absl::StrCat(graph.symbol(static_cast<SymbolId>(i)).name, " = ", symbols[i]));
  }
  return absl::StrJoin(texts, ", ");
}

std::vector<HostTensor> ToHost(const std::vector<Array>& arrays) {
  std::vector<HostTensor> tensors;
  for (const Array& array : arrays) tensors.push_back({array.dtype, array.dims, reference::ToBytes(array)});
  return tensors;
}

bool IsRight(const Element& want, long double got) {
  if (got == want.value || (std::isnan(got) && std::isnan(want.value))) return true;
  return std::fabs(got - want.value) <= want.error;
}

std::string NumberText(long double value) {
  std::ostringstream out;
  out.precision(20);
  out << value;
  return out.str();
}

class Check {
 public:
  Check(const Graph& graph, const TestDevice& device, uint64_t seed)
      : graph_(graph), device_(device), seed_(seed), random_(seed) {}

  CheckResult Run() {
    std::vector<std::vector<int64_t>> shapes;
    const ShapeKind last = seed_ % 8 == 0 ? ShapeKind::kLarge : ShapeKind::kWide;
    for (ShapeKind kind : {ShapeKind::kSmall, ShapeKind::kWithZero, ShapeKind::kWithOne, last}) {
      if (auto symbols = DrawSymbols(graph_, kind, random_)) shapes.push_back(*std::move(symbols));
    }
    auto program = device_.Compile(graph_);
    if (!program.ok()) {
      if (!MayRefuse(graph_, program.status(), shapes, seed_)) Fail("compile", program.status());
      return std::move(result_);
    }
    program_ = *std::move(program);
    for (size_t i = 0; i < shapes.size() && result_.failure.empty(); ++i) RunAt(shapes[i], static_cast<int>(i));
    for (int attempt = 0; attempt < 8 && result_.failure.empty(); ++attempt) RunAtWrongShape();
    if (!shapes.empty() && result_.failure.empty()) RunAt(shapes[0], 0);  // whatever came in between
    return std::move(result_);
  }

 private:
  template <typename... Args>
  void Fail(const Args&... details) {
    result_.failure = absl::StrCat(details...);
  }
  void Fail(const char* where, const absl::Status& status) {
    Fail(where, " ", absl::StatusCodeToString(status.code()), ": ", status.message());
  }

  // More threads than CPUs in some graphs: work is divided for them all the same.
  int Threads() const {
    constexpr std::array kThreads = {2, 2, 2, 16, 2, 2, 2, 64};
    return kThreads[seed_ % kThreads.size()];
  }

  bool IsSpecial(int which) const { return (seed_ + which) % 5 == 0; }
  std::vector<Array> Inputs(const std::vector<int64_t>& symbols, int which) const {
    return DrawInputs(graph_, symbols, seed_ + which, IsSpecial(which));
  }

  void RunAt(const std::vector<int64_t>& symbols, int which) {
    const bool special = IsSpecial(which);
    const std::vector<Array> inputs = Inputs(symbols, which);
    const auto expected = reference::Evaluate(graph_, symbols, inputs);
    if (absl::IsInternal(expected.status()) || absl::IsResourceExhausted(expected.status())) return;  // an endless loop
    const std::vector<HostTensor> host = ToHost(inputs);
    const auto outputs = program_->Run(host, 1);
    if (!expected.ok()) {
      CheckRefusal(symbols, expected.status(), outputs.status());
    } else if (!outputs.ok()) {
      const bool fault = absl::StrContains(outputs.status().message(), "is out of range for dim");
      const bool may_fail = fault && !expected->faults.empty();
      if (!may_fail && expected->undecided.empty()) Fail("run", outputs.status());
    } else if (!expected->undecided.empty()) {
      return;
    } else if (expected->outputs.size() != outputs->size()) {
      Fail("outputs: ", outputs->size());
    } else {
      for (size_t o = 0; o < outputs->size() && result_.failure.empty(); ++o) {
        Compare(o, expected->outputs[o], (*outputs)[o]);
      }
      ++result_.shapes;
      if (result_.failure.empty()) RunWithThreads(host, *outputs);
    }
    if (!result_.failure.empty()) {
      absl::StrAppend(&result_.failure, "\nat ", SymbolText(graph_, symbols), special ? " with special values" : "");
    }
  }

  // A run at these symbols had to be refused.
  void CheckRefusal(const std::vector<int64_t>& symbols, const absl::Status& expected, const absl::Status& status) {
    const bool may_pass = absl::IsFailedPrecondition(expected);
    if (status.ok() && !may_pass)
      return Fail("accepted: ", SymbolText(graph_, symbols), " although ", expected.message());
    if (!status.ok() && !absl::IsInvalidArgument(status)) return Fail("refused", status);
    if (!status.ok()) ++result_.refusals;
  }

  void Compare(size_t output, const Array& want, const HostTensor& got) {
    const std::string name = absl::StrCat("output \"", graph_.outputs()[output].name, "\"");
    if (want.dims != got.dims || want.dtype != got.dtype) {
      return Fail("shape: ", name, " is ", NameOf(got.dtype), "[", absl::StrJoin(got.dims, ", "), "], should be ",
                  NameOf(want.dtype), "[", absl::StrJoin(want.dims, ", "), "]");
    }
    const Array array = reference::FromBytes(got.dtype, got.dims, got.bytes.data());
    for (size_t i = 0; i < want.elements.size(); ++i) {
      const Element& element = want.elements[i];
      ++(element.known() ? result_.compared : result_.unknown);
      if (!element.known() || IsRight(element, array.elements[i].value)) continue;
      return Fail("value: ", name, " ", NameOf(got.dtype), "[", absl::StrJoin(got.dims, ", "), "] element ", i, " is ",
                  NumberText(array.elements[i].value), ", should be ", NumberText(element.value), " +- ",
                  NumberText(element.error));
    }
  }

  void RunWithThreads(const std::vector<HostTensor>& inputs, const std::vector<HostTensor>& alone) {
    std::vector<HostTensor> together = alone;
    for (HostTensor& tensor : together) std::fill(tensor.bytes.begin(), tensor.bytes.end(), std::byte{0x5a});
    const int threads = Threads();
    const absl::Status status = program_->RunInto(inputs, threads, &together);
    if (!status.ok()) return Fail("run with threads", status);
    for (size_t o = 0; o < alone.size(); ++o) {
      const auto value = [&](const HostTensor& tensor, size_t i) {
        const auto* element = &tensor.bytes[i * SizeOf(tensor.dtype)];
        return reference::FromBytes(tensor.dtype, {1}, element).elements[0].value;
      };
      for (size_t i = 0; i < alone[o].bytes.size(); ++i) {
        if (alone[o].bytes[i] == together[o].bytes[i]) continue;
        const size_t element = i / SizeOf(alone[o].dtype);
        if (std::isnan(value(alone[o], element)) && std::isnan(value(together[o], element))) continue;
        return Fail("threads: element ", element, " of output \"", graph_.outputs()[o].name, "\" has other bits with ",
                    threads, " threads and the caller's memory");
      }
    }
  }

  void RunAtWrongShape() {
    std::vector<int64_t> symbols;
    for (const auto& source : reference::SymbolSources(graph_)) {
      const auto value = static_cast<int64_t>(random_() % 6);
      symbols.push_back(source ? reference::kUnbound : value);
    }
    const auto dims = reference::GraphDims(graph_, symbols);
    if (!absl::IsInvalidArgument(dims.status())) return;
    std::vector<Array> inputs;
    for (NodeId id : graph_.inputs()) {
      const TensorType& type = graph_.type({id, 0});
      const auto input = reference::EvaluateDims(type.shape, symbols);
      if (!input.ok() || std::any_of(input->begin(), input->end(), [](int64_t d) { return d < 0; })) return;
      inputs.push_back(DrawArray(type.dtype, *input, 0));
    }
    CheckRefusal(symbols, dims.status(), program_->Run(ToHost(inputs), 1).status());
  }

  const Graph& graph_;
  const TestDevice& device_;
  const uint64_t seed_;
  std::mt19937_64 random_;
  std::unique_ptr<TestProgram> program_;
  CheckResult result_;
};

// Everything that is written to `pipe` until its other end closes.
std::string ReadAll(int pipe) {
  std::string all;
  char buffer[4096];
  for (ssize_t n; (n = read(pipe, buffer, sizeof buffer)) > 0;) all.append(buffer, static_cast<size_t>(n));
  return all;
}

// Checks, writes the result to `pipe` and ends the process; nothing that is thrown gets past here.
[[noreturn]] void RunChild(const Graph& graph, const TestDevice& device, uint64_t seed, int pipe) {
  alarm(kSecondsPerGraph);
  CheckResult result;
  try {
    result = CheckGraph(graph, device, seed);
  } catch (const std::exception& thrown) {
    result.failure = absl::StrCat("exception: ", thrown.what());
  }
  const std::string text = absl::StrCat(result.shapes, " ", result.refusals, " ", result.compared, " ", result.unknown,
                                        "\n", result.failure);
  const bool written = write(pipe, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  _exit(written ? 0 : 1);
}

}  // namespace

CheckResult CheckGraph(const Graph& graph, const TestDevice& device, uint64_t seed) {
  return Check(graph, device, seed).Run();
}

CheckResult CheckGraphInChild(const Graph& graph, const TestDevice& device, uint64_t seed) {
  int ends[2];
  CheckResult result;
  if (pipe(ends) != 0) return {.failure = "pipe: none"};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    RunChild(graph, device, seed, ends[1]);
  }
  close(ends[1]);
  std::istringstream text(ReadAll(ends[0]));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return {.failure = absl::StrCat("signal ", WTERMSIG(status), ": the process died")};
  if (WEXITSTATUS(status) != 0) return {.failure = absl::StrCat("exit ", WEXITSTATUS(status), ": the process gave up")};
  text >> result.shapes >> result.refusals >> result.compared >> result.unknown;
  text.ignore(1);
  std::getline(text, result.failure, '\0');
  return result;
}

}  // namespace tailor
