#include "tools/tune/kernel_pack.h"

#include <cstdio>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "codegen/contract/cost_profile.h"

namespace tailor::tune {
namespace {

constexpr char kMagic[] = "tailor-kernels 1";

// FNV-1a.
uint64_t Checksum(const std::vector<std::byte>& bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error("kernel pack: " + what); }

// Reads a line that begins with `key` up to its words.
std::istringstream Line(std::istringstream& in, const std::string& key) {
  std::string line;
  std::getline(in, line);
  if (line.rfind(key + " ", 0) != 0) Fail("a line of " + key + " is missing");
  return std::istringstream(line.substr(key.size() + 1));
}

PackedKernel ReadKernel(std::istringstream words) {
  PackedKernel kernel;
  char cross = 0;
  words >> kernel.rows >> cross >> kernel.panels >> kernel.offset;
  const bool is_tile = kernel.rows >= 1 && kernel.rows <= CostProfile::kRows && kernel.panels >= 1 &&
                       kernel.panels <= CostProfile::kPanels;
  if (!words || cross != 'x' || !is_tile) Fail("a tile is none");
  return kernel;
}

}  // namespace

std::string KernelPackBytes(const KernelPack& pack) {
  std::ostringstream out;
  out << kMagic << "\ntarget " << pack.target << "\nfeatures ";
  for (const std::string& feature : pack.features) out << feature << " ";
  out << "\n";
  for (const PackedKernel& kernel : pack.kernels) {
    out << "tile " << kernel.rows << "x" << kernel.panels << " " << kernel.offset << "\n";
  }
  out << "code " << pack.code.size() << " " << std::hex << Checksum(pack.code) << "\n";
  out.write(reinterpret_cast<const char*>(pack.code.data()), static_cast<std::streamsize>(pack.code.size()));
  return out.str();
}

KernelPack ParseKernelPack(const std::string& bytes) {
  std::istringstream in(bytes);
  std::string line;
  if (!std::getline(in, line) || line != kMagic) Fail("does not begin with \"" + std::string(kMagic) + "\"");
  KernelPack pack;
  Line(in, "target") >> pack.target;
  std::istringstream features = Line(in, "features");
  for (std::string feature; features >> feature;) pack.features.push_back(feature);
  while (in.peek() == 't') pack.kernels.push_back(ReadKernel(Line(in, "tile")));

  std::istringstream code = Line(in, "code");
  size_t size = 0;
  uint64_t checksum = 0;
  code >> size >> std::hex >> checksum;
  const size_t begin = in.eof() ? bytes.size() : static_cast<size_t>(in.tellg());
  if (!code || size != bytes.size() - begin) Fail("is cut off, or followed by more");
  pack.code.resize(size);
  std::memcpy(pack.code.data(), bytes.data() + begin, size);
  if (Checksum(pack.code) != checksum) Fail("its code is damaged");
  for (const PackedKernel& kernel : pack.kernels) {
    if (kernel.offset >= size) Fail("a tile lies beyond the code");
  }
  return pack;
}

}  // namespace tailor::tune
