// Constants for graphs whose results are held against the reference exactly.
#ifndef TAILOR_TESTS_FUZZ_SMALL_NUMBERS_H_
#define TAILOR_TESTS_FUZZ_SMALL_NUMBERS_H_

#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/element.h"
#include "graph/graph.h"

namespace tailor {

// For ParseGraph: whole numbers from -2 to 2, other ones for other last letters of `name`, of which sums are exact in
// every type.
inline ConstantData SmallNumbers(absl::string_view name, const TensorType& type) {
  const int64_t count = *ElementCount(type.shape).constant(), width = SizeOf(type.dtype);
  auto bytes = std::make_shared<std::vector<char>>(count * width);
  for (int64_t i = 0; i < count; ++i) {
    ElementFromDouble(type.dtype, static_cast<double>((i * 7 + name.back()) % 5) - 2, bytes->data() + i * width);
  }
  const void* data = bytes->data();
  return {bytes, data, bytes->size(), {}};
}

}  // namespace tailor

#endif  // TAILOR_TESTS_FUZZ_SMALL_NUMBERS_H_
