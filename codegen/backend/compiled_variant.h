// The compiled code of one target, with the memory that its Variant points to.
#ifndef TAILOR_CODEGEN_BACKEND_COMPILED_VARIANT_H_
#define TAILOR_CODEGEN_BACKEND_COMPILED_VARIANT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "codegen/backend/code_bounds.h"
#include "codegen/contract/program.h"
#include "codegen/host/emit/emit_host.h"
#include "codegen/link/link.h"
#include "codegen/lower/lowered_program.h"

namespace tailor::backend {

// A DeviceImage that owns its bytes.
struct OwnedDeviceImage {
  std::string target;
  DeviceImageKind kind = DeviceImageKind::kCubin;
  std::vector<std::byte> bytes;
};

struct CompiledVariant {
  Variant variant;  // `image` and `device_images` below back its spans
  Image image;
  std::vector<OwnedDeviceImage> device_images;  // in the order of preference
  std::string assembler;                        // that made them, or the reason why none did; empty without images
};

// The entry symbols for LinkImage of a variant.
std::vector<std::string> HostEntries();

// Describes a variant: image, entry points, shape cache, launches and their versions. Does not set target, features and
// backend-specific fields. `dropped` is by kernel.
CompiledVariant DescribeVariant(const lower::LoweredProgram& program, const std::vector<host::EmittedKernel>& kernels,
                                const std::vector<DroppedVersions>& dropped, const host::HostEmission& host,
                                Image image);

}  // namespace tailor::backend

#endif  // TAILOR_CODEGEN_BACKEND_COMPILED_VARIANT_H_
