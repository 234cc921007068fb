#include "codegen/contract/cost_profile.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

namespace tailor {
namespace {

struct Field {
  std::string_view name;
  float CostProfile::*value;
};
constexpr Field kFields[] = {
    {"cached_bytes", &CostProfile::cached_bytes},
    {"line", &CostProfile::line_ns},
    {"hidden", &CostProfile::fetch_overlap},
    {"task", &CostProfile::chunk_ns},
    {"region", &CostProfile::fork_ns},
    {"margin", &CostProfile::margin},
    {"ahead", &CostProfile::prefetch_distance},
};

// Removes and returns the first word of `rest`.
std::string_view Word(std::string_view& rest) {
  const size_t begin = std::min(rest.find_first_not_of(" \t\r"), rest.size());
  const size_t end = std::min(rest.find_first_of(" \t\r", begin), rest.size());
  const std::string_view word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return word;
}

template <typename T>
bool ReadNumber(std::string_view word, T* value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *value);
  return error == std::errc() && end == word.data() + word.size();
}

bool ReadCost(std::string_view word, float* cost) {
  return ReadNumber(word, cost) && std::isfinite(*cost) && *cost >= 0;
}

bool ReadShape(std::string_view word, int* rows, int* panels) {
  const size_t cross = word.find('x');
  return cross != word.npos && ReadNumber(word.substr(0, cross), rows) && ReadNumber(word.substr(cross + 1), panels) &&
         *rows >= 1 && *rows <= CostProfile::kRows && *panels >= 1 && *panels <= CostProfile::kPanels;
}

// Parses a non-empty line into `profile`. Returns the error, or "".
std::string ReadLine(std::string_view line, CostProfile* profile) {
  const std::string_view key = Word(line);
  if (key == "tile") {
    int rows, panels;
    TileCost cost;
    if (!ReadShape(Word(line), &rows, &panels)) return "a tile is at most 16x8, as in \"tile 6x4 ...\"";
    for (float* number : {&cost.fixed, &cost.near_step, &cost.far_step}) {
      if (!ReadCost(Word(line), number)) return "a tile has three costs, none negative";
    }
    profile->Of(rows, panels) = cost;
  } else {
    const Field* found = nullptr;
    for (const Field& field : kFields) {
      if (field.name == key) found = &field;
    }
    if (found == nullptr) return "unknown entry \"" + std::string(key) + "\"";
    if (!ReadCost(Word(line), &(profile->*found->value))) return std::string(key) + " is a number, not negative";
    const bool whole = std::floor(profile->prefetch_distance) == profile->prefetch_distance;
    if (!whole || profile->prefetch_distance > CostProfile::kMaxPrefetchDistance)
      return "ahead is a whole number below 16384";
  }
  return Word(line).empty() ? "" : "more on the line than belongs there";
}

std::string NumberText(float value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

}  // namespace

std::string CostProfileText(const CostProfile& profile) {
  std::string text;
  for (const Field& field : kFields) {
    text += std::string(field.name) + " " + NumberText(profile.*field.value) + "\n";
  }
  for (int rows = 1; rows <= CostProfile::kRows; ++rows) {
    for (int panels = 1; panels <= CostProfile::kPanels; ++panels) {
      const TileCost& cost = profile.Of(rows, panels);
      if (!cost.known()) continue;
      text += "tile " + std::to_string(rows) + "x" + std::to_string(panels);
      for (const float number : {cost.fixed, cost.near_step, cost.far_step}) text += " " + NumberText(number);
      text += "\n";
    }
  }
  return text;
}

std::string ParseCostProfile(std::string_view text, CostProfile* out) {
  CostProfile profile;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, std::min(end, text.find('#')));
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string_view rest = line;
    if (Word(rest).empty()) continue;
    if (std::string wrong = ReadLine(line, &profile); !wrong.empty()) {
      return "line " + std::to_string(number) + ": " + wrong;
    }
  }
  *out = profile;
  return "";
}

const CostProfile& CostsForFamily(const std::vector<MachineCosts>& machines, std::string_view family,
                                  const CostProfile& others) {
  const auto found = std::find_if(machines.begin(), machines.end(),
                                  [family](const MachineCosts& machine) { return machine.family == family; });
  return found == machines.end() ? others : found->costs;
}

}  // namespace tailor
