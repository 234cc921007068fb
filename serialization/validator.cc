#include "serialization/validator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <unordered_set>

#include "codegen/contract/panels.h"
#include "serialization/utf8.h"

namespace tailor {
namespace {

constexpr int32_t kMaxBlockThreads = 1024;
constexpr int32_t kMaxParameters = 4095;  // the driver accepts 32764 bytes
constexpr size_t kMaxTensorMaps = 8;
constexpr uint64_t kFaultWords = 4;  // size of a fault record

// Collects the first problem; once there is one, every later check is a no-op.
class Checker {
 public:
  // Requires a rule of the current item to hold.
  void Require(bool holds, const char* rule) {
    if (!holds && problem_.empty()) problem_ = item_.empty() ? rule : item_ + ": " + rule;
  }
  void RequireText(const std::string& text, const char* rule) { Require(IsText(text), rule); }
  // Starts an item with a name, which must be nonempty and not in `seen`.
  void Begin(const char* kind, const std::string& name, std::unordered_set<std::string_view>* seen) {
    item_ = std::string(kind) + " \"" + (IsText(name) ? name : "?") + "\"";
    RequireText(name, "name is not UTF-8 text");
    Require(!name.empty(), "name is empty");
    Require(seen->insert(name).second, "name is used twice");
  }
  void BeginGroup(const char* kind) { item_ = kind; }
  bool ok() const { return problem_.empty(); }
  std::string TakeProblem() { return std::move(problem_); }

 private:
  std::string item_, problem_;
};

void CheckSymbols(const Program& program, Checker* c) {
  std::unordered_set<std::string_view> seen;
  for (const ProgramSymbol& symbol : program.symbols) {
    c->Begin("symbol", symbol.name, &seen);
    c->Require(symbol.min >= 0 && symbol.min <= symbol.max, "range is empty or negative");
    c->Require(symbol.multiple_of >= 1, "multiple_of is below 1");
    for (int64_t likely : symbol.likely) {
      c->Require(likely >= symbol.min && likely <= symbol.max, "a likely value is out of range");
    }
  }
}

void CheckTensors(const Program& program, const std::vector<ProgramTensor>& tensors, const char* kind, Checker* c) {
  std::unordered_set<std::string_view> seen;
  const auto symbol_count = static_cast<int64_t>(program.symbols.size());
  for (const ProgramTensor& tensor : tensors) {
    c->Begin(kind, tensor.name, &seen);
    c->Require(IsValid(tensor.dtype), "dtype is unknown");
    c->Require(tensor.dims.size() <= kMaxRank, "rank is above 8");
    for (const ProgramDim& dim : tensor.dims) {
      c->RequireText(dim.text, "a dim's text is not UTF-8 text");
      c->Require(!dim.text.empty(), "a dim has no text");
      c->Require(dim.symbol >= -1 && dim.symbol < symbol_count, "a dim names no symbol");
      c->Require(dim.dim_size >= -1 && (dim.symbol < 0 || dim.dim_size == -1), "a dim's dim size is wrong");
    }
  }
}

// Each output with memory_of has its own input, which is donated and of the same type.
void CheckDonations(const Program& program, Checker* c) {
  c->BeginGroup("inputs");
  for (const ProgramTensor& input : program.inputs) c->Require(input.memory_of == -1, "one is in another's memory");
  c->BeginGroup("outputs");
  std::unordered_set<int32_t> taken;
  for (const ProgramTensor& output : program.outputs) {
    c->Require(!output.donated, "one is donated");
    if (output.memory_of == -1) continue;
    const bool known = output.memory_of >= 0 && output.memory_of < static_cast<int64_t>(program.inputs.size());
    c->Require(known && taken.insert(output.memory_of).second, "two are in one input's memory, or in that of none");
    if (!c->ok()) return;
    const ProgramTensor& input = program.inputs[output.memory_of];
    c->Require(input.donated && input.dtype == output.dtype, "one is in memory that is not its");
  }
}

void CheckConstants(const Program& program, Checker* c) {
  std::unordered_set<std::string_view> seen;
  for (const ProgramConstant& constant : program.constants) {
    c->Begin("constant", constant.name, &seen);
    c->Require(IsValid(constant.dtype), "dtype is unknown");
    c->Require(constant.dims.size() <= kMaxRank, "rank is above 8");
    if (!c->ok()) return;
    uint64_t bytes = 0;
    c->Require(PhysicalBytes(constant, &bytes), "dims do not fit its layout");
    c->Require(bytes == constant.bytes.size(), "wrong number of bytes for its type, dims and layout");
  }
}

void CheckCosts(const CostProfile& costs, Checker* c) {
  const auto require = [c](float number) {
    c->Require(std::isfinite(number) && number >= 0, "a number of its cost profile is negative or not finite");
  };
  for (const float number : {costs.cached_bytes, costs.line_ns, costs.fetch_overlap, costs.chunk_ns, costs.fork_ns,
                             costs.margin, costs.prefetch_distance}) {
    require(number);
  }
  c->Require(costs.prefetch_distance <= CostProfile::kMaxPrefetchDistance &&
                 std::floor(costs.prefetch_distance) == costs.prefetch_distance,
             "how far a cost profile fetches ahead is no whole number below 16384");
  for (const auto& row : costs.tiles) {
    for (const TileCost& tile : row) {
      for (const float number : {tile.fixed, tile.near_step, tile.far_step}) require(number);
    }
  }
}

bool StartsWith(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

void CheckDeviceImage(const DeviceImage& image, Checker* c) {
  c->RequireText(image.target, "a device image's target is not UTF-8 text");
  c->Require(!image.target.empty(), "a device image has no target");
  switch (image.kind) {
    case DeviceImageKind::kCubin:
      return c->Require(StartsWith(image.bytes, "\177ELF"), "a cubin does not begin as an ELF file");
    case DeviceImageKind::kPtx:  // the driver reads up to a zero byte
      return c->Require(!image.bytes.empty() && image.bytes.back() == std::byte{0}, "PTX does not end in a zero byte");
    case DeviceImageKind::kIr:
      return c->Require(StartsWith(image.bytes, "BC\xc0\xde"), "an image of IR does not begin as bitcode");
  }
  c->Require(false, "a device image is of unknown kind");
}

void CheckOutputsApart(const Program& program, const Variant& variant, Checker* c) {
  std::unordered_set<int32_t> seen;
  for (const int32_t output : variant.outputs_to_copy) {
    const bool known = output >= 0 && output < static_cast<int64_t>(program.outputs.size());
    c->Require(known && program.outputs[output].memory_of >= 0 && !variant.device_images.empty(),
               "an output is apart that is in no input's memory, or on no device");
    c->Require(seen.insert(output).second, "an output is apart twice");
  }
}

void CheckTensorMap(const TensorMap& map, int32_t parameters, Checker* c) {
  constexpr int32_t kMostBox = 256;
  bool sound = map.address >= 0 && map.address < parameters;
  for (const TensorMapFactor& factor : map.factors) {
    sound &= factor.dim >= 0 && factor.dim < kTensorMapRank && factor.number >= 1 && factor.number <= INT32_MAX;
    sound &= factor.slot >= -1 && factor.slot < parameters;
  }
  for (int32_t dim_size : map.box) sound &= dim_size >= 1 && dim_size <= kMostBox;
  constexpr int32_t kSwizzles[] = {0, 32, 64, 128};
  sound &= std::find(std::begin(kSwizzles), std::end(kSwizzles), map.swizzle_bytes) != std::end(kSwizzles);
  c->Require(sound, "a device kernel has a malformed tensor map");
}

void CheckDevice(const Variant& variant, Checker* c) {
  for (const DeviceImage& image : variant.device_images) CheckDeviceImage(image, c);
  c->Require(variant.device_kernels.empty() || !variant.device_images.empty(), "its device kernels have no image");
  for (const DeviceKernel& kernel : variant.device_kernels) {
    c->RequireText(kernel.symbol, "a device kernel's symbol is not UTF-8 text");
    c->Require(!kernel.symbol.empty(), "a device kernel has no symbol");
    c->Require(kernel.threads >= 1 && kernel.threads <= kMaxBlockThreads,
               "a device kernel's threads are not 1 to 1024");
    c->Require(kernel.parameters >= 0 && kernel.parameters <= kMaxParameters,
               "a device kernel's parameters are not 0 to 4095");
    c->Require(kernel.maps.size() <= kMaxTensorMaps, "a device kernel has more than 8 tensor maps");
    for (const TensorMap& map : kernel.maps) CheckTensorMap(map, kernel.parameters, c);
  }
  c->Require(!variant.reads_back || !variant.device_images.empty(), "it reads back, but has no device image");
  if (variant.fault_word == -1) return;
  c->Require(!variant.device_images.empty(), "it has a fault record, but no device image");
  c->Require(variant.fault_word >= 0 && variant.shape_cache_slots >= kFaultWords &&
                 static_cast<uint64_t>(variant.fault_word) <= variant.shape_cache_slots - kFaultWords,
             "its fault record lies outside the shape cache");
}

void CheckCustomCall(const ProgramCustomCall& call, Checker* c) {
  c->RequireText(call.name, "a custom operator's name is not UTF-8 text");
  c->RequireText(call.attributes, "the attributes of a custom operator are not UTF-8 text");
  c->RequireText(call.node, "a node is not UTF-8 text");
  c->Require(!call.name.empty() && !call.results.empty(), "a custom operator has no name or no result");
  for (const auto* tensors : {&call.operands, &call.results}) {
    for (const ProgramCustomCall::Tensor& tensor : *tensors) {
      c->Require(IsValid(tensor.dtype), "an operand of a custom operator has an unknown dtype");
      c->Require(tensor.rank >= 0 && tensor.rank <= static_cast<int32_t>(kMaxRank),
                 "an operand of a custom operator has a rank above 8");
    }
  }
}

void CheckVariants(const Program& program, Checker* c) {
  std::unordered_set<std::string_view> seen;
  c->Require(!program.variants.empty(), "there is no variant");
  for (const Variant& variant : program.variants) {
    c->Begin("variant", variant.target, &seen);
    std::unordered_set<std::string_view> features;
    for (const std::string& feature : variant.features) {
      c->RequireText(feature, "a feature is not UTF-8 text");
      c->Require(!feature.empty() && features.insert(feature).second, "a feature is empty or listed twice");
    }
    c->Require(variant.run_offset < variant.image.size(), "the run entry lies outside the image");
    c->Require(variant.plan_offset < variant.image.size(), "the plan entry lies outside the image");
    c->Require(variant.shape_cache_slots <= kMaxShapeCacheSlots, "shape_cache_slots is too large");
    c->Require(variant.growable_blocks <= kMaxShapeCacheSlots, "growable_blocks is too large");
    CheckCosts(variant.costs, c);
    std::unordered_set<std::string_view> families;
    for (const MachineCosts& machine : variant.machine_costs) {
      c->RequireText(machine.family, "the family of a cost profile is not UTF-8 text");
      c->Require(!machine.family.empty() && families.insert(machine.family).second,
                 "the family of a cost profile is empty or listed twice");
      CheckCosts(machine.costs, c);
    }
    CheckDevice(variant, c);
    CheckOutputsApart(program, variant, c);
    for (const ProgramCustomCall& call : variant.custom_calls) CheckCustomCall(call, c);
    for (const uint64_t bytes : variant.kernel_bytes) {
      c->Require(bytes <= INT64_MAX, "a kernel's code is too large");
    }
    for (const ProgramLaunch& launch : variant.launches) {
      c->RequireText(launch.kernel, "a kernel name is not UTF-8 text");
      c->Require(!launch.kernel.empty() && !launch.versions.empty(), "a launch has no kernel or no version");
      for (const std::string& version : launch.versions) c->RequireText(version, "a version is not UTF-8 text");
      for (const std::string& version : launch.dropped) c->RequireText(version, "a version is not UTF-8 text");
      const auto kernels = static_cast<int64_t>(variant.kernel_bytes.size());
      c->Require(launch.code >= 0 && (kernels == 0 || launch.code < kernels), "a launch names no kernel's code");
    }
  }
}

void CheckTexts(const Program& program, Checker* c) {
  c->BeginGroup("checks");
  for (const ProgramCheck& check : program.checks) {
    c->RequireText(check.message, "a message is not UTF-8 text");
    c->Require(!check.message.empty(), "a message is empty");
    c->RequireText(check.node, "a node is not UTF-8 text");
  }
  c->BeginGroup("facts");
  for (const std::string& fact : program.facts) c->RequireText(fact, "a line is not UTF-8 text");
  c->BeginGroup("visits");
  for (const PassVisits& entry : program.visits) c->RequireText(entry.pass, "a pass is not UTF-8 text");
  c->BeginGroup("provenance");
  const Provenance& from = program.provenance;
  for (const std::string* text : {&from.tailor_version, &from.llvm_version, &from.graph_name, &from.options}) {
    c->RequireText(*text, "a text is not UTF-8 text");
  }
}

}  // namespace

bool PhysicalBytes(const ProgramConstant& constant, uint64_t* bytes) {
  const auto& dims = constant.dims;
  if (std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; })) return false;
  std::vector<uint64_t> dim_sizes(dims.begin(), dims.end());
  const bool words = constant.layout == ConstantLayout::kWordPanels16;
  const bool winograd = constant.layout == ConstantLayout::kWinogradPanels16;
  if (words || winograd || constant.layout == ConstantLayout::kPanels16) {
    if (dim_sizes.size() < 2 || (words && PanelLayout(constant.dtype) != constant.layout)) return false;
    constexpr uint64_t kWindow = 9, kPoints = 16;
    uint64_t& rows = dim_sizes[dim_sizes.size() - 2];
    if (winograd && (constant.dtype != DType::kF32 || rows % kWindow != 0)) return false;
    const uint64_t steps = StepsPerWord(constant.layout, constant.dtype);
    rows = winograd ? rows / kWindow : rows + (steps - rows % steps) % steps;
    if (winograd) dim_sizes.insert(dim_sizes.begin(), kPoints);
    dim_sizes.back() = dim_sizes.back() / 16 + (dim_sizes.back() % 16 != 0);
    dim_sizes.push_back(16);
  } else if (constant.layout != ConstantLayout::kRowMajor) {
    return false;
  }
  uint64_t total = SizeOf(constant.dtype);
  bool empty = false, overflow = false;
  for (uint64_t dim_size : dim_sizes) {
    if (dim_size == 0)
      empty = true;
    else
      overflow |= __builtin_mul_overflow(total, dim_size, &total);
  }
  if (overflow && !empty) return false;
  *bytes = empty ? 0 : total;
  return true;
}

std::string FindProblem(const Program& program) {
  Checker checker;
  checker.Require(program.outputs.size() > 0, "there is no output");
  CheckSymbols(program, &checker);
  CheckTensors(program, program.inputs, "input", &checker);
  CheckTensors(program, program.outputs, "output", &checker);
  CheckDonations(program, &checker);
  CheckConstants(program, &checker);
  checker.BeginGroup("variants");
  CheckVariants(program, &checker);
  CheckTexts(program, &checker);
  return checker.TakeProblem();
}

}  // namespace tailor
