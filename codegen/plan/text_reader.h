// Reads the text of kernel plans and schedules.
#ifndef TAILOR_CODEGEN_PLAN_TEXT_READER_H_
#define TAILOR_CODEGEN_PLAN_TEXT_READER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tailor {

// A cursor over a text. Every read skips leading space.
class TextReader {
 public:
  explicit TextReader(absl::string_view text) : text_(text) {}

  absl::string_view rest() const { return text_.substr(at_); }
  bool AtEnd();
  void SkipSpace();
  bool Has(absl::string_view token);
  bool TakeIf(absl::string_view token);
  absl::Status Expect(absl::string_view token);
  // The next character, or 0.
  char Next(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void Skip(size_t count) { at_ += count; }
  // Letters, digits and underscores.
  absl::string_view TakeWord();
  // Up to one of `ends` outside parentheses.
  absl::string_view TakeUntil(absl::string_view ends);
  absl::StatusOr<int64_t> TakeInteger();
  // `prefix` and a number: "b7".
  absl::StatusOr<int> TakeNumbered(absl::string_view prefix);

  // INVALID_ARGUMENT "line L, column C: <what>".
  absl::Status Error(absl::string_view what) const;

 private:
  static constexpr int64_t kMostNumbers = 1 << 20;  // limit for axes, buffers, slots and faults

  absl::string_view text_;
  size_t at_ = 0;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_TEXT_READER_H_
