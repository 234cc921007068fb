// DimMemo: caches a pure function of a DimExpr. The owner clears it when facts change. A hit is O(1).
//
// Thread-safe. A copy starts empty.
#ifndef TAILOR_ANALYSIS_DIM_MEMO_H_
#define TAILOR_ANALYSIS_DIM_MEMO_H_

#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graph/dim_expr.h"
#include "graph/visits.h"

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

  // The cached value for `e`, else compute(). compute() runs without the lock and may query the cache.
  template <typename Compute>
  T Of(const DimExpr& e, Compute&& compute) const {
    CountVisits();
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
