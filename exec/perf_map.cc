#include "exec/perf_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <system_error>

namespace tailor {
namespace {

// Of the first launch of the kernel.
std::string KernelName(const Variant& variant, const CodeSymbol& symbol) {
  if (symbol.kernel == CodeSymbol::kMicroKernel) return "micro-kernel";
  if (symbol.kernel == CodeSymbol::kRowsOfChains) return "rows of chains";
  for (const ProgramLaunch& launch : variant.launches) {
    if (launch.code != symbol.kernel) continue;
    return symbol.version < 0 ? launch.kernel : launch.kernel + " v" + std::to_string(symbol.version);
  }
  return "host program";
}

}  // namespace

std::string PerfMapLines(const Program& program, const Variant& variant, uintptr_t base) {
  std::string lines;
  const uint64_t end = variant.image.size();
  for (size_t i = 0; i < variant.code_symbols.size(); ++i) {
    const CodeSymbol& symbol = variant.code_symbols[i];
    const uint64_t next = i + 1 < variant.code_symbols.size() ? variant.code_symbols[i + 1].offset : end;
    if (symbol.offset >= next || next > end) continue;  // the artifact's metadata is damaged
    char place[64];
    std::snprintf(place, sizeof(place), "%" PRIxPTR " %" PRIx64 " ", base + symbol.offset, next - symbol.offset);
    lines += place + program.provenance.graph_name + ": " + KernelName(variant, symbol) + "\n";
  }
  return lines;
}

Failure AppendPerfMap(const std::string& lines) {
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  const bool written = file >= 0 && write(file, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
  const int reason = errno;
  if (file >= 0) close(file);
  if (written) return {};
  return {Code::kInternal, "cannot write " + path + ": " + std::generic_category().message(reason), ""};
}

}  // namespace tailor
