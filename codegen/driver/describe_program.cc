#include "codegen/driver/describe_program.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "llvm/Config/llvm-config.h"

namespace tailor::driver {
namespace {

std::vector<ProgramDim> DescribeDims(const Graph& graph, absl::Span<const DimExpr> shape) {
  std::vector<ProgramDim> dims;
  for (const DimExpr& dim : shape) {
    dims.push_back({dim.symbol().value_or(-1), dim.constant().value_or(-1), graph.DimText(dim)});
  }
  return dims;
}

ProgramTensor DescribeTensor(const Graph& graph, const std::string& name, const TensorType& type) {
  return {.name = name, .dtype = type.dtype, .dims = DescribeDims(graph, type.shape)};
}

// The 64-bit FNV-1a hash.
uint64_t HashText(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// Adds visits pass by pass.
void AddVisits(const std::vector<PassVisits>& added, std::vector<PassVisits>* visits) {
  for (const PassVisits& entry : added) {
    const auto same =
        std::find_if(visits->begin(), visits->end(), [&](const PassVisits& v) { return v.pass == entry.pass; });
    same == visits->end() ? visits->push_back(entry) : void(same->visits += entry.visits);
  }
}

}  // namespace

Program DescribeProgram(const Graph& graph, absl::Span<const lower::LoweredProgram* const> lowered,
                        std::string options) {
  Program program;
  for (const SymbolInfo& symbol : graph.symbols()) {
    program.symbols.push_back({symbol.name, symbol.min, symbol.max, symbol.multiple_of, symbol.likely});
  }
  for (NodeId input : graph.inputs()) {
    program.inputs.push_back(DescribeTensor(graph, graph.node(input).string("name"), graph.type({input, 0})));
  }
  for (const Output& output : graph.outputs()) {
    program.outputs.push_back(DescribeTensor(graph, output.name, graph.type(output.value)));
  }
  const host::HostProgram& outermost = lowered[0]->programs[0];
  for (size_t i = 0; i < outermost.donated.size(); ++i) program.inputs[i].donated = outermost.donated[i];
  for (size_t i = 0; i < outermost.memory_of.size(); ++i) program.outputs[i].memory_of = outermost.memory_of[i];
  for (size_t i = 0; i < outermost.output_dims.size(); ++i) {  // simplified by facts, as a run computes them
    program.outputs[outermost.output_numbers[i]].dims = DescribeDims(graph, outermost.output_dims[i]);
  }
  for (const lower::LoweredProgram* one : lowered) {
    for (const host::HostProgram& host : one->programs) {
      for (const ShapeCheck& check : host.checks) program.checks.push_back({check.message, check.node});
    }
  }
  program.facts = lowered[0]->facts;
  for (const lower::LoweredProgram* one : lowered) AddVisits(one->visits, &program.visits);
  program.provenance = {TAILOR_VERSION, LLVM_VERSION_STRING, graph.name(), HashText(graph.ToText()),
                        std::move(options)};
  return program;
}

}  // namespace tailor::driver
