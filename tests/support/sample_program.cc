#include "tests/support/sample_program.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "exec/host_abi.h"
#include "serialization/writer.h"

__asm__(
    ".section .rodata\n"
    ".balign 64\n"
    "tailor_sample_image: .incbin \"" TAILOR_SAMPLE_IMAGE
    "\"\n"
    "tailor_sample_image_end: .byte 0\n"
    ".text\n");

extern "C" {
extern const std::byte tailor_sample_image[];
extern const std::byte tailor_sample_image_end[];
}

namespace tailor {
namespace {

alignas(64) constexpr float kScale[4] = {kSampleScale[0], kSampleScale[1], kSampleScale[2], kSampleScale[3]};

const ProgramDim kRows = {0, -1, "N"};
const ProgramDim kColumns = {-1, 4, "4"};

Variant SampleVariant() {
  Variant variant;
  variant.target = "x86-64";
  variant.features = {"sse2"};
  variant.image = {tailor_sample_image, tailor_sample_image_end};
  std::memcpy(&variant.run_offset, tailor_sample_image, 8);
  std::memcpy(&variant.plan_offset, tailor_sample_image + 8, 8);
  variant.shape_cache_slots = 2;
  variant.growable_blocks = 1;
  variant.api_size = sizeof(RtApi);
  variant.context_size = sizeof(RtContext);
  variant.launches = {{"sum_rows", {"always"}, {}, 0}, {"negate", {"always"}, {"d0 >= 2 (more than 1 version)"}, 1}};
  variant.kernel_bytes = {96, 64};
  return variant;
}

std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

Variant SampleDeviceVariant() {
  Variant variant = SampleVariant();
  variant.target = "cuda";
  variant.shape_cache_slots = 6;
  variant.fault_word = 2;
  variant.reads_back = true;
  variant.device_kernels = {{"k0_v0", 256, 5, {}}, {"k1_v0", 32, 0, {}}};
  variant.device_images = {{"sm_90", DeviceImageKind::kCubin,
                            BytesOf("\177ELF and more than 64 bytes of it, so that the next image begins at 128")},
                           {"sm_80", DeviceImageKind::kPtx, BytesOf(std::string_view(".version 7.0\0", 13))},
                           {"simt", DeviceImageKind::kIr, BytesOf("BC\xc0\xde")}};
  return variant;
}

Program SampleProgram() {
  Program program;
  program.symbols = {{"N", 0, 1 << 20, 1, {16}}};
  program.inputs = {{"x", DType::kF32, {kRows, kColumns}}, {"mask", DType::kF32, {kRows}}};
  program.outputs = {{"y", DType::kF32, {kRows, kColumns}}, {"total", DType::kF32, {kRows}}};
  program.checks = {{"input \"x\" dim 1 is {lhs}, expected 4", "scaled"},
                    {"input \"mask\" dim 0 is {lhs}, but N is {rhs} from input \"x\" dim 0", "masked"},
                    {"N is {lhs}, above its largest value 1048576", ""}};
  program.constants = {{"scale", DType::kF32, {4}, ConstantLayout::kRowMajor, std::as_bytes(std::span(kScale))}};
  program.variants = {SampleVariant()};
  program.provenance = {"0.1.0", "none", "sample", 42, "targets=x86-64"};
  program.facts = {"N in [0, 1048576]"};
  program.visits = {{"analyse facts", 12}, {"fuse stitch", 7}};
  return program;
}

AlignedBytes ArtifactOf(const Program& program, const uint8_t* secret_key) {
  AlignedBytes bytes;
  if (Failure f = WriteArtifact(program, {secret_key}, &bytes); !f.ok()) {
    std::fprintf(stderr, "%s\n", f.message.c_str());
    std::abort();
  }
  return bytes;
}

AlignedBytes SampleArtifact() { return ArtifactOf(SampleProgram()); }

}  // namespace tailor
