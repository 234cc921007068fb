// Runtime: state that executables and sessions share: the host's allocator and log, and worker threads. Thread-safe.
// Held by shared_ptr: executables keep it alive.
#ifndef TAILOR_EXEC_RUNTIME_H_
#define TAILOR_EXEC_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "exec/custom_operator.h"
#include "exec/memory.h"
#include "exec/matmul_provider.h"
#include "exec/thread_team.h"

namespace tailor {

class CublasLt;

class Runtime {
 public:
  struct Options {
    Allocator allocator;
    void (*log)(void* user, int32_t level, const char* message) = nullptr;
    void* user = nullptr;
    MatmulProvider provider;                    // none if `take` is null
    std::shared_ptr<const CublasLt> cublas_lt;  // computes matmuls on CUDA devices; null: not used
  };
  enum Level : int32_t { kInfo = 0, kWarning = 1, kError = 2 };

  explicit Runtime(const Options& options) : options_(options) {}

  const Allocator& allocator() const { return options_.allocator; }
  const MatmulProvider& provider() const { return options_.provider; }
  const CublasLt* cublas_lt() const { return options_.cublas_lt.get(); }
  CustomOperators& custom_operators() const { return custom_operators_; }
  void Log(Level level, const std::string& message) const;

  // The thread team of this size, created at its first use and destroyed with its last user. Null if the system
  // provides no more threads.
  std::shared_ptr<ThreadTeam> Team(size_t threads) const;

 private:
  const Options options_;
  mutable CustomOperators custom_operators_;
  mutable std::map<size_t, std::weak_ptr<ThreadTeam>> teams_;  // guarded by BookkeepingMutex
};

}  // namespace tailor

#endif  // TAILOR_EXEC_RUNTIME_H_
