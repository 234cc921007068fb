#include "serialization/metadata.h"

#include <gtest/gtest.h>

#include <cstring>

#include "artifact_generated.h"
#include "serialization/aligned_bytes.h"
#include "tests/support/sample_program.h"

namespace tailor {
namespace {

// Encodes with the given places and decodes again; the problem, or "".
std::string RoundTrip(const Program& program, const MetadataPlaces& places, Program* out) {
  const std::vector<uint8_t> encoded = EncodeMetadata(program, places);
  AlignedBytes aligned(encoded.size());
  std::memcpy(aligned.data(), encoded.data(), encoded.size());
  MetadataPlaces decoded;
  std::string problem = DecodeMetadata(aligned.span(), out, &decoded);
  if (problem.empty()) {
    EXPECT_EQ(decoded.images_size, places.images_size);
    EXPECT_EQ(decoded.constants_size, places.constants_size);
  }
  return problem;
}

MetadataPlaces PlacesOf(const Program& program) {
  MetadataPlaces places;
  EXPECT_TRUE(PlaceItems(program, &places));
  return places;
}

TEST(Metadata, KeepsEveryField) {
  Program program = SampleProgram();
  program.symbols.push_back({"S", 3, 99, 3, {}});
  program.inputs[0].dims[1] = {-1, -1, "4*S + 1"};
  program.constants.push_back({"w", DType::kBF16, {2, 5, 7}, ConstantLayout::kWordPanels16, {}});
  program.variants[0].features = {"avx2", "fma"};
  CostProfile& costs = program.variants[0].costs;
  costs.cached_bytes = 1, costs.line_ns = 2, costs.fetch_overlap = 3, costs.chunk_ns = 4, costs.fork_ns = 5,
  costs.margin = 6;
  costs.prefetch_distance = 13, costs.Of(1, 8) = {7, 8, 9, 0}, costs.Of(16, 1) = {10, 11, 12, 0};
  program.variants[0].machine_costs = {{"AuthenticAMD 25", costs}, {"GenuineIntel 6", {}}};
  program.variants[0].machine_costs[0].costs.line_ns = 14;
  Program read;
  program.inputs[1].donated = true;
  program.outputs[1].memory_of = 1;
  program.flush_denormals = true;
  ASSERT_EQ(RoundTrip(program, PlacesOf(program), &read), "");
  ASSERT_EQ(read.symbols.size(), 2u);
  EXPECT_EQ(read.symbols[0].likely, std::vector<int64_t>{16});
  EXPECT_EQ(read.symbols[1].name, "S");
  EXPECT_EQ(read.symbols[1].min, 3);
  EXPECT_EQ(read.symbols[1].max, 99);
  EXPECT_EQ(read.symbols[1].multiple_of, 3);
  EXPECT_EQ(read.inputs[0].name, "x");
  EXPECT_EQ(read.inputs[0].dtype, DType::kF32);
  EXPECT_EQ(read.inputs[0].dims[0].symbol, 0);
  EXPECT_EQ(read.inputs[0].dims[0].text, "N");
  EXPECT_EQ(read.inputs[0].dims[1].symbol, -1);
  EXPECT_EQ(read.inputs[0].dims[1].dim_size, -1);
  EXPECT_EQ(read.inputs[0].dims[1].text, "4*S + 1");
  EXPECT_FALSE(read.inputs[0].donated);
  EXPECT_TRUE(read.inputs[1].donated);
  EXPECT_EQ(read.outputs[0].memory_of, -1);
  EXPECT_EQ(read.outputs[1].memory_of, 1);
  EXPECT_EQ(read.outputs[1].name, "total");
  EXPECT_EQ(read.checks[1].message, program.checks[1].message);
  EXPECT_EQ(read.checks[1].node, "masked");
  EXPECT_EQ(read.constants[1].name, "w");
  EXPECT_EQ(read.constants[1].dtype, DType::kBF16);
  EXPECT_EQ(read.constants[1].dims, (std::vector<int64_t>{2, 5, 7}));
  EXPECT_EQ(read.constants[1].layout, ConstantLayout::kWordPanels16);
  const Variant &from = program.variants[0], &to = read.variants[0];
  EXPECT_EQ(to.target, from.target);
  EXPECT_EQ(to.features, from.features);
  EXPECT_EQ(to.run_offset, from.run_offset);
  EXPECT_EQ(to.plan_offset, from.plan_offset);
  EXPECT_EQ(to.shape_cache_slots, from.shape_cache_slots);
  EXPECT_EQ(to.growable_blocks, from.growable_blocks);
  EXPECT_EQ(to.api_size, from.api_size);
  EXPECT_EQ(to.context_size, from.context_size);
  EXPECT_EQ(to.launches[1].kernel, "negate");
  EXPECT_EQ(to.launches[1].versions, std::vector<std::string>{"always"});
  EXPECT_EQ(to.launches[1].dropped, from.launches[1].dropped);
  EXPECT_EQ(to.launches[1].code, 1);
  EXPECT_EQ(to.kernel_bytes, from.kernel_bytes);
  EXPECT_EQ(std::memcmp(&to.costs, &from.costs, sizeof(CostProfile)), 0);
  ASSERT_EQ(to.machine_costs.size(), 2u);
  EXPECT_EQ(to.machine_costs[0].family, "AuthenticAMD 25");
  EXPECT_EQ(std::memcmp(&to.machine_costs[0].costs, &from.machine_costs[0].costs, sizeof(CostProfile)), 0);
  EXPECT_FALSE(to.machine_costs[1].costs.Of(6, 4).known());
  EXPECT_EQ(read.provenance.graph_name, "sample");
  EXPECT_EQ(read.provenance.graph_hash, 42u);
  EXPECT_EQ(read.provenance.options, "targets=x86-64");
  EXPECT_EQ(read.facts, program.facts);
  ASSERT_EQ(read.visits.size(), 2u);
  EXPECT_EQ(read.visits[1].pass, "fuse stitch");
  EXPECT_EQ(read.visits[1].visits, 7u);
  EXPECT_TRUE(read.flush_denormals);
}

TEST(Metadata, KeepsWhatIsForADevice) {
  Program program = SampleProgram();
  program.variants.insert(program.variants.begin(), SampleDeviceVariant());
  program.variants[0].outputs_to_copy = {0};
  program.variants[0].offers_products = true;
  program.variants[0].code_symbols = {{0, 3, 1}, {0x40, -1, -1}};
  program.variants[0].custom_calls = {
      {"my.op", "{\"k\": 1}", "node 3", {{DType::kF32, 2}}, {{DType::kI64, 0}, {DType::kBool, 8}}}};
  const TensorMap map{
      .address = 1, .factors = {{0, -1, 16}, {1, 3, 1}, {2, 4, 16}}, .box = {16, 64, 8}, .swizzle_bytes = 32};
  program.variants[0].device_kernels[0].maps = {map, {.box = {64, 1, 128}, .swizzle_bytes = 128}, {.box = {256, 4, 8}}};
  Program read;
  ASSERT_EQ(RoundTrip(program, PlacesOf(program), &read), "");
  const Variant &from = program.variants[0], &to = read.variants[0];
  ASSERT_EQ(to.device_images.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(to.device_images[i].target, from.device_images[i].target);
    EXPECT_EQ(to.device_images[i].kind, from.device_images[i].kind);
  }
  ASSERT_EQ(to.device_kernels.size(), 2u);
  EXPECT_EQ(to.device_kernels[0].symbol, "k0_v0");
  EXPECT_EQ(to.device_kernels[0].threads, 256);
  EXPECT_EQ(to.device_kernels[0].parameters, 5);
  EXPECT_EQ(to.device_kernels[0].maps, from.device_kernels[0].maps);
  EXPECT_TRUE(to.device_kernels[1].maps.empty());
  EXPECT_EQ(to.fault_word, 2);
  EXPECT_TRUE(to.reads_back);
  EXPECT_EQ(to.outputs_to_copy, (std::vector<int32_t>{0}));
  EXPECT_EQ(read.variants[1].fault_word, -1);
  EXPECT_FALSE(read.variants[1].reads_back);
  EXPECT_TRUE(to.offers_products);
  EXPECT_EQ(to.code_symbols, from.code_symbols);
  EXPECT_TRUE(read.variants[1].code_symbols.empty());
  ASSERT_EQ(to.custom_calls.size(), 1u);
  const ProgramCustomCall& call = to.custom_calls[0];
  EXPECT_EQ(call.name + call.attributes + call.node, "my.op{\"k\": 1}node 3");
  ASSERT_EQ(call.operands.size() + call.results.size(), 3u);
  EXPECT_EQ(call.operands[0].rank, 2);
  EXPECT_EQ(call.results[1].dtype, DType::kBool);
  EXPECT_EQ(call.results[1].rank, 8);
  EXPECT_TRUE(read.variants[1].custom_calls.empty());
  EXPECT_FALSE(read.variants[1].offers_products);
  EXPECT_TRUE(read.variants[1].device_images.empty());
}

TEST(Metadata, DeviceImagesFollowTheirHostProgram) {
  Program program = SampleProgram();
  program.variants.insert(program.variants.begin(), SampleDeviceVariant());
  MetadataPlaces places = PlacesOf(program);
  ASSERT_EQ(places.images.size(), 5u);
  EXPECT_EQ(places.images[2].offset, places.images[1].offset + 128);
  places.images[2].offset += 64;
  Program read;
  EXPECT_EQ(RoundTrip(program, places, &read), "variant \"cuda\": a device image is misplaced");
}

TEST(Metadata, ItemsAreWhereThoseBeforeThemEnd) {
  const Program program = SampleProgram();
  Program read;
  MetadataPlaces places = PlacesOf(program);
  places.constants[0].offset = 64;
  EXPECT_EQ(RoundTrip(program, places, &read), "constant \"scale\": its bytes are misplaced");
  places = PlacesOf(program);
  places.images[0].offset = 1;
  read = {};
  EXPECT_EQ(RoundTrip(program, places, &read), "variant \"x86-64\": its image is misplaced");
  places = PlacesOf(program);
  places.images[0].size = UINT64_MAX - 10;
  read = {};
  EXPECT_EQ(RoundTrip(program, places, &read), "variant \"x86-64\": its image is misplaced");
}

TEST(Metadata, SizesThatLeaveUint64AreFound) {
  Program program = SampleProgram();
  const std::byte* base = program.constants[0].bytes.data();
  program.constants.push_back(program.constants[0]);
  program.constants[0].bytes = {base, SIZE_MAX / 2 + 1};
  program.constants[1].bytes = {base, SIZE_MAX / 2 + 1};
  MetadataPlaces places;
  EXPECT_FALSE(PlaceItems(program, &places));
}

TEST(Metadata, NoiseIsNotMetadata) {
  AlignedBytes noise(256);
  std::memset(noise.data(), 0x5a, noise.size());
  Program read;
  MetadataPlaces places;
  EXPECT_EQ(DecodeMetadata(noise.span(), &read, &places), "not a well-formed FlatBuffer");
  EXPECT_EQ(DecodeMetadata({}, &read, &places), "not a well-formed FlatBuffer");
}

// The metadata of `program`, to be changed by hand.
AlignedBytes Encoded(const Program& program) {
  const std::vector<uint8_t> encoded = EncodeMetadata(program, PlacesOf(program));
  AlignedBytes aligned(encoded.size());
  std::memcpy(aligned.data(), encoded.data(), encoded.size());
  return aligned;
}

// Points the offset at `from` to `to`, which lies behind it.
void Point(const void* from, const void* to) {
  const auto distance = static_cast<const uint8_t*>(to) - static_cast<const uint8_t*>(from);
  flatbuffers::WriteScalar(const_cast<void*>(from), static_cast<flatbuffers::uoffset_t>(distance));
}

// Makes every item of a vector the first, which lies behind all others since it was written before them.
template <typename T>
void ShareFirst(const flatbuffers::Vector<flatbuffers::Offset<T>>& items) {
  for (uint32_t i = 1; i < items.size(); ++i) Point(items.Data() + i * 4, items.Get(0));
}

// What decoding says of bytes that the verifier accepts, and that it has unpacked nothing.
std::string Refusal(const AlignedBytes& bytes) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  EXPECT_TRUE(fbs::VerifyArtifactBuffer(verifier));
  Program read;
  MetadataPlaces places;
  std::string problem = DecodeMetadata(bytes.span(), &read, &places);
  if (!problem.empty()) {
    EXPECT_TRUE(read.facts.empty() && read.checks.empty() && read.symbols.empty() && read.variants.empty());
  }
  return problem;
}

constexpr auto kShared = "it unpacks to more than it has: parts of it are shared";

// 4 bytes a mention of 100 KB: 40 KB more would be 1 GB.
TEST(Metadata, TextsThatAreSharedAreRefusedBeforeTheyUnpack) {
  Program program = SampleProgram();
  program.facts.assign(10000, "");
  program.facts[0].assign(100000, 'x');
  const AlignedBytes bytes = Encoded(program);
  EXPECT_EQ(Refusal(bytes), "");
  ShareFirst(*fbs::GetArtifact(bytes.data())->facts());
  EXPECT_EQ(Refusal(bytes), kShared);
}

TEST(Metadata, TablesThatAreSharedAreRefusedBeforeTheyUnpack) {
  Program program = SampleProgram();
  program.checks.assign(1000, {"m", ""});
  program.checks[0].message.assign(100000, 'x');
  AlignedBytes bytes = Encoded(program);
  EXPECT_EQ(Refusal(bytes), "");
  ShareFirst(*fbs::GetArtifact(bytes.data())->checks());
  EXPECT_EQ(Refusal(bytes), kShared);

  program = SampleProgram();
  program.variants[0].launches.resize(100, program.variants[0].launches[0]);
  program.variants[0].launches[0].versions.assign(1000, "always");
  bytes = Encoded(program);
  EXPECT_EQ(Refusal(bytes), "");
  ShareFirst(*fbs::GetArtifact(bytes.data())->variants()->Get(0)->launches());
  EXPECT_EQ(Refusal(bytes), kShared);
}

TEST(Metadata, VariantsAreFew) {
  Program program = SampleProgram();
  program.variants.resize(64, program.variants[0]);
  EXPECT_EQ(Refusal(Encoded(program)), "");
  program.variants.push_back(program.variants[0]);
  EXPECT_EQ(Refusal(Encoded(program)), "it has more than 64 variants");
}

// One that begins 4 bytes later than it was written: its first element is its length then.
TEST(Metadata, VectorsOfWordsThatAreNotAlignedAreRefused) {
  constexpr auto kUnaligned = "a vector is not aligned as its elements are";
  Program program = SampleProgram();
  program.symbols[0].likely = {1, 5, 6};
  program.variants[0].kernel_bytes = {1, 5, 6};
  program.constants[0].dims = {1, 5, 6};
  const auto shift = [&](auto find) {
    const AlignedBytes bytes = Encoded(program);
    const auto [table, field] = find(*fbs::GetArtifact(bytes.data()));
    const uint8_t* at = reinterpret_cast<const flatbuffers::Table*>(table)->GetAddressOf(field);
    Point(at, at + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(at) + 4);
    return Refusal(bytes);
  };
  using Found = std::pair<const void*, flatbuffers::voffset_t>;
  EXPECT_EQ(shift([](const fbs::Artifact& a) { return Found(a.symbols()->Get(0), fbs::Symbol::VT_LIKELY); }),
            kUnaligned);
  EXPECT_EQ(shift([](const fbs::Artifact& a) { return Found(a.variants()->Get(0), fbs::Variant::VT_KERNEL_BYTES); }),
            kUnaligned);
  EXPECT_EQ(shift([](const fbs::Artifact& a) { return Found(a.constants()->Get(0), fbs::Constant::VT_DIMS); }),
            kUnaligned);
}

}  // namespace
}  // namespace tailor
