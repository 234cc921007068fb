// Runtime: state that executables and sessions share: the host's allocator, log and executor, worker threads, and
// limits of session pools. Thread-safe. Held by shared_ptr: executables keep it alive.
#ifndef TAILOR_EXEC_RUNTIME_H_
#define TAILOR_EXEC_RUNTIME_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "exec/custom_operator.h"
#include "exec/memory.h"
#include "exec/matmul_provider.h"
#include "exec/release_callback.h"
#include "exec/thread_team.h"

namespace tailor {

struct CublasLt;
struct Program;

// A host's executor: calls task(data, i) for all i in [0, count), and returns when all have returned.
struct HostExecutor {
  void (*parallel_for)(void* user, void (*task)(void* data, size_t index), void* data, size_t count) = nullptr;
  void* user = nullptr;
};

// What an executable keeps of the sessions that it lent to callers.
struct PoolLimits {
  static constexpr uint64_t kMaxSessions = 4096;
  uint64_t sessions = 16;       // number of idle sessions, from 1 to kMaxSessions
  uint64_t bytes = UINT64_MAX;  // memory of all idle sessions
};

class Runtime {
 public:
  struct Options {
    Allocator allocator;
    void (*log)(void* user, int32_t level, const char* message) = nullptr;
    void* user = nullptr;
    MatmulProvider provider;                    // none if `take` is null
    std::shared_ptr<const CublasLt> cublas_lt;  // computes matmuls on CUDA devices; null: not used
    HostExecutor executor;                      // of sessions that have none; none if `parallel_for` is null
    uint64_t threads = 1;                       // of sessions that state none
    PoolLimits pool;
    bool perf_map = false;  // generated functions are listed for perf
  };
  enum Level : int32_t { kInfo = 0, kWarning = 1, kError = 2 };

  // `released` is called after the last call of a function in `options`.
  explicit Runtime(const Options& options, ReleaseCallback released = {})
      : released_(std::move(released)), options_(options) {}

  const Allocator& allocator() const { return options_.allocator; }
  const MatmulProvider& provider() const { return options_.provider; }
  const CublasLt* cublas_lt() const { return options_.cublas_lt.get(); }
  CustomOperators& custom_operators() const { return custom_operators_; }
  const HostExecutor& executor() const { return options_.executor; }
  bool perf_map() const { return options_.perf_map; }
  const PoolLimits& pool_limits() const { return options_.pool; }
  // Thread count of a session that requests `requested` threads, 0 meaning the runtime's.
  uint64_t ThreadsFor(uint64_t requested) const {
    return std::max<uint64_t>(requested == 0 ? options_.threads : requested, 1);
  }
  // Logs "model.tlr: <message>", with the program's display name.
  void Log(Level level, const Program& program, const std::string& message) const;

  // The thread team of this size, created at its first use and destroyed with its last user. Null if the system
  // provides no more threads.
  std::shared_ptr<ThreadTeam> Team(size_t threads) const;

 private:
  const ReleaseCallback released_;  // first: destroyed last
  const Options options_;
  mutable CustomOperators custom_operators_;
  mutable std::map<size_t, std::weak_ptr<ThreadTeam>> teams_;  // guarded by BookkeepingMutex
};

}  // namespace tailor

#endif  // TAILOR_EXEC_RUNTIME_H_
