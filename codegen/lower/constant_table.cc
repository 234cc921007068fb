#include "codegen/lower/constant_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace tailor::lower {
namespace {

using Constant = LoweredProgram::Constant;

size_t HashOf(const Constant& constant) {
  constexpr uint64_t kSampled = 64;  // bytes hashed, at the end: tables often have equal beginnings
  const uint64_t bytes = std::min(kSampled, constant.data.size);
  const absl::string_view last(static_cast<const char*>(constant.data.data) + (constant.data.size - bytes), bytes);
  return absl::HashOf(constant.type.dtype, constant.layout, constant.transpose, constant.data.size, last);
}

bool AreOne(const Constant& a, const Constant& b) {
  if (!(a.type == b.type) || a.data.size != b.data.size) return false;
  if (a.layout != b.layout || a.transpose != b.transpose || a.taps_first != b.taps_first) return false;
  return a.data.data == b.data.data || std::memcmp(a.data.data, b.data.data, a.data.size) == 0;
}

}  // namespace

int ConstantTable::NumberOf(Constant constant, std::vector<Constant>& constants) {
  std::vector<int>& alike = alike_[HashOf(constant)];
  const auto found =
      std::find_if(alike.begin(), alike.end(), [&](int number) { return AreOne(constants[number], constant); });
  if (found != alike.end()) return *found;
  alike.push_back(static_cast<int>(constants.size()));
  constants.push_back(std::move(constant));
  return alike.back();
}

}  // namespace tailor::lower
