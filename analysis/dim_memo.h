// DimMemo: what a pure function of an expression was found to be, until facts change. O(1) a question that was asked
// before.
//
// Safe from many threads; a copy starts empty.
#ifndef TAILOR_ANALYSIS_DIM_MEMO_H_
#define TAILOR_ANALYSIS_DIM_MEMO_H_

#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graph/dim_expr.h"

namespace tailor {

template <typename T>
class DimMemo {
 public:
  DimMemo() = default;
  DimMemo(const DimMemo&) {}
  DimMemo& operator=(const DimMemo&) {
    Forget();
    return *this;
  }

  // compute() where `e` is asked for the first time; it may ask for other expressions.
  template <typename Compute>
  T Of(const DimExpr& e, Compute&& compute) const {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (const auto it = known_.find(e); it != known_.end()) return it->second;
    }
    T value = compute();
    std::lock_guard<std::mutex> lock(mutex_);
    known_.try_emplace(e, value);
    return value;
  }

  void Forget() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!known_.empty()) known_.clear();
  }

 private:
  mutable std::mutex mutex_;
  mutable absl::flat_hash_map<DimExpr, T> known_;
};

}  // namespace tailor

#endif  // TAILOR_ANALYSIS_DIM_MEMO_H_
