// InternTable: hash-consing. At most one object per value is alive, so that equality is pointer equality.
//
// T has `size_t hash` and `bool Same(const T&) const`, which agree. A lookup is O(1) expected. The table holds weak
// references. Thread-safe.
#ifndef TAILOR_GRAPH_INTERN_TABLE_H_
#define TAILOR_GRAPH_INTERN_TABLE_H_

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace tailor {

template <typename T>
class InternTable {
 public:
  // The live object equal to `candidate`, else a new one. If allocation fails, the table is unchanged.
  std::shared_ptr<const T> Intern(T candidate) {
    Shard& shard = ShardOf(candidate.hash);
    {
      std::lock_guard<std::mutex> lock(shard.mutex);
      if (std::shared_ptr<const T> found = shard.Find(candidate)) return found;
    }
    // Constructed and released without the lock: the deleter takes it.
    const std::shared_ptr<const T> made(new T(std::move(candidate)), [this](const T* gone) { Drop(gone); });
    std::lock_guard<std::mutex> lock(shard.mutex);
    if (std::shared_ptr<const T> found = shard.Find(*made)) return found;  // another thread was faster
    shard.entries.emplace(made->hash, Entry{made.get(), made});
    return made;
  }

 private:
  struct Entry {
    const T* value;
    std::weak_ptr<const T> alive;
  };
  struct Shard {
    // Requires the lock. An entry's `value` is valid: Drop erases the entry before it deletes the value. Takes a strong
    // reference to the returned value only, because releasing a reference would call Drop.
    std::shared_ptr<const T> Find(const T& wanted) {
      const auto [begin, end] = entries.equal_range(wanted.hash);
      for (auto it = begin; it != end; ++it) {
        if (!it->second.value->Same(wanted)) continue;
        if (std::shared_ptr<const T> alive = it->second.alive.lock()) return alive;
      }
      return nullptr;
    }

    std::mutex mutex;
    std::unordered_multimap<size_t, Entry> entries;
  };

  Shard& ShardOf(size_t hash) { return shards_[(hash >> 7) % shards_.size()]; }

  void Drop(const T* gone) {
    Shard& shard = ShardOf(gone->hash);
    {
      std::lock_guard<std::mutex> lock(shard.mutex);
      const auto [begin, end] = shard.entries.equal_range(gone->hash);
      for (auto it = begin; it != end; ++it) {
        if (it->second.value != gone) continue;
        shard.entries.erase(it);
        break;
      }
    }
    delete gone;  // may drop other objects
  }

  std::array<Shard, 64> shards_;
};

}  // namespace tailor

#endif  // TAILOR_GRAPH_INTERN_TABLE_H_
