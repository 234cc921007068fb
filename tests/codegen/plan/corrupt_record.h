// Records with one field corrupted at a time, each at random (codegen/plan/record_text.h): what verifiers should
// reject.
#ifndef TAILOR_TESTS_CODEGEN_PLAN_CORRUPT_RECORD_H_
#define TAILOR_TESTS_CODEGEN_PLAN_CORRUPT_RECORD_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "codegen/plan/record_text.h"
#include "codegen/plan/schedule.h"
#include "codegen/plan/slot_expr.h"

namespace tailor {

class RecordCorrupter {
 public:
  // Of a record that stands corrupted, "versions.guards".
  using Check = absl::FunctionRef<void(const std::string& field)>;
  RecordCorrupter(uint32_t seed, Check check) : random_(seed), check_(check) {}

  // Corrupts each field once, lists by leaving an item out or doubling one too; the record is then as it was.
  template <HasFields Record>
  void Corrupt(Record& record, const std::string& path = "") {
    const auto corrupt = [&](const auto& field) {
      Value(record.*field.member, path.empty() ? field.name : absl::StrCat(path, ".", field.name));
    };
    std::apply([&](const auto&... field) { (corrupt(field), ...); }, FieldsOf(std::type_identity<Record>()));
  }

  // Likewise of a list.
  template <typename T>
  void Value(T& value, const std::string& path) {
    if constexpr (HasFields<T> && !std::is_enum_v<T>) {
      Corrupt(value, path);
    } else if constexpr (kIsOptional<T>) {
      if (value) Value(*value, path);
    } else if constexpr (IsLeaf<T>()) {
      With(value, Other(value), path);
    } else {
      for (auto& item : value) Value(item, path);
      if constexpr (!kIsArray<T>) {
        if (value.empty()) return;
        const size_t at = Pick(value.size());
        T fewer = value, more = value;
        fewer.erase(fewer.begin() + at);
        more.insert(more.begin() + at, value[at]);
        With(value, fewer, absl::StrCat(path, " but one"));
        With(value, more, absl::StrCat(path, " and one"));
      }
    }
  }

 private:
  template <typename T>
  static constexpr bool IsLeaf() {
    return std::is_enum_v<T> || std::is_integral_v<T> || HasText<T>;
  }
  size_t Pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }

  template <typename T>
  void With(T& value, T other, const std::string& path) {
    if (other == value) return;
    std::swap(value, other);
    check_(path);
    std::swap(value, other);
  }

  template <typename T>
  T Other(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      return !value;
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<T>((static_cast<int>(value) + 1 + Pick(6)) % 8);
    } else if constexpr (std::is_same_v<T, SlotExpr>) {
      const SlotExpr others[] = {value + 1, 2 * value, value + SlotExpr::Slot(1000), value - 1 - value};
      return others[Pick(std::size(others))];
    } else if constexpr (std::is_same_v<T, Guard>) {
      Guard other = value;
      switch (Pick(4)) {
        case 0:
          other.kind = Other(value.kind);
          break;
        case 1:
          other.slot = Other(value.slot);
          break;
        case 2:
          other.other = Other(value.other);
          break;
        default:
          other.value = Other(value.value);
      }
      return other;
    } else {
      const int64_t others[] = {int64_t{value} + 1, int64_t{value} - 1, -int64_t{value} - 1, 0, 1000003};
      return static_cast<T>(others[Pick(std::size(others))]);
    }
  }

  std::mt19937 random_;
  Check check_;
};

// How many corruptions of each field there were, and how many were rejected.
class RejectionCounts {
 public:
  void Add(const std::string& field, bool rejected) {
    Count& count = counts_[field];
    ++count.all;
    count.rejected += rejected;
  }
  // Of those fields that `take` names, and a line for each.
  double Rate(absl::FunctionRef<bool(const std::string& field)> take, std::string* lines) const {
    int all = 0, rejected = 0;
    for (const auto& [field, count] : counts_) {
      if (!take(field)) continue;
      all += count.all;
      rejected += count.rejected;
      absl::StrAppend(lines, field, ": ", count.rejected, " of ", count.all, "\n");
    }
    return all == 0 ? 0 : static_cast<double>(rejected) / all;
  }

 private:
  struct Count {
    int all = 0, rejected = 0;
  };
  std::map<std::string, Count> counts_;
};

}  // namespace tailor

#endif  // TAILOR_TESTS_CODEGEN_PLAN_CORRUPT_RECORD_H_
