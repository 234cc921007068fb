#include "codegen/cuda/ptx/assembler.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/cuda/ptx/assemble.h"
#include "codegen/cuda/ptx/nv_jit_link.h"

namespace tailor::cuda {
namespace {

constexpr absl::string_view kFatalNotes[] = {"(C7504)", "(C7508)", "(C7509)", "(C7511)", "(C7515)"};

// The part of `line` after `before`, up to `after`; empty if `before` is absent.
absl::string_view Between(absl::string_view line, absl::string_view before, absl::string_view after) {
  const size_t found = line.find(before);
  if (found == absl::string_view::npos) return {};
  line.remove_prefix(found + before.size());
  return line.substr(0, line.find(after));
}

bool Spills(absl::string_view line) {
  return absl::StrContains(line, "bytes spill") &&
         !absl::StrContains(line, " 0 bytes spill stores, 0 bytes spill loads");
}

bool IsFatal(absl::string_view line) {
  return Spills(line) || std::any_of(std::begin(kFatalNotes), std::end(kFatalNotes),
                                     [&](absl::string_view note) { return absl::StrContains(line, note); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Assembler>> FindAssembler() {
  const char* only = std::getenv("TAILOR_ASSEMBLER");
  const auto wanted = [&](absl::string_view name) { return only == nullptr || name == only; };
  std::vector<std::string> problems;
  if (wanted("nvjitlink")) {
    auto found = LoadNvJitLink();
    if (found.ok() || std::getenv("TAILOR_NVJITLINK") != nullptr) return found;
    problems.push_back(std::string(found.status().message()));
  }
  if (wanted("ptxas")) {
    auto path = FindPtxas();
    if (path.ok()) return MakePtxas(*std::move(path));
    problems.push_back(std::string(path.status().message()));
  }
  if (problems.empty()) problems.push_back(absl::StrCat("TAILOR_ASSEMBLER is ", only));
  return absl::NotFoundError(absl::StrJoin(problems, "; "));
}

std::string AssemblerProblem::Summary() const {
  if (!spills) return absl::StrCat("the assembler notes ", Between(note, "(", ")"));
  const absl::string_view before = absl::string_view(note).substr(0, note.find(" bytes spill stores"));
  return absl::StrCat("its registers spill, ", before.substr(before.rfind(' ') + 1), " bytes");
}

std::vector<AssemblerProblem> FindProblems(absl::string_view log) {
  std::vector<AssemblerProblem> problems;
  std::string kernel;
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    for (absl::string_view before : {"entry function '", "Function properties for "}) {
      const absl::string_view named = Between(line, before, "'");
      if (!named.empty()) kernel = std::string(named);
    }
    if (!IsFatal(line)) continue;
    const absl::string_view named = Between(line, "function '", "'");
    problems.push_back(
        {named.empty() ? kernel : std::string(named), std::string(absl::StripAsciiWhitespace(line)), Spills(line)});
  }
  return problems;
}

absl::Status ToStatus(const std::vector<AssemblerProblem>& problems) {
  if (problems.empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrJoin(problems, "; ", [](std::string* out, const AssemblerProblem& problem) {
    absl::StrAppend(out, "kernel ", problem.kernel, ": ", problem.note);
  }));
}

}  // namespace tailor::cuda
