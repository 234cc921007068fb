#include "tools/tune/tiling_times.h"

#include <charconv>
#include <cmath>
#include <sstream>

namespace tailor::tune {
namespace {

constexpr size_t kDimSizes = 3;

std::vector<std::string> Fields(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
  return fields;
}

template <typename T>
bool ReadPositive(const std::string& field, T* value) {
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), *value);
  return error == std::errc() && end == field.data() + field.size() && *value > 0 &&
         std::isfinite(static_cast<double>(*value));
}

// An error in the first line, or "".
std::string ReadHeader(const std::string& line, TilingTimes* out) {
  const std::vector<std::string> fields = Fields(line);
  if (line.rfind("m,n,k,", 0) != 0) return "begins with \"m,n,k,\" and names of tilings";
  const std::vector<std::string> tilings(fields.begin() + kDimSizes, fields.end());
  if (!out->tilings.empty() && out->tilings != tilings) return "other tilings than in the times before";
  out->tilings = tilings;
  return "";
}

std::string ReadSize(const std::string& line, TilingTimes* out) {
  const std::vector<std::string> fields = Fields(line);
  if (fields.size() != kDimSizes + out->tilings.size()) return "three dim sizes and a time for each tiling are needed";
  MatmulSize size;
  int64_t* const dim_sizes[] = {&size.m, &size.n, &size.k};
  for (size_t i = 0; i < kDimSizes; ++i) {
    if (!ReadPositive(fields[i], dim_sizes[i])) return "\"" + fields[i] + "\" is no dim size";
  }
  std::vector<double> times(out->tilings.size());
  for (size_t i = 0; i < times.size(); ++i) {
    if (!ReadPositive(fields[kDimSizes + i], &times[i])) return "\"" + fields[kDimSizes + i] + "\" is no time";
  }
  out->sizes.push_back(size);
  out->times.push_back(std::move(times));
  return "";
}

}  // namespace

std::string TilingTimesText(const TilingTimes& times) {
  std::ostringstream out;
  out << "m,n,k";
  for (const std::string& tiling : times.tilings) out << "," << tiling;
  out << "\n";
  for (size_t i = 0; i < times.sizes.size(); ++i) {
    out << times.sizes[i].m << "," << times.sizes[i].n << "," << times.sizes[i].k;
    for (const double time : times.times[i]) out << "," << time;
    out << "\n";
  }
  return out.str();
}

std::string ParseTilingTimes(const std::string& text, TilingTimes* out) {
  TilingTimes read = *out;
  std::istringstream in(text);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::string wrong = number == 1 ? ReadHeader(line, &read) : ReadSize(line, &read);
    if (!wrong.empty()) return "line " + std::to_string(number) + ": " + wrong;
  }
  if (read.tilings.empty()) return "line 1: begins with \"m,n,k,\" and names of tilings";
  *out = std::move(read);
  return "";
}

}  // namespace tailor::tune
