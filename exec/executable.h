// Executable: a program made ready to run: its best variant mapped executable, its constants in place.
// Immutable, used from many threads at once.
#ifndef TAILOR_EXEC_EXECUTABLE_H_
#define TAILOR_EXEC_EXECUTABLE_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "codegen/program.h"
#include "exec/cpu_features.h"
#include "exec/failure.h"
#include "exec/host_abi.h"
#include "exec/image.h"
#include "exec/runtime.h"
#include "exec/tensor.h"

namespace tailor {

class SessionPool;

class Executable {
 public:
  // Takes the first variant that `cpu` can run, or the one named `target` where that is not empty.
  // FAILED_PRECONDITION lists every reason of every variant; NOT_FOUND is for an unknown target.
  // `program` outlives the executable.
  static Failure Create(std::shared_ptr<const Runtime> runtime, const Program& program, const CpuId& cpu,
                        std::string_view target, std::unique_ptr<Executable>* out);
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  ~Executable();

  const Program& program() const { return program_; }
  const Variant& variant() const { return *variant_; }
  const Runtime& runtime() const { return *runtime_; }
  const void* const* constants() const { return constants_.data(); }
  RunFn run() const { return image_.At<RunFn>(variant_->run_offset); }
  PlanFn plan() const { return image_.At<PlanFn>(variant_->plan_offset); }

  // Fills rank, dtype and dims of `outputs`, the workspace of a session with `threads` threads, and the version of each
  // launch (-1: data tells) where `versions` is not null.
  Failure Plan(InputList inputs, OutputList outputs, uint64_t threads, int32_t* versions,
               uint64_t* workspace_bytes) const;

  // One run on the caller's thread, with a session borrowed from a fixed number of them.
  Failure Run(InputList inputs, OutputList outputs) const;

 private:
  Executable(std::shared_ptr<const Runtime> runtime, const Program& program, const Variant* variant);

  const std::shared_ptr<const Runtime> runtime_;
  const Program& program_;
  const Variant* const variant_;
  MappedImage image_;
  std::vector<const void*> constants_;
  std::unique_ptr<SessionPool> sessions_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_EXECUTABLE_H_
