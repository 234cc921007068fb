#include "codegen/host/host_program.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tailor::host {
namespace {

using Place = HostBuffer::Place;
using Relation = ShapeCheck::Relation;

std::string BufferText(const HostBuffer& buffer) {
  if (buffer.place == Place::kResult) return absl::StrCat("r", buffer.call, ".", buffer.index);
  constexpr const char* kPrefix[] = {"in", "out", "c", "w"};
  return absl::StrCat(kPrefix[static_cast<int>(buffer.place)], buffer.index);
}

std::string DimText(const HostProgram& program, const DimExpr& dim) {
  return dim.ToText([&](SymbolId symbol) { return program.symbols[symbol]; });
}

std::string DimsText(const HostProgram& program, absl::Span<const DimExpr> dims) {
  const auto append = [&](std::string* out, const DimExpr& dim) { out->append(DimText(program, dim)); };
  return absl::StrCat("[", absl::StrJoin(dims, ", ", append), "]");
}

std::string InputDimText(int input, int dim) { return absl::StrCat("input ", input, " dim ", dim); }

std::string BindingText(const HostProgram& program, const SymbolBinding& binding) {
  std::string value = InputDimText(binding.input, binding.dim);
  if (binding.offset > 0) value = absl::StrCat(value, " - ", binding.offset);
  if (binding.offset < 0) value = absl::StrCat(value, " + ", -binding.offset);
  if (binding.coefficient != 1) {
    value = absl::StrCat(binding.offset != 0 ? absl::StrCat("(", value, ")") : value, " / ", binding.coefficient);
  }
  return absl::StrCat("bind ", program.symbols[binding.symbol], " = ", value);
}

const char* RelationText(Relation relation) {
  switch (relation) {
    case Relation::kEqual:
      return " == ";
    case Relation::kAtLeast:
      return " >= ";
    case Relation::kAtMost:
      return " <= ";
    case Relation::kMultipleOf:
      return " multiple of ";
    case Relation::kBroadcasts:
      return " broadcasts with ";
  }
  return " ? ";
}

std::string CheckText(const HostProgram& program, const ShapeCheck& check) {
  const std::string lhs = check.input >= 0 ? InputDimText(check.input, check.dim) : DimText(program, check.lhs);
  return absl::StrCat(lhs, RelationText(check.relation), DimText(program, check.rhs));
}

std::string ValueText(const HostProgram& program, const Call& call, size_t index) {
  const CallArgument& argument = call.arguments[index];
  if (argument.count >= 0) {
    return absl::StrCat("[", BufferText(program.buffers[call.arguments[argument.count].buffer]), "]");
  }
  if (argument.buffer < 0) return DimsText(program, argument.shape);
  std::string text = BufferText(program.buffers[argument.buffer]);
  if (call.kind != Call::Kind::kWhile) return text;
  const CarriedValue& carried = call.carried[index];
  if (carried.kind == CarriedValue::Kind::kInPlace) return absl::StrCat(text, " in place");
  if (carried.kind == CarriedValue::Kind::kInvariant) return text;
  if (carried.grown[0] >= 0) return absl::StrCat(text, " to grown ", carried.grown[0], ", ", carried.grown[1]);
  return absl::StrCat(text, " to ", BufferText(program.buffers[carried.places[0]]), ", ",
                      BufferText(program.buffers[carried.places[1]]));
}

std::string ArgumentText(const HostProgram& program, const Call& call, size_t index) {
  const Counter* counter = call.CounterOf(index);
  if (counter == nullptr) return ValueText(program, call, index);
  return absl::StrCat(ValueText(program, call, index), " counts ", program.symbols[counter->symbol], " from ",
                      DimText(program, call.arguments[index].shape[0]), ", then ", DimText(program, counter->next));
}

std::string CallText(const HostProgram& program, const Call& call) {
  std::vector<std::string> arguments, results;
  for (size_t i = 0; i < call.arguments.size(); ++i) arguments.push_back(ArgumentText(program, call, i));
  for (const Call::Result& result : call.results) {
    results.push_back(result.place >= 0 ? BufferText(program.buffers[result.place])
                                        : absl::StrCat("grown ", result.grown));
  }
  std::string text = absl::StrCat(call.name, "(", absl::StrJoin(arguments, ", "), ")");
  if (call.condition >= 0) absl::StrAppend(&text, " condition ", BufferText(program.buffers[call.condition]));
  if (call.decided) {
    absl::StrAppend(&text, call.kind == Call::Kind::kWhile ? " as long as " : " if ", DimText(program, *call.decided));
  }
  if (!call.programs.empty()) absl::StrAppend(&text, " programs ", absl::StrJoin(call.programs, ", "));
  if (!results.empty()) absl::StrAppend(&text, " results ", absl::StrJoin(results, ", "));
  return text;
}

std::string LaunchText(const HostProgram& program, const Launch& launch) {
  const std::string buffers = absl::StrJoin(
      launch.buffers, ", ", [&](std::string* out, int buffer) { out->append(BufferText(program.buffers[buffer])); });
  std::string text = absl::StrCat(launch.name, "(", buffers, ") dims ", DimsText(program, launch.dims));
  if (launch.first_fault_check >= 0) absl::StrAppend(&text, " faults from ", launch.first_fault_check);
  return text;
}

std::string GemmText(const HostProgram& program, const ExternalGemm& gemm) {
  const auto operand = [&](int buffer, absl::Span<const DimExpr> strides) {
    return absl::StrCat(BufferText(program.buffers[buffer]), " strides ", DimsText(program, strides));
  };
  return absl::StrCat(program.launches[gemm.launch].name, "(", operand(gemm.lhs, gemm.lhs_strides), ", ",
                      operand(gemm.rhs, gemm.rhs_strides), ", ", BufferText(program.buffers[gemm.out]),
                      ") batch, m, n, k ", DimsText(program, {gemm.batch, gemm.m, gemm.n, gemm.k}));
}

std::string StepText(const HostProgram& program, const Step& step) {
  std::string text =
      step.index < 0 ? absl::StrCat("matmul ", step.gemm, " ", GemmText(program, program.gemms[step.gemm]))
      : step.call    ? absl::StrCat("call ", step.index, " ", CallText(program, program.calls[step.index]))
                     : absl::StrCat("launch ", step.index, " ", LaunchText(program, program.launches[step.index]));
  if (step.when == Step::When::kTaken) absl::StrAppend(&text, " if matmul ", step.gemm, " is taken");
  if (step.when == Step::When::kNotTaken) absl::StrAppend(&text, " unless matmul ", step.gemm, " is taken");
  return text;
}

}  // namespace

const Counter* Call::CounterOf(size_t argument) const {
  const auto found = std::find_if(counters.begin(), counters.end(), [&](const Counter& counter) {
    return counter.argument == static_cast<int>(argument);
  });
  return found == counters.end() ? nullptr : &*found;
}

std::string HostProgram::Text() const {
  std::string out;
  for (const SymbolBinding& binding : bindings) absl::StrAppend(&out, BindingText(*this, binding), "\n");
  for (int i = 0; i < shape_check_count; ++i) {
    absl::StrAppend(&out, "check ", i, ": ", CheckText(*this, checks[i]), "\n");
  }
  if (versions) {
    std::vector<std::string> pairs;
    for (const auto& [a, b] : versions->equal)
      pairs.push_back(absl::StrCat(DimText(*this, a), " == ", DimText(*this, b)));
    absl::StrAppend(&out, "if ", absl::StrJoin(pairs, ", "), " program ", versions->joined, " else ", versions->general,
                    "\n");
  }
  for (size_t i = 0; i < output_dims.size(); ++i) {
    const size_t number = output_numbers[i];
    const int input = number < memory_of.size() ? memory_of[number] : -1;
    absl::StrAppend(&out, "output ", number, " ", DimsText(*this, output_dims[i]),
                    input >= 0 ? absl::StrCat(" in the memory of input ", input) : "", "\n");
  }
  for (const HostBuffer& buffer : buffers) {
    if (buffer.place != Place::kWorkspace) continue;
    absl::StrAppend(&out, "alloc ", BufferText(buffer), " = ",
                    DimText(*this, SizeOf(buffer.dtype) * ElementCount(buffer.shape)), " live [", buffer.first_step,
                    ", ", buffer.last_step, "]\n");
  }
  for (const Step& step : steps) absl::StrAppend(&out, StepText(*this, step), "\n");
  return out;
}

DimExpr BytesOf(const HostBuffer& buffer) {
  const DimExpr bytes = SizeOf(buffer.dtype) * ElementCount(buffer.shape);
  return buffer.place == Place::kWorkspace ? 64 * DimExpr::CeilDiv(bytes, 64) : bytes;
}

void PlanWorkspace(const ShapeFacts& facts, HostProgram& program) {
  std::vector<WorkspaceBlock> blocks;
  for (const HostBuffer& buffer : program.buffers) {
    if (buffer.place != Place::kWorkspace) continue;
    if (blocks.size() <= static_cast<size_t>(buffer.index)) blocks.resize(buffer.index + 1);
    WorkspaceBlock& block = blocks[buffer.index];
    const bool first = block.live.first < 0;
    block.bytes = BytesOf(buffer);
    block.live.first = first ? buffer.first_step : std::min(block.live.first, buffer.first_step);
    block.live.last = std::max(block.live.last, buffer.last_step);
  }
  program.memory = PlanMemory(blocks, facts);
}

}  // namespace tailor::host
