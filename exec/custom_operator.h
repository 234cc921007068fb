// Custom operators: functions that the host registers with a runtime, called by programs that name them
// (RtApi::custom). Names that begin with "tailor." are the runtime's own: "tailor.run_state", a u64[2] of seed and run
// number, from which random operators compute.
#ifndef TAILOR_EXEC_CUSTOM_OPERATOR_H_
#define TAILOR_EXEC_CUSTOM_OPERATOR_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/contract/program.h"
#include "exec/failure.h"
#include "exec/host_abi.h"
#include "exec/release_callback.h"

struct tailor_custom_call;  // tailor/runtime.h: a CustomCall

namespace tailor {

class DeviceStream;

// The layout of tailor_custom_tensor.
struct CustomTensor {
  void* data;
  const int64_t* dims;
  int32_t dtype;
  int32_t rank;
};

// The layout of tailor_custom_call.
struct CustomCall {
  uint64_t struct_size;
  const char* name;
  const char* node;
  const char* attributes;
  uint64_t attributes_size;
  const CustomTensor* operands;
  uint64_t operand_count;
  const CustomTensor* results;
  uint64_t result_count;
  void* workspace;
  uint64_t workspace_bytes;
  void* stream;
  char* message;
  uint64_t message_capacity;
};

struct CustomOperator {
  using Function = int32_t (*)(void* user, const tailor_custom_call* call);
  using Workspace = int32_t (*)(void* user, const tailor_custom_call* call, uint64_t* bytes);

  std::string name;
  bool on_device = false;  // works on device memory
  Function function = nullptr;
  Workspace workspace = nullptr;  // null: none
  void* user = nullptr;
  ReleaseCallback released;
};

// The operators of a runtime. Thread-safe. An executable keeps those that it uses alive.
class CustomOperators {
 public:
  // INVALID_ARGUMENT if there is one of this name for this kind of device.
  Failure Add(std::shared_ptr<const CustomOperator> added);
  std::shared_ptr<const CustomOperator> Find(const std::string& name, bool on_device) const;

 private:
  std::map<std::pair<std::string, bool>, std::shared_ptr<const CustomOperator>> added_;  // by BookkeepingMutex
};

// The seeds of runs: one of the executable's own, drawn at load, or the session's. Runs with one seed are numbered.
class SeedSource {
 public:
  // FAILED_PRECONDITION if the system provides no random bytes.
  Failure Draw();
  uint64_t seed() const { return seed_; }
  uint64_t NextRun() { return runs_.fetch_add(1, std::memory_order_relaxed); }

 private:
  uint64_t seed_ = 0;
  std::atomic<uint64_t> runs_ = 0;
};

// The operators that a variant calls, by number in Variant::custom_calls. Immutable.
class CustomTable {
 public:
  CustomTable() = default;
  // FAILED_PRECONDITION naming all operators that are not registered. `variant` outlives the table.
  static Failure Create(const CustomOperators& operators, const Variant& variant, CustomTable* out);

  size_t size() const { return operators_.size(); }
  const ProgramCustomCall& call(size_t number) const { return (*calls_)[number]; }
  const CustomOperator& op(size_t number) const { return *operators_[number]; }
  // Whether the call is of "tailor.run_state".
  bool gives_run_state(size_t number) const { return operators_[number] == nullptr; }
  bool gives_run_state() const { return gives_run_state_; }
  size_t most_tensors() const { return most_tensors_; }

 private:
  const std::vector<ProgramCustomCall>* calls_ = nullptr;
  std::vector<std::shared_ptr<const CustomOperator>> operators_;  // null: run state
  bool gives_run_state_ = false;
  size_t most_tensors_ = 0;  // of any call
};

// Makes the calls of one session, one at a time. Allocates only when constructed.
class CustomCaller {
 public:
  // `table` and `seeds` must outlive the caller.
  CustomCaller(const CustomTable& table, SeedSource& seeds)
      : table_(table), seeds_(seeds), tensors_(table.most_tensors()) {}

  // Later runs have this seed, and are numbered from 0.
  void SetSeed(uint64_t seed) {
    own_seed_ = seed;
    own_runs_ = 0;
  }
  void BeginRun() {
    if (table_.gives_run_state()) DrawRunState();
  }

  // Whether call `number` is of "tailor.run_state", which GiveRunState answers: false if the device failed. `stream`:
  // null on the host, here and below.
  bool gives_run_state(size_t number) const { return table_.gives_run_state(number); }
  bool GiveRunState(const TensorArg& result, DeviceStream* stream) const;
  // Return the function's code; 0 is success. An exception that leaves the function is a failure.
  int32_t Call(size_t number, const TensorArg* arguments, void* workspace, uint64_t bytes, DeviceStream* stream);
  // `*bytes` is rounded up to a multiple of 64.
  int32_t Workspace(size_t number, const TensorArg* arguments, uint64_t* bytes);
  size_t size() const { return table_.size(); }
  // The failure of call `number`, which returned `code`.
  Failure Describe(size_t number, int32_t code) const;

 private:
  void DrawRunState();
  CustomCall Prepare(size_t number, const TensorArg* arguments);
  template <typename Function>
  int32_t Guarded(Function function);
  void SetMessage(const char* text);

  const CustomTable& table_;
  SeedSource& seeds_;
  std::vector<CustomTensor> tensors_;
  std::optional<uint64_t> own_seed_;
  uint64_t own_runs_ = 0;
  uint64_t run_state_[2] = {0, 0};  // seed, run number
  std::array<char, 512> message_ = {};
};

}  // namespace tailor

#endif  // TAILOR_EXEC_CUSTOM_OPERATOR_H_
