#include "tests/codegen/lower/host_programs.h"

#include "absl/strings/str_cat.h"
#include "graph/text.h"

namespace tailor::lower {

std::string HostPrograms(const std::string& text, const std::vector<bool>& donated) {
  auto parsed = ParseGraph(text);
  if (!parsed.ok()) return parsed.status().ToString();
  auto lowered = LowerGraph(*parsed, TargetTraits{}, {donated});
  if (!lowered.ok()) return lowered.status().ToString();
  std::string out = "\n";
  for (size_t i = 0; i < lowered->programs.size(); ++i) {
    absl::StrAppend(&out, "program ", i, "\n", lowered->programs[i].Text());
  }
  return out;
}

std::string Lowered(const std::string& text, const LowerOptions& options, const TargetTraits& traits) {
  auto parsed = ParseGraph(text);
  if (!parsed.ok()) return parsed.status().ToString();
  auto lowered = LowerGraph(*parsed, traits, options);
  if (!lowered.ok()) return lowered.status().ToString();
  std::string out = "\n";
  for (const KernelPlan& kernel : lowered->kernels) out += kernel.name + ": " + kernel.Text();
  const std::string host = lowered->programs[0].Text();
  for (size_t at = 0; at < host.size();) {
    const std::string line = host.substr(at, host.find('\n', at) + 1 - at);
    if (line.rfind("alloc", 0) == 0 || line.rfind("launch", 0) == 0 || line.rfind("matmul", 0) == 0) out += line;
    at += line.size();
  }
  return out;
}

}  // namespace tailor::lower
