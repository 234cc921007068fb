// InternTable: every value that is alive, once, so that equality is a comparison of pointers. Safe from many threads.
//
// T has `size_t hash`, `uint64_t id` and `bool Same(const T&) const`, which compares what the hash is of. Values are
// found in O(1) expected; the table holds no value alive.
#ifndef TAILOR_GRAPH_DIM_TABLE_H_
#define TAILOR_GRAPH_DIM_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace tailor {

template <typename T>
class InternTable {
 public:
  // The value like `candidate`, which is given a new id if there is none. Where memory is out nothing changes.
  std::shared_ptr<const T> Intern(T candidate) {
    Shard& shard = ShardOf(candidate.hash);
    {
      std::lock_guard<std::mutex> lock(shard.mutex);
      if (std::shared_ptr<const T> found = shard.Find(candidate)) return found;
    }
    candidate.id = next_id_.fetch_add(1, std::memory_order_relaxed);
    // Made, and dropped where it is not kept, without the lock, which Drop takes.
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
    // An entry's value exists until Drop has erased the entry; it is alive no more where only that is still to come. No
    // reference is given up here: Drop takes the lock.
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
    delete gone;  // may drop others
  }

  std::array<Shard, 64> shards_;
  std::atomic<uint64_t> next_id_{1};
};

}  // namespace tailor

#endif  // TAILOR_GRAPH_DIM_TABLE_H_
