#include "serialization/metadata.h"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>

#include "artifact_generated.h"
#include "serialization/layout.h"

namespace tailor {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

template <typename T>
using Offsets = std::vector<Offset<T>>;

constexpr uint32_t kMaxVariants = 64;  // bounds memory: a few encoded bytes decode to some 3 KB per variant

// Appends an item of `size` bytes to a section of `*section` bytes.
bool Place(uint64_t size, uint64_t* section, ItemPlace* place) {
  uint64_t padded;
  *place = {*section, size};
  return AlignUp(size, kItemAlignment, &padded) && !__builtin_add_overflow(*section, padded, section);
}

Offset<flatbuffers::Vector<Offset<fbs::Tensor>>> Encode(FlatBufferBuilder& b,
                                                        const std::vector<ProgramTensor>& tensors) {
  Offsets<fbs::Tensor> encoded;
  for (const ProgramTensor& tensor : tensors) {
    Offsets<fbs::Dim> dims;
    for (const ProgramDim& dim : tensor.dims) {
      dims.push_back(fbs::CreateDimDirect(b, dim.symbol, dim.dim_size, dim.text.c_str()));
    }
    encoded.push_back(fbs::CreateTensorDirect(b, tensor.name.c_str(), static_cast<uint8_t>(tensor.dtype), &dims,
                                              tensor.donated, tensor.memory_of));
  }
  return b.CreateVector(encoded);
}

// Whether the profile has a measured tile; a profile without tiles is not encoded.
bool KnowsTiles(const CostProfile& costs) {
  const auto known = [](const TileCost& tile) { return tile.known(); };
  return std::any_of(&costs.tiles[0][0], &costs.tiles[0][0] + CostProfile::kRows * CostProfile::kPanels, known);
}

Offset<fbs::CostProfile> Encode(FlatBufferBuilder& b, const CostProfile& from) {
  std::vector<fbs::TileCost> tiles;
  for (int rows = 1; rows <= CostProfile::kRows; ++rows) {
    for (int panels = 1; panels <= CostProfile::kPanels; ++panels) {
      const TileCost& cost = from.Of(rows, panels);
      if (!cost.known()) continue;
      tiles.emplace_back(static_cast<uint8_t>(rows), static_cast<uint8_t>(panels), cost.fixed, cost.near_step,
                         cost.far_step);
    }
  }
  return fbs::CreateCostProfile(b, from.cached_bytes, from.line_ns, from.fetch_overlap, from.chunk_ns, from.fork_ns,
                                from.margin, b.CreateVectorOfStructs(tiles), from.prefetch_distance);
}

Offset<flatbuffers::Vector<Offset<fbs::MachineCosts>>> Encode(FlatBufferBuilder& b,
                                                              const std::vector<MachineCosts>& machines) {
  if (machines.empty()) return 0;
  Offsets<fbs::MachineCosts> encoded;
  for (const MachineCosts& machine : machines) {
    const auto family = b.CreateString(machine.family);
    encoded.push_back(fbs::CreateMachineCosts(b, family, Encode(b, machine.costs)));
  }
  return b.CreateVector(encoded);
}

std::vector<fbs::CustomTensor> Encode(const std::vector<ProgramCustomCall::Tensor>& tensors) {
  std::vector<fbs::CustomTensor> encoded;
  for (const ProgramCustomCall::Tensor& tensor : tensors) {
    encoded.emplace_back(static_cast<uint8_t>(tensor.dtype), static_cast<uint8_t>(tensor.rank));
  }
  return encoded;
}

Offset<flatbuffers::Vector<Offset<fbs::CustomCall>>> Encode(FlatBufferBuilder& b,
                                                            const std::vector<ProgramCustomCall>& calls) {
  if (calls.empty()) return 0;
  Offsets<fbs::CustomCall> encoded;
  for (const ProgramCustomCall& call : calls) {
    const auto operands = b.CreateVectorOfStructs(Encode(call.operands));
    const auto results = b.CreateVectorOfStructs(Encode(call.results));
    encoded.push_back(fbs::CreateCustomCall(b, b.CreateString(call.name), b.CreateString(call.attributes),
                                            b.CreateString(call.node), operands, results));
  }
  return b.CreateVector(encoded);
}

// `place` is the first image's and is advanced past the last.
Offset<flatbuffers::Vector<Offset<fbs::DeviceImage>>> Encode(FlatBufferBuilder& b,
                                                             const std::vector<DeviceImage>& images,
                                                             std::vector<ItemPlace>::const_iterator& place) {
  Offsets<fbs::DeviceImage> encoded;
  for (const DeviceImage& image : images) {
    encoded.push_back(fbs::CreateDeviceImageDirect(b, image.target.c_str(), static_cast<uint8_t>(image.kind),
                                                   place->offset, place->size));
    ++place;
  }
  return b.CreateVector(encoded);
}

Offset<flatbuffers::Vector<Offset<fbs::TensorMap>>> Encode(FlatBufferBuilder& b, const std::vector<TensorMap>& maps) {
  if (maps.empty()) return 0;
  Offsets<fbs::TensorMap> encoded;
  for (const TensorMap& map : maps) {
    std::vector<fbs::TensorMapFactor> factors;
    for (const TensorMapFactor& f : map.factors) factors.emplace_back(f.dim, f.slot, f.number);
    const auto box = b.CreateVector(map.box.data(), map.box.size());
    encoded.push_back(fbs::CreateTensorMap(b, map.address, b.CreateVectorOfStructs(factors), box, map.swizzle_bytes));
  }
  return b.CreateVector(encoded);
}

Offset<flatbuffers::Vector<Offset<fbs::DeviceKernel>>> Encode(FlatBufferBuilder& b,
                                                              const std::vector<DeviceKernel>& kernels) {
  Offsets<fbs::DeviceKernel> encoded;
  for (const DeviceKernel& kernel : kernels) {
    const auto maps = Encode(b, kernel.maps);
    encoded.push_back(
        fbs::CreateDeviceKernel(b, b.CreateString(kernel.symbol), kernel.threads, kernel.parameters, maps));
  }
  return b.CreateVector(encoded);
}

Offset<flatbuffers::Vector<Offset<fbs::Variant>>> Encode(FlatBufferBuilder& b, const std::vector<Variant>& variants,
                                                         const std::vector<ItemPlace>& places) {
  Offsets<fbs::Variant> encoded;
  auto next = places.begin();
  for (const Variant& v : variants) {
    const ItemPlace place = *next++;
    Offsets<fbs::Launch> launches;
    for (const ProgramLaunch& launch : v.launches) {
      launches.push_back(fbs::CreateLaunch(b, b.CreateString(launch.kernel), b.CreateVectorOfStrings(launch.versions),
                                           b.CreateVectorOfStrings(launch.dropped), launch.code));
    }
    const auto costs = KnowsTiles(v.costs) ? Encode(b, v.costs) : 0;
    const auto machine_costs = Encode(b, v.machine_costs);
    const auto device_images = Encode(b, v.device_images, next);
    const auto device_kernels = Encode(b, v.device_kernels);
    const auto custom_calls = Encode(b, v.custom_calls);
    std::vector<fbs::CodeSymbol> code_symbols;
    for (const CodeSymbol& symbol : v.code_symbols)
      code_symbols.emplace_back(symbol.offset, symbol.kernel, symbol.version);
    encoded.push_back(
        fbs::CreateVariant(b, b.CreateString(v.target), b.CreateVectorOfStrings(v.features), place.offset, place.size,
                           v.run_offset, v.plan_offset, v.shape_cache_slots, v.api_size, v.context_size,
                           b.CreateVector(launches), v.growable_blocks, b.CreateVector(v.kernel_bytes), costs,
                           device_images, device_kernels, v.fault_word, v.reads_back, b.CreateVector(v.outputs_to_copy),
                           v.offers_products, machine_costs, custom_calls, b.CreateVectorOfStructs(code_symbols)));
  }
  return b.CreateVector(encoded);
}

Offset<flatbuffers::Vector<Offset<fbs::PassVisits>>> Encode(FlatBufferBuilder& b,
                                                            const std::vector<PassVisits>& visits) {
  std::vector<Offset<fbs::PassVisits>> encoded;
  for (const PassVisits& entry : visits) {
    encoded.push_back(fbs::CreatePassVisits(b, b.CreateString(entry.pass), entry.visits));
  }
  return b.CreateVector(encoded);
}

Offset<flatbuffers::Vector<Offset<fbs::Constant>>> Encode(FlatBufferBuilder& b,
                                                          const std::vector<ProgramConstant>& constants,
                                                          const std::vector<ItemPlace>& places) {
  Offsets<fbs::Constant> encoded;
  for (size_t i = 0; i < constants.size(); ++i) {
    const ProgramConstant& c = constants[i];
    encoded.push_back(fbs::CreateConstantDirect(b, c.name.c_str(), static_cast<uint8_t>(c.dtype),
                                                static_cast<uint8_t>(c.layout), &c.dims, places[i].offset,
                                                places[i].size));
  }
  return b.CreateVector(encoded);
}

// Counts the bytes that decoding will visit, once per visit. Encodings without shared parts, such as those of
// EncodeMetadata, never exceed their own size. Stops at the first problem.
class DecodedSizeLimit {
 public:
  explicit DecodedSizeLimit(uint64_t limit) : left_(limit) {}

  void Text(const flatbuffers::String* text) {
    if (text != nullptr) Take(sizeof(uint32_t) + text->size());
  }
  void Texts(const flatbuffers::Vector<Offset<flatbuffers::String>>* texts) {
    Each(texts, [this](const flatbuffers::String& text) { Text(&text); });
  }
  template <typename T>
  void Numbers(const flatbuffers::Vector<T>* numbers) {
    if (numbers != nullptr) Elements(numbers->Data(), numbers->size(), sizeof(T), alignof(T));
  }
  template <typename T>
  void Structs(const flatbuffers::Vector<const T*>* structs) {
    if (structs != nullptr) Elements(structs->Data(), structs->size(), sizeof(T), alignof(T));
  }
  // Calls visit(item) for each item of a vector of tables or texts.
  template <typename T, typename Visit>
  void Each(const flatbuffers::Vector<Offset<T>>* items, Visit visit) {
    if (items == nullptr) return;
    Take(sizeof(uint32_t) + uint64_t{items->size()} * 2 * sizeof(uint32_t));  // offset, and the item's first word
    for (uint32_t i = 0; i < items->size() && problem_ == nullptr; ++i) visit(*items->Get(i));
  }

  void Add(const fbs::Tensor& tensor) {
    Text(tensor.name());
    Each(tensor.dims(), [this](const fbs::Dim& dim) { Text(dim.text()); });
  }
  void Add(const fbs::Launch& launch) {
    Text(launch.kernel());
    Texts(launch.versions());
    Texts(launch.dropped());
  }
  void Add(const fbs::DeviceKernel& kernel) {
    Text(kernel.symbol());
    Each(kernel.maps(), [this](const fbs::TensorMap& map) {
      Structs(map.factors());
      Numbers(map.box());
    });
  }
  void Add(const fbs::CustomCall& call) {
    for (const auto* text : {call.name(), call.attributes(), call.node()}) Text(text);
    Structs(call.operands());
    Structs(call.results());
  }
  void Add(const fbs::Variant& variant) {
    Text(variant.target());
    Texts(variant.features());
    Each(variant.launches(), [this](const fbs::Launch& launch) { Add(launch); });
    Numbers(variant.kernel_bytes());
    if (variant.costs() != nullptr) Structs(variant.costs()->tiles());
    Each(variant.device_images(), [this](const fbs::DeviceImage& image) { Text(image.target()); });
    Each(variant.device_kernels(), [this](const fbs::DeviceKernel& kernel) { Add(kernel); });
    Numbers(variant.outputs_to_copy());
    Each(variant.custom_calls(), [this](const fbs::CustomCall& call) { Add(call); });
    Each(variant.machine_costs(), [this](const fbs::MachineCosts& machine) {
      Text(machine.family());
      Structs(machine.costs()->tiles());
    });
  }
  void Add(const fbs::Artifact& root) {
    Each(root.symbols(), [this](const fbs::Symbol& symbol) {
      Text(symbol.name());
      Numbers(symbol.likely());
    });
    for (const auto* tensors : {root.inputs(), root.outputs()}) {
      Each(tensors, [this](const fbs::Tensor& tensor) { Add(tensor); });
    }
    Each(root.checks(), [this](const fbs::Check& check) {
      Text(check.message());
      Text(check.node());
    });
    Each(root.constants(), [this](const fbs::Constant& constant) {
      Text(constant.name());
      Numbers(constant.dims());
    });
    Each(root.variants(), [this](const fbs::Variant& variant) { Add(variant); });
    const fbs::Provenance& from = *root.provenance();
    for (const auto* text : {from.tailor_version(), from.llvm_version(), from.graph_name(), from.options()}) Text(text);
    Texts(root.facts());
    Each(root.visits(), [this](const fbs::PassVisits& entry) { Text(entry.pass()); });
  }

  // The problem, or null.
  const char* problem() const { return problem_; }

 private:
  void Take(uint64_t bytes) {
    if (bytes > left_ && problem_ == nullptr) problem_ = "it unpacks to more than it has: parts of it are shared";
    left_ -= std::min(bytes, left_);
  }
  // The verifier checks the alignment of a vector's length only.
  void Elements(const uint8_t* data, uint64_t count, size_t size, size_t alignment) {
    if (reinterpret_cast<uintptr_t>(data) % alignment != 0 && count > 0 && problem_ == nullptr) {
      problem_ = "a vector is not aligned as its elements are";
    }
    Take(sizeof(uint32_t) + count * size);
  }

  uint64_t left_;
  const char* problem_ = nullptr;
};

std::vector<std::string> Strings(const flatbuffers::Vector<Offset<flatbuffers::String>>& encoded) {
  std::vector<std::string> strings;
  strings.reserve(encoded.size());
  for (const flatbuffers::String* text : encoded) strings.push_back(text->str());
  return strings;
}

// A byte from the file as an enum. Unknown numbers map to an enumerator that the validator rejects.
DType DTypeOf(uint8_t number) { return number < kDTypeCount ? static_cast<DType>(number) : DType::kInvalid; }

std::vector<ProgramTensor> Decode(const flatbuffers::Vector<Offset<fbs::Tensor>>& encoded) {
  std::vector<ProgramTensor> tensors(encoded.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const fbs::Tensor* from = encoded.Get(i);
    tensors[i].name = from->name()->str();
    tensors[i].dtype = DTypeOf(from->dtype());
    tensors[i].dims.reserve(from->dims()->size());
    for (const fbs::Dim* dim : *from->dims()) {
      tensors[i].dims.push_back({dim->symbol(), dim->dim_size(), dim->text()->str()});
    }
    tensors[i].donated = from->donated();
    tensors[i].memory_of = from->memory_of();
  }
  return tensors;
}

// False if a tile is larger than a profile can hold.
bool Decode(const fbs::CostProfile& from, CostProfile* to) {
  to->cached_bytes = from.cached_bytes();
  to->line_ns = from.line_ns();
  to->fetch_overlap = from.fetch_overlap();
  to->chunk_ns = from.chunk_ns();
  to->fork_ns = from.fork_ns();
  to->margin = from.margin();
  to->prefetch_distance = from.prefetch_distance();
  for (const fbs::TileCost* tile : *from.tiles()) {
    const int rows = tile->rows(), panels = tile->panels();
    if (rows < 1 || rows > CostProfile::kRows || panels < 1 || panels > CostProfile::kPanels) return false;
    to->Of(rows, panels) = {tile->fixed(), tile->near_step(), tile->far_step(), 0};
  }
  return true;
}

// A box of another rank maps to one that the validator rejects.
TensorMap Decode(const fbs::TensorMap& from) {
  TensorMap map{.address = from.address(), .box = {}, .swizzle_bytes = from.swizzle_bytes()};
  if (from.factors() != nullptr) {
    for (const fbs::TensorMapFactor* f : *from.factors()) map.factors.push_back({f->dim(), f->slot(), f->number()});
  }
  if (from.box() != nullptr && from.box()->size() == map.box.size()) {
    std::copy(from.box()->begin(), from.box()->end(), map.box.begin());
  }
  return map;
}

std::vector<ProgramCustomCall::Tensor> Decode(const flatbuffers::Vector<const fbs::CustomTensor*>& from) {
  std::vector<ProgramCustomCall::Tensor> tensors;
  for (const fbs::CustomTensor* tensor : from) tensors.push_back({DTypeOf(tensor->dtype()), tensor->rank()});
  return tensors;
}

ProgramCustomCall Decode(const fbs::CustomCall& from) {
  return {from.name()->str(), from.attributes()->str(), from.node()->str(), Decode(*from.operands()),
          Decode(*from.results())};
}

Variant Decode(const fbs::Variant& from) {
  Variant v;
  v.target = from.target()->str();
  v.features = Strings(*from.features());
  v.run_offset = from.run_offset();
  v.plan_offset = from.plan_offset();
  v.shape_cache_slots = from.shape_cache_slots();
  v.api_size = from.api_size();
  v.context_size = from.context_size();
  v.growable_blocks = from.growable_blocks();
  v.launches.reserve(from.launches()->size());
  for (const fbs::Launch* launch : *from.launches()) {
    v.launches.push_back({launch->kernel()->str(), Strings(*launch->versions()), {}, launch->code()});
    if (launch->dropped() != nullptr) v.launches.back().dropped = Strings(*launch->dropped());
  }
  if (from.kernel_bytes() != nullptr) v.kernel_bytes.assign(from.kernel_bytes()->begin(), from.kernel_bytes()->end());
  v.fault_word = from.fault_word();
  v.reads_back = from.reads_back();
  v.offers_products = from.offers_products();
  if (from.outputs_to_copy() != nullptr)
    v.outputs_to_copy.assign(from.outputs_to_copy()->begin(), from.outputs_to_copy()->end());
  if (from.custom_calls() != nullptr) {
    for (const fbs::CustomCall* call : *from.custom_calls()) v.custom_calls.push_back(Decode(*call));
  }
  if (from.code_symbols() != nullptr) {
    for (const fbs::CodeSymbol* symbol : *from.code_symbols()) {
      v.code_symbols.push_back({symbol->offset(), symbol->kernel(), symbol->version()});
    }
  }
  if (from.device_kernels() == nullptr) return v;
  for (const fbs::DeviceKernel* kernel : *from.device_kernels()) {
    v.device_kernels.push_back({kernel->symbol()->str(), kernel->threads(), kernel->parameters(), {}});
    if (kernel->maps() == nullptr) continue;
    for (const fbs::TensorMap* map : *kernel->maps()) v.device_kernels.back().maps.push_back(Decode(*map));
  }
  return v;
}

ProgramConstant Decode(const fbs::Constant& from) {
  ProgramConstant c;
  c.name = from.name()->str();
  c.dtype = DTypeOf(from.dtype());
  c.layout = static_cast<ConstantLayout>(from.layout());
  c.dims.assign(from.dims()->begin(), from.dims()->end());
  return c;
}

void DecodeTexts(const fbs::Artifact& root, Program* program) {
  for (const fbs::Symbol* from : *root.symbols()) {
    ProgramSymbol symbol{from->name()->str(), from->min(), from->max(), from->multiple_of(), {}};
    if (from->likely() != nullptr) symbol.likely.assign(from->likely()->begin(), from->likely()->end());
    program->symbols.push_back(std::move(symbol));
  }
  program->checks.reserve(root.checks()->size());
  for (const fbs::Check* check : *root.checks()) {
    program->checks.push_back({check->message()->str(), check->node()->str()});
  }
  const fbs::Provenance& from = *root.provenance();
  program->provenance = {from.tailor_version()->str(), from.llvm_version()->str(), from.graph_name()->str(),
                         from.graph_hash(), from.options()->str()};
  program->facts = Strings(*root.facts());
  program->flush_denormals = root.flush_denormals();
  if (root.visits() == nullptr) return;
  for (const fbs::PassVisits* entry : *root.visits())
    program->visits.push_back({entry->pass()->str(), entry->visits()});
}

// Checks an item's stated place against the end of the items before it.
bool PlaceAsStated(uint64_t offset, uint64_t size, uint64_t* section, std::vector<ItemPlace>* places) {
  places->emplace_back();
  return Place(size, section, &places->back()) && places->back().offset == offset;
}

// Decodes the variants and the places of their images. Returns the problem, or "".
std::string DecodeVariants(const flatbuffers::Vector<Offset<fbs::Variant>>& encoded, Program* program,
                           MetadataPlaces* places) {
  for (const fbs::Variant* from : encoded) {
    program->variants.push_back(Decode(*from));
    Variant& variant = program->variants.back();
    const std::string name = "variant \"" + variant.target + "\": ";
    if (!PlaceAsStated(from->image_offset(), from->image_size(), &places->images_size, &places->images)) {
      return name + "its image is misplaced";
    }
    if (from->costs() != nullptr && !Decode(*from->costs(), &variant.costs)) {
      return name + "a tile of its cost profile is too large";
    }
    if (from->machine_costs() != nullptr) {
      constexpr size_t kMostMachines = 64;
      if (from->machine_costs()->size() > kMostMachines) return name + "it has cost profiles for too many machines";
      for (const fbs::MachineCosts* machine : *from->machine_costs()) {
        variant.machine_costs.push_back({machine->family()->str(), {}});
        if (!Decode(*machine->costs(), &variant.machine_costs.back().costs)) {
          return name + "a tile of its cost profile for " + machine->family()->str() + " is too large";
        }
      }
    }
    if (from->device_images() == nullptr) continue;
    for (const fbs::DeviceImage* image : *from->device_images()) {
      variant.device_images.push_back({image->target()->str(), static_cast<DeviceImageKind>(image->kind()), {}});
      if (!PlaceAsStated(image->offset(), image->size(), &places->images_size, &places->images)) {
        return name + "a device image is misplaced";
      }
    }
  }
  return "";
}

}  // namespace

bool PlaceItems(const Program& program, MetadataPlaces* places) {
  places->constants.resize(program.constants.size());
  bool fits = true;
  ForEachImage(program, [&](std::span<const std::byte> image) {
    places->images.emplace_back();
    fits = fits && Place(image.size(), &places->images_size, &places->images.back());
  });
  for (size_t i = 0; i < program.constants.size(); ++i) {
    fits = fits && Place(program.constants[i].bytes.size(), &places->constants_size, &places->constants[i]);
  }
  return fits;
}

std::vector<uint8_t> EncodeMetadata(const Program& program, const MetadataPlaces& places) {
  FlatBufferBuilder b(4096);
  b.ForceDefaults(true);
  Offsets<fbs::Symbol> symbols;
  for (const ProgramSymbol& s : program.symbols) {
    symbols.push_back(fbs::CreateSymbolDirect(b, s.name.c_str(), s.min, s.max, s.multiple_of, &s.likely));
  }
  Offsets<fbs::Check> checks;
  for (const ProgramCheck& check : program.checks) {
    checks.push_back(fbs::CreateCheckDirect(b, check.message.c_str(), check.node.c_str()));
  }
  const Provenance& from = program.provenance;
  const auto provenance = fbs::CreateProvenanceDirect(b, from.tailor_version.c_str(), from.llvm_version.c_str(),
                                                      from.graph_name.c_str(), from.graph_hash, from.options.c_str());
  const auto inputs = Encode(b, program.inputs);
  const auto outputs = Encode(b, program.outputs);
  const auto constants = Encode(b, program.constants, places.constants);
  const auto variants = Encode(b, program.variants, places.images);
  const auto facts = b.CreateVectorOfStrings(program.facts);
  const auto visits = Encode(b, program.visits);
  fbs::FinishArtifactBuffer(
      b, fbs::CreateArtifact(b, b.CreateVector(symbols), inputs, outputs, b.CreateVector(checks), constants, variants,
                             provenance, facts, visits, program.flush_denormals));
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

std::string DecodeMetadata(std::span<const std::byte> bytes, Program* program, MetadataPlaces* places) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (!fbs::VerifyArtifactBuffer(verifier)) return "not a well-formed FlatBuffer";
  const fbs::Artifact& root = *fbs::GetArtifact(bytes.data());
  DecodedSizeLimit meter(bytes.size());
  meter.Add(root);
  if (meter.problem() != nullptr) return meter.problem();
  if (root.variants()->size() > kMaxVariants) return "it has more than 64 variants";
  DecodeTexts(root, program);
  program->inputs = Decode(*root.inputs());
  program->outputs = Decode(*root.outputs());
  if (std::string problem = DecodeVariants(*root.variants(), program, places); !problem.empty()) return problem;
  for (const fbs::Constant* from : *root.constants()) {
    program->constants.push_back(Decode(*from));
    if (!PlaceAsStated(from->offset(), from->size(), &places->constants_size, &places->constants)) {
      return "constant \"" + program->constants.back().name + "\": its bytes are misplaced";
    }
  }
  return "";
}

}  // namespace tailor
