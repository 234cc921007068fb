#include "tests/support/levels.h"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exec/cpu_features.h"
#include "llvm-c/Disassembler.h"
#include "llvm-c/Target.h"
#include "llvm/Object/ELFObjectFile.h"

namespace tailor {
namespace {

constexpr char kTriple[] = "x86_64-unknown-linux-gnu";

struct Extension {
  const char* feature;       // LLVM's name
  const char* instructions;  // what the text of its instructions matches
};

// Extensions whose instructions LLVM selects without being asked by an intrinsic. The longer patterns are for
// encodings: any VEX mnemonic, any register or mask of AVX-512. tzcnt is left out: rep bsf, which every CPU runs,
// disassembles so.
constexpr Extension kExtensions[] = {
    {"avx", R"(^v(?!err|erw|mcall|mload|mxon).*)"},
    {"bmi2", R"(^(bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx)[lq]?\s.*)"},
    {"bmi", R"(^(andn|bextr|blsi|blsmsk|blsr)[ql]?\s.*)"},
    {"lzcnt", R"(^lzcnt.*)"},
    {"movbe", R"(^movbe.*)"},
    {"fma", R"(^vfn?m(add|sub).*)"},
    {"f16c", R"(^vcvt(ph2ps|ps2ph)\s.*)"},
    {"avx512f", R"(.*(%zmm|%k[0-7]|%[xy]mm(1[6-9]|2[0-9]|3[01])).*)"},
    {"avx512bf16", R"(^v(dpbf16ps|cvtne2?ps2bf16).*)"},
    {"avx512vnni", R"(^vpdp(bus|wss)ds?\s.*)"},
    {"avx512vbmi", R"(^vperm(b|i2b|t2b)\s.*)"},
    {"avx512vbmi2", R"(^vp(compress|expand)[bw]\s.*|^vpsh[lr]d.*)"},
    {"avx512bitalg", R"(^vpopcnt[bw]\s.*)"},
    {"avx512vpopcntdq", R"(^vpopcnt[dq]\s.*)"},
    {"avx512ifma", R"(^vpmadd52.*)"},
    {"avx512fp16", R"(^v(add|sub|mul|div|fmadd|max|min)[a-z0-9]*(ph|sh)\s.*)"},
    {"gfni", R"(^v?gf2p8.*)"},
    {"amx-tile", R"(^(ldtilecfg|tile.*|tdp.*))"},
};

// Patterns of the extensions that `target` does not list.
std::vector<std::regex> PatternsBeyond(const CpuTarget& target) {
  std::vector<std::regex> patterns;
  for (const Extension& extension : kExtensions) {
    const bool listed = std::count(target.features.begin(), target.features.end(), extension.feature) > 0;
    if (!listed) patterns.emplace_back(extension.instructions);
  }
  return patterns;
}

std::string FirstMatch(llvm::StringRef code, const std::vector<std::regex>& patterns, LLVMDisasmContextRef context) {
  std::vector<uint8_t> bytes(code.bytes_begin(), code.bytes_end());
  std::set<std::string> seen;  // most instructions stand in a kernel many times
  for (size_t at = 0; at < bytes.size();) {
    char text[256];
    const size_t size = LLVMDisasmInstruction(context, bytes.data() + at, bytes.size() - at, at, text, sizeof text);
    if (size == 0) return absl::StrCat("bytes that are no instruction at ", at);
    at += size;
    std::string instruction(text + std::min(strspn(text, " \t"), strlen(text)));
    if (!seen.insert(instruction).second) continue;
    for (const std::regex& pattern : patterns) {
      if (std::regex_match(instruction, pattern)) return instruction;
    }
  }
  return "";
}

}  // namespace

std::string WhyNotHere(const CpuTarget& target) {
  const std::vector<std::string> missing = MissingFeatures(ThisCpu(), target.features);
  if (missing.empty()) return "";
  return absl::StrCat(target.name, " cannot be executed: this CPU lacks ", absl::StrJoin(missing, ", "));
}

bool RunsOrSays(const std::string& level) {
  static auto& reasons = *new std::map<std::string, std::string>;
  const auto [known, first] = reasons.emplace(level, "");
  if (first) {
    known->second = WhyNotHere(*FindCpuTarget(level));
    if (!known->second.empty()) std::cout << "[  SKIPPED ] " << known->second << "\n";
  }
  return known->second.empty();
}

std::string InstructionBeyond(const llvm::MemoryBuffer& object, const CpuTarget& target) {
  static const bool initialised = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    return true;
  }();
  (void)initialised;
  auto file = llvm::object::ObjectFile::createObjectFile(object.getMemBufferRef());
  if (!file) return "an object that cannot be read: " + llvm::toString(file.takeError());
  // The disassembler of a machine that has everything: what it reads is held against the patterns.
  const std::unique_ptr<void, void (*)(void*)> context(
      LLVMCreateDisasmCPU(kTriple, "sapphirerapids", nullptr, 0, nullptr, nullptr), LLVMDisasmDispose);
  if (context == nullptr) return "LLVM has no disassembler for x86-64";
  const std::vector<std::regex> patterns = PatternsBeyond(target);
  for (const llvm::object::SectionRef& section : (*file)->sections()) {
    if (!section.isText()) continue;
    auto code = section.getContents();
    if (!code) return "a section that cannot be read: " + llvm::toString(code.takeError());
    std::string found = FirstMatch(*code, patterns, context.get());
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace tailor
