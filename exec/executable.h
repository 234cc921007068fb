// Executable: a loaded program: its best variant mapped executable, its constants in place, its kernels loaded on the
// device. Immutable and thread-safe.
#ifndef TAILOR_EXEC_EXECUTABLE_H_
#define TAILOR_EXEC_EXECUTABLE_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "codegen/contract/program.h"
#include "exec/counters.h"
#include "exec/cpu_features.h"
#include "exec/custom_operator.h"
#include "exec/device.h"
#include "exec/failure.h"
#include "exec/host_abi.h"
#include "exec/image.h"
#include "exec/runtime.h"
#include "exec/tensor.h"

namespace tailor {

class SessionPool;

class Executable {
 public:
  // Selects the first variant for this kind of device (null: the host) whose host program `cpu` can run, or the variant
  // named by a nonempty `target`. FAILED_PRECONDITION lists every reason of every variant, or every custom operator of
  // the variant that is not registered; NOT_FOUND for an unknown target. `program` outlives the executable.
  static Failure Create(std::shared_ptr<const Runtime> runtime, const Program& program, const CpuId& cpu,
                        std::string_view target, const Device* device, std::unique_ptr<Executable>* out);
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  ~Executable();

  const Program& program() const { return program_; }
  const Variant& variant() const { return *variant_; }
  const CostProfile& costs() const { return *costs_; }  // the variant's cost profile for this machine
  const Runtime& runtime() const { return *runtime_; }
  const DeviceProgram* device() const { return device_.get(); }  // null: on the host
  // Addresses by constant index, in the memory of the device or host.
  const void* const* constants() const { return device_ != nullptr ? device_->constants() : constants_.data(); }
  RunFn run() const { return image_.At<RunFn>(variant_->run_offset); }
  const CustomTable& custom_table() const { return custom_table_; }
  SeedSource& seeds() const { return seeds_; }
  ExecutableCounters& counters() const { return counters_; }
  PlanFn plan() const { return image_.At<PlanFn>(variant_->plan_offset); }

  // Computes rank, dtype and dims of `outputs`, the workspace bytes of a session with `threads` threads, and, if
  // `versions` is not null, the version of each launch (-1: data-dependent).
  Failure Plan(InputList inputs, OutputList outputs, uint64_t threads, int32_t* versions,
               uint64_t* workspace_bytes) const;

  // Runs once, with a session borrowed from a pool.
  Failure Run(InputList inputs, OutputList outputs) const;
  // Destroys the idle sessions of the pool.
  void Trim() const;
  size_t idle_sessions() const;

 private:
  Executable(std::shared_ptr<const Runtime> runtime, const Program& program, const Variant* variant, const CpuId& cpu);

  const std::shared_ptr<const Runtime> runtime_;
  const Program& program_;
  const Variant* const variant_;
  const CostProfile* const costs_;
  MappedImage image_;
  std::vector<const void*> constants_;  // in host memory
  std::unique_ptr<DeviceProgram> device_;
  CustomTable custom_table_;
  mutable SeedSource seeds_;
  mutable ExecutableCounters counters_;
  std::unique_ptr<SessionPool> sessions_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_EXECUTABLE_H_
