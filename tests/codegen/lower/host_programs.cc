#include "tests/codegen/lower/host_programs.h"

#include "absl/strings/str_cat.h"
#include "codegen/lower/lower_graph.h"
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

}  // namespace tailor::lower
