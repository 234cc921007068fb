// A target's code, which owns what Variant points to, and its description.
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
  Variant variant;  // its image is that of `image`, its device images are to be those below
  Image image;
  std::vector<OwnedDeviceImage> device_images;  // in the order in which a device should try them
  std::string assembler;                        // what made them, or why nothing did; empty where there are none
};

// The entries that every LinkImage of a variant is asked for.
std::vector<std::string> HostEntries();

// A variant of this image, with its entry points, shape cache, launches and their versions. Target, features, api_size and all
// that is of one kind of machine are left. `dropped` by kernel.
CompiledVariant DescribeVariant(const lower::LoweredProgram& program, const std::vector<host::EmittedKernel>& kernels,
                                const std::vector<DroppedVersions>& dropped, const host::HostEmission& host,
                                Image image);

}  // namespace tailor::backend

#endif  // TAILOR_CODEGEN_BACKEND_COMPILED_VARIANT_H_
