// What a variant says of its host program, wherever its kernels run.
#ifndef TAILOR_CODEGEN_DESCRIBE_VARIANT_H_
#define TAILOR_CODEGEN_DESCRIBE_VARIANT_H_

#include <string>
#include <vector>

#include "codegen/build_host_program.h"
#include "codegen/code_bounds.h"
#include "codegen/cuda/device_images.h"
#include "codegen/emit_host.h"
#include "codegen/link.h"
#include "codegen/program.h"

namespace tailor {

struct CompiledVariant {
  Variant variant;  // its image is that of `image`, its device images are to be those below
  Image image;
  std::vector<BuiltDeviceImage> device_images;
  std::string assembler;  // DeviceImages::assembler; empty on the host
};

// The entries that every LinkImage of a variant is asked for.
std::vector<std::string> HostEntries();

// A variant of this image, with its entry points, memo, launches and their versions. Target, features, api_size and all
// that is of one kind of machine are left. `dropped` by kernel.
CompiledVariant DescribeVariant(const LoweredProgram& program, const std::vector<EmittedKernel>& kernels,
                                const std::vector<DroppedVersions>& dropped, const HostEmission& host, Image image);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_DESCRIBE_VARIANT_H_
