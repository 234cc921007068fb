#include "exec/cuda/image.h"

#include <charconv>
#include <string_view>
#include <tuple>

namespace tailor {
namespace {

// The parsed name of a target: "sm_90a" is major 9, minor 0, exact.
struct Target {
  int major = 0;
  int minor = 0;
  bool exact = false;
};

bool ParseTarget(std::string_view text, Target* out) {
  constexpr std::string_view kPrefix = "sm_";
  if (!text.starts_with(kPrefix)) return false;
  text.remove_prefix(kPrefix.size());
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto rest = static_cast<size_t>(text.data() + text.size() - end);
  if (error != std::errc() || number < 10 || rest > 1) return false;
  *out = {number / 10, number % 10, rest == 1};
  return true;
}

bool MayRun(const CudaArchitecture& device, const DeviceImage& image) {
  Target target;
  if (image.kind == DeviceImageKind::kIr) return device.emulated;
  if (!ParseTarget(image.target, &target)) return false;
  if (target.exact) return target.major == device.major && target.minor == device.minor;
  if (image.kind == DeviceImageKind::kCubin) return target.major == device.major && target.minor <= device.minor;
  return std::tie(target.major, target.minor) <= std::tie(device.major, device.minor);
}

const char* KindName(DeviceImageKind kind) {
  return kind == DeviceImageKind::kCubin ? "cubin" : kind == DeviceImageKind::kPtx ? "ptx" : "ir";
}

}  // namespace

std::string NameOf(const CudaArchitecture& architecture) {
  return "sm_" + std::to_string(architecture.major * 10 + architecture.minor);
}

std::vector<size_t> ImagesFor(const CudaArchitecture& device, const std::vector<DeviceImage>& images) {
  std::vector<size_t> found;
  for (const DeviceImageKind kind : {DeviceImageKind::kIr, DeviceImageKind::kCubin, DeviceImageKind::kPtx}) {
    for (size_t i = 0; i < images.size(); ++i) {
      if (images[i].kind == kind && MayRun(device, images[i])) found.push_back(i);
    }
  }
  return found;
}

std::string ListImages(const std::vector<DeviceImage>& images) {
  std::string list;
  for (const DeviceImage& image : images) {
    list += (list.empty() ? "" : ", ") + std::string(KindName(image.kind)) + " " + image.target;
  }
  return list;
}

}  // namespace tailor
