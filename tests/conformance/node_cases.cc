#include "tests/conformance/node_cases.h"

#include <cmath>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/element.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

using Words = std::vector<std::string>;

class CaseReader {
 public:
  explicit CaseReader(absl::string_view bytes) : rest_(bytes) {}

  absl::StatusOr<std::vector<NodeCase>> Read() {
    std::vector<NodeCase> cases;
    while (!rest_.empty()) {
      TAILOR_ASSIGN_OR_RETURN(NodeCase read, ReadCase());
      cases.push_back(std::move(read));
    }
    return cases;
  }

 private:
  absl::Status Bad() const { return absl::InvalidArgumentError(absl::StrCat("not a line of a case: ", line_)); }

  absl::StatusOr<Words> Line() {
    const size_t end = rest_.find('\n');
    line_ = std::string(rest_.substr(0, end));
    if (end == absl::string_view::npos) return Bad();
    rest_.remove_prefix(end + 1);
    return Words(absl::StrSplit(line_, ' '));
  }

  // What follows a line that ends with the count `count`.
  absl::StatusOr<std::string> Payload(const std::string& count) {
    size_t size = 0;
    if (!absl::SimpleAtoi(count, &size) || rest_.size() <= size || rest_[size] != '\n') return Bad();
    std::string payload(rest_.substr(0, size));
    rest_.remove_prefix(size + 1);
    return payload;
  }

  // Words `first` and on: DTYPE [DIMS] BYTES.
  absl::StatusOr<HostTensor> ReadTensor(const Words& words, size_t first) {
    if (words.size() != first + 3) return Bad();
    HostTensor tensor;
    for (int i = 1; i < kDTypeCount; ++i) {
      if (words[first] == NameOf(static_cast<DType>(i))) tensor.dtype = static_cast<DType>(i);
    }
    absl::string_view dims = words[first + 1];
    if (!absl::ConsumePrefix(&dims, "[") || !absl::ConsumeSuffix(&dims, "]")) return Bad();
    for (const absl::string_view text : absl::StrSplit(dims, ',', absl::SkipEmpty())) {
      if (!absl::SimpleAtoi(text, &tensor.dims.emplace_back())) return Bad();
    }
    size_t size = SizeOf(tensor.dtype);
    for (const int64_t dim : tensor.dims) size *= static_cast<size_t>(dim);
    TAILOR_ASSIGN_OR_RETURN(const std::string payload, Payload(words.back()));
    if (payload.size() != size || !IsValid(tensor.dtype)) return Bad();
    const auto* data = reinterpret_cast<const std::byte*>(payload.data());
    tensor.bytes.assign(data, data + size);
    return tensor;
  }

  absl::StatusOr<NodeCase> ReadCase() {
    NodeCase read;
    TAILOR_ASSIGN_OR_RETURN(const Words head, Line());
    if (head.size() != 4 || head[0] != "case" || !absl::SimpleAtod(head[2], &read.rtol) ||
        !absl::SimpleAtod(head[3], &read.atol)) {
      return Bad();
    }
    read.name = head[1];
    while (true) {
      TAILOR_ASSIGN_OR_RETURN(const Words words, Line());
      if (words[0] == "end") return read;
      TAILOR_RETURN_IF_ERROR(ReadPart(words, &read));
    }
  }

  absl::Status ReadPart(const Words& words, NodeCase* read) {
    if (words[0] == "graph" && words.size() == 2) {
      TAILOR_ASSIGN_OR_RETURN(read->graph, Payload(words[1]));
    } else if (words[0] == "model" && words.size() == 2) {
      TAILOR_ASSIGN_OR_RETURN(read->model, Payload(words[1]));
    } else if (words[0] == "fixed" && words.size() == 5) {
      TAILOR_ASSIGN_OR_RETURN(HostTensor tensor, ReadTensor(words, 2));
      read->fixed.emplace_back(words[1], std::move(tensor));
    } else if (words[0] == "input") {
      TAILOR_ASSIGN_OR_RETURN(read->inputs.emplace_back(), ReadTensor(words, 1));
    } else if (words[0] == "output" && words.size() == 5) {
      int index = 0;
      if (!absl::SimpleAtoi(words[1], &index)) return Bad();
      TAILOR_ASSIGN_OR_RETURN(HostTensor wanted, ReadTensor(words, 2));
      read->outputs.emplace_back(index, std::move(wanted));
    } else {
      return Bad();
    }
    return absl::OkStatus();
  }

  absl::string_view rest_;
  std::string line_;  // the last that was read
};

bool IsClose(double got, double wanted, double rtol, double atol) {
  if (std::isnan(got) || std::isnan(wanted)) return std::isnan(got) && std::isnan(wanted);
  return got == wanted || std::fabs(got - wanted) <= atol + rtol * std::fabs(wanted);
}

std::string TypeText(const HostTensor& tensor) {
  return absl::StrCat(NameOf(tensor.dtype), "[", absl::StrJoin(tensor.dims, ", "), "]");
}

}  // namespace

absl::StatusOr<std::vector<NodeCase>> ReadNodeCases(absl::string_view bytes) { return CaseReader(bytes).Read(); }

std::string Difference(const HostTensor& got, const HostTensor& wanted, double rtol, double atol) {
  if (got.dtype != wanted.dtype || got.dims != wanted.dims) {
    return absl::StrCat("it is ", TypeText(got), ", not ", TypeText(wanted));
  }
  const size_t width = SizeOf(got.dtype);
  for (size_t i = 0; i * width < got.bytes.size(); ++i) {
    const std::byte *mine = got.bytes.data() + i * width, *theirs = wanted.bytes.data() + i * width;
    if (!IsFloat(got.dtype)) {
      if (std::memcmp(mine, theirs, width) != 0) return absl::StrCat("element ", i, " differs");
    } else if (const double g = ElementToDouble(got.dtype, mine), w = ElementToDouble(got.dtype, theirs);
               !IsClose(g, w, rtol, atol)) {
      return absl::StrCat("element ", i, " is ", g, ", not ", w);
    }
  }
  return "";
}

std::string RunNodeCase(const NodeCase& node_case, const TestDevice& device, const GraphOfCase& graph_of) {
  const auto graph = graph_of(node_case);
  if (!graph.ok()) return absl::StrCat("loading: ", graph.status().message());
  const auto program = device.Compile(*graph);
  if (!program.ok()) return absl::StrCat("compiling: ", program.status().message());
  const auto outputs = (*program)->Run(node_case.inputs, 1);
  if (!outputs.ok()) return absl::StrCat("running: ", outputs.status().message());
  for (const auto& [index, wanted] : node_case.outputs) {
    if (index < 0 || static_cast<size_t>(index) >= outputs->size()) return absl::StrCat("no output ", index);
    const std::string difference = Difference((*outputs)[index], wanted, node_case.rtol, node_case.atol);
    if (!difference.empty()) return absl::StrCat("output ", index, ": ", difference);
  }
  return "";
}

}  // namespace tailor
