// Runtimes and devices. Part of tailor/runtime.hpp; C++17.
#ifndef TAILOR_HPP_RUNTIME_OBJECT_HPP_
#define TAILOR_HPP_RUNTIME_OBJECT_HPP_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tailor/hpp/custom_operator.hpp"

namespace tailor {
inline namespace TAILOR_HPP {

// Where executables run. There is no fallback to another device.
struct Device {
  std::int32_t kind = TAILOR_DEVICE_CPU;
  std::int32_t ordinal = 0;

  static Device cpu() { return {}; }
  static Device cuda(std::int32_t ordinal = 0) { return {TAILOR_DEVICE_CUDA, ordinal}; }
};

struct DeviceInfo {
  Device device;
  std::string name;           // "NVIDIA H100 80GB HBM3", "x86-64-v4"
  std::int32_t major, minor;  // compute capability; 0 for the CPU
  std::int32_t processors;    // multiprocessors; 0 for the CPU
  std::int32_t driver;        // CUDA version that the driver supports; 0 for the CPU
  std::uint64_t memory_bytes;
};

enum class LogLevel : std::int32_t { kInfo = 0, kWarning = 1, kError = 2 };

// A part of a kernel, for executors: task(i) for all i below the count, in any order, on any threads.
class ParallelTask {
 public:
  ParallelTask(void (*function)(void*, std::size_t), void* data) : function_(function), data_(data) {}
  void operator()(std::size_t index) const { function_(data_, index); }

 private:
  void (*function_)(void*, std::size_t);
  void* data_;
};

// An executor of the host: calls task(i) for every i below count, and returns when all calls have returned.
using ParallelFor = std::function<void(const ParallelTask& task, std::size_t count)>;

// The functions live as long as the runtime and everything made with it. They are called on any thread, concurrently.
struct RuntimeOptions {
  // An exception of it is dropped.
  std::function<void(LogLevel level, std::string_view message)> log;
  // Memory of workspaces and outputs: both or neither. A null pointer or an exception is RESOURCE_EXHAUSTED.
  std::function<void*(std::size_t bytes, std::size_t alignment)> allocate;
  std::function<void(void* data, std::size_t bytes)> deallocate;
  // Computes the matmuls that programs offer, by default all. The struct is copied; what it points to must outlive the
  // runtime and its executables.
  const tailor_product_provider* product_provider = nullptr;
  std::string product_choice;
  bool cublas_lt = false;
  // The executor of all sessions that have none of their own. What it throws is thrown by the call that ran, once the
  // results are complete.
  ParallelFor parallel_for;
  // Threads, or parts for the executor, of sessions whose `threads` is 0, those of Executable::run included; 0: 1.
  std::uint64_t parallel_threads = 0;
  // What each executable keeps of the sessions of Executable::run between calls.
  std::uint64_t pooled_sessions = 0;  // 0: 16
  std::uint64_t pooled_bytes = 0;     // 0: no limit
  // Loading names the generated functions in /tmp/perf-<process>.map, for Linux's perf.
  bool perf_map = false;
};

namespace detail {

// One run on this thread. It receives what executors of runtimes throw during the run; a run that such an executor
// makes has a scope of its own.
class RunScope {
 public:
  RunScope() : outer_(std::exchange(innermost(), this)) {}
  RunScope(const RunScope&) = delete;
  ~RunScope() { innermost() = outer_; }

  template <typename F>
  static void run(F&& function) noexcept {
    Caught dropped;  // outside of runs that the C++ layer makes
    Caught& caught = innermost() != nullptr ? innermost()->caught_ : dropped;
    caught.run(std::forward<F>(function));
  }
  // Throws what was caught first.
  void rethrow() { caught_.rethrow(); }

 private:
  static RunScope*& innermost() {
    static thread_local RunScope* scope = nullptr;
    return scope;
  }

  RunScope* outer_;
  Caught caught_;
};

struct RuntimeCallbacks {
  RuntimeOptions options;

  static void log(void* user, std::int32_t level, const char* message) noexcept {
    Caught().run([&] { static_cast<RuntimeCallbacks*>(user)->options.log(static_cast<LogLevel>(level), message); });
  }
  static void* allocate(void* user, std::size_t bytes, std::size_t alignment) noexcept {
    void* out = nullptr;
    Caught().run([&] { out = static_cast<RuntimeCallbacks*>(user)->options.allocate(bytes, alignment); });
    return out;
  }
  static void deallocate(void* user, void* data, std::size_t bytes) noexcept {
    static_cast<RuntimeCallbacks*>(user)->options.deallocate(data, bytes);
  }
  static void parallel_for(void* user, void (*task)(void*, std::size_t), void* data, std::size_t count) noexcept {
    RunScope::run([&] { static_cast<RuntimeCallbacks*>(user)->options.parallel_for(ParallelTask(task, data), count); });
  }
  static void released(void* user) noexcept { delete static_cast<RuntimeCallbacks*>(user); }
};

// Frees what a unique_ptr of a handle holds.
struct Release {
  void operator()(tailor_runtime* runtime) const { tailor_runtime_release(runtime); }
  void operator()(tailor_executable* executable) const { tailor_executable_release(executable); }
  void operator()(tailor_session* session) const { tailor_session_release(session); }
};

}  // namespace detail

// Loads executables, which may call the custom operators registered with it, and which keep it alive. Thread-safe.
class Runtime {
 public:
  static Result<Runtime> create(RuntimeOptions options = {}) {
    tailor_runtime_options c;
    tailor_runtime_options_init(&c);
    const bool called = options.log || options.allocate || options.deallocate || options.parallel_for;
    auto callbacks = std::make_unique<detail::RuntimeCallbacks>(detail::RuntimeCallbacks{std::move(options)});
    const RuntimeOptions& given = callbacks->options;
    c.log = given.log ? detail::RuntimeCallbacks::log : nullptr;
    c.allocate = given.allocate ? detail::RuntimeCallbacks::allocate : nullptr;
    c.deallocate = given.deallocate ? detail::RuntimeCallbacks::deallocate : nullptr;
    c.user = callbacks.get();
    c.product_provider = given.product_provider;
    if (!given.product_choice.empty()) c.product_choice = given.product_choice.data();
    c.product_choice_size = given.product_choice.size();
    c.cublas_lt = given.cublas_lt;
    c.parallel_for = given.parallel_for ? detail::RuntimeCallbacks::parallel_for : nullptr;
    c.parallel_user = callbacks.get();
    c.parallel_threads = given.parallel_threads;
    c.pooled_sessions = given.pooled_sessions;
    c.pooled_bytes = given.pooled_bytes;
    c.perf_map = given.perf_map;
    if (called) {
      c.released = detail::RuntimeCallbacks::released;
      (void)callbacks.release();  // the library's, until `released`
    }
    tailor_runtime* raw = nullptr;
    if (auto made = detail::check(tailor_runtime_create(&c, &raw)); !made) return made.error();
    return Runtime(raw);
  }

  // Registers a custom operator for executables that are loaded from then on, for any device of `device`'s kind:
  //
  //     runtime.register_operator("double", [](const tailor::CustomCall& call) -> tailor::Result<void> { ... });
  //
  // INVALID_ARGUMENT for an empty name, one that begins with "tailor.", and one that is registered.
  Result<void> register_operator(std::string_view name, CustomOperator op, Device device = {}) const {
    if (!op.function) return detail::invalid("custom operator \"" + std::string(name) + "\" has no function");
    const bool sized = static_cast<bool>(op.workspace);
    auto* user = new detail::CustomCallbacks{std::move(op), device.kind != TAILOR_DEVICE_CPU};
    tailor_custom_operator c;
    tailor_custom_operator_init(&c);
    c.function = detail::CustomCallbacks::function;
    c.workspace = sized ? detail::CustomCallbacks::workspace : nullptr;
    c.released = detail::CustomCallbacks::released;
    return add(&c, name, device, user);
  }
  template <typename F, typename = std::enable_if_t<std::is_invocable_v<F&, const CustomCall&>>>
  Result<void> register_operator(std::string_view name, F function, Device device = {}) const {
    return register_operator(name, CustomOperator{std::move(function), nullptr}, device);
  }

  // The CPU, and the CUDA devices.
  Result<std::vector<DeviceInfo>> devices() const {
    std::vector<DeviceInfo> out;
    const std::size_t count = tailor_runtime_device_count(raw_.get());
    for (std::size_t i = 0; i < count; ++i) {
      tailor_device_info info;
      tailor_device_info_init(&info);
      if (auto read = detail::check(tailor_runtime_device(raw_.get(), i, &info)); !read) return read.error();
      out.push_back({{info.kind, info.ordinal},
                     info.name,
                     info.major,
                     info.minor,
                     info.processors,
                     info.driver,
                     info.memory_bytes});
    }
    return out;
  }
  // Why there is no CUDA device, or "".
  std::string cuda_absence() const { return tailor_runtime_cuda_absence(raw_.get()); }

  // The handle of the C API, which the object keeps. Null after a move.
  tailor_runtime* get() const { return raw_.get(); }

 private:
  explicit Runtime(tailor_runtime* raw) : raw_(raw) {}

  Result<void> add(tailor_custom_operator* c, std::string_view name, Device device, void* user) const {
    c->name = name.data();
    c->name_size = name.size();
    c->device = device.kind;
    c->user = user;
    return detail::check(tailor_runtime_register(raw_.get(), c));
  }

  std::unique_ptr<tailor_runtime, detail::Release> raw_;
};

// "0.1.0"
inline std::string version() { return tailor_version(); }
// The level of this machine's CPU, and the CPU features that the library can and cannot use: one line.
inline std::string cpu_features() { return tailor_cpu_features(); }

// The number of CPUs that the calling thread may use: its affinity mask, and the quota of its control groups.
inline std::uint64_t usable_cpus() noexcept { return tailor_usable_cpus(); }

struct Counters {
  std::uint64_t images_linked;      // variants mapped as executable code
  std::uint64_t workspace_growths;  // times that a session's memory grew
  std::uint64_t runs;
};
// Of this process.
inline Counters counters() {
  tailor_counters read;
  tailor_counters_init(&read);
  tailor_counters_read(&read);
  return {read.images_linked, read.workspace_growths, read.runs};
}

}  // namespace TAILOR_HPP
}  // namespace tailor

#endif  // TAILOR_HPP_RUNTIME_OBJECT_HPP_
