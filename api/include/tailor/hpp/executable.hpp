// Executables: loading, describing, planning, running. Part of tailor/runtime.hpp; C++17.
#ifndef TAILOR_HPP_EXECUTABLE_HPP_
#define TAILOR_HPP_EXECUTABLE_HPP_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tailor/hpp/runtime_object.hpp"

struct DLManagedTensor;

namespace tailor {
inline namespace TAILOR_HPP {

class Session;
struct SessionOptions;

struct LoadOptions {
  const Runtime* runtime = nullptr;  // for its custom operators, allocator and log; null: a default one
  Device device;
  std::string target;                    // forces a variant by name, "x86-64-v2"; "": the best that this machine runs
  bool verify_constants = false;         // verify the hashes of the constants too
  bool copy_constants = false;           // read constants into memory instead of mapping the file
  std::vector<std::uint8_t> public_key;  // Ed25519, 32 bytes: reject artifacts that are not signed with its secret key
  std::string cost_profile;              // text of this machine's cost profile
};

// An input or output.
struct TensorInfo {
  std::string name;
  DType dtype;
  std::vector<std::string> dims;         // "B", "4*S + 1", "384"
  std::vector<std::int64_t> extents;     // constant dim sizes; -1: not constant
  bool donated;                          // inputs: runs may write its memory
  std::optional<std::size_t> memory_of;  // outputs: the donated input in whose memory it is written
};

struct SymbolInfo {
  std::string name;
  std::int64_t min, max, multiple_of;
};

// One kernel launch.
struct LaunchInfo {
  std::string kernel;
  std::uint64_t versions, dropped;  // versions that the kernel has, and that were left out
  std::uint64_t code, code_bytes;   // index of the kernel; machine code of all versions
};

// Counters of an executable, summed over its sessions; tailor_executable_counts has their Prometheus names.
struct ExecutableCounts {
  std::uint64_t runs, failed_runs, cancelled_runs, runs_in_progress;
  std::uint64_t sessions, pooled_sessions;
  std::uint64_t workspace_bytes, constants_bytes;
  std::uint64_t shape_cache_misses, workspace_growths;
};

// Shapes and memory of a run, without running.
struct Plan {
  std::vector<Shape> outputs;  // -1: data-dependent
  std::uint64_t workspace_bytes, kernels, versions, code_bytes;
  bool data_dependent, reads_back;
  std::vector<std::int32_t> chosen;  // each launch's version; -1: data-dependent
};

namespace detail {

// The C form of views. INVALID_ARGUMENT naming `kind` and the index of a view that cannot be used.
template <typename V>
Result<void> to_c(const char* kind, Span<V> views, std::vector<tailor_tensor>* out) {
  out->clear();
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (const std::string& problem = ViewAccess::problem(views[i]); !problem.empty()) {
      return invalid(std::string(kind) + " " + std::to_string(i) + ": " + problem);
    }
    out->push_back(ViewAccess::raw(views[i]));
  }
  return {};
}

inline Error const_donated(const std::string& input) {
  return invalid("input \"" + input + "\" is donated, but its memory is const");
}

inline Result<void> text_without_nul(const char* what, const std::string& text) {
  if (text.find('\0') == std::string::npos) return {};
  return invalid(std::string(what) + " has a NUL inside: \"" + text.c_str() + "\"...");
}

inline void append_bytes(void* user, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  static_cast<std::vector<std::uint8_t>*>(user)->assign(bytes, bytes + size);
}
inline void append_text(void* user, const char* text, std::size_t size) {
  static_cast<std::string*>(user)->assign(text, size);
}

}  // namespace detail

// A compiled graph. Copies share it; it may be used from many threads.
class Executable {
 public:
  Executable(const Executable& other) : raw_(other.raw_.get()) { tailor_executable_retain(raw_.get()); }
  Executable(Executable&&) noexcept = default;
  Executable& operator=(Executable other) noexcept {
    raw_.swap(other.raw_);
    return *this;
  }

  // Loads an artifact file. Artifacts are native code: load only those that you trust.
  static Result<Executable> load(std::string_view path, const LoadOptions& options = {}) {
    return load_with(options,
                     [&](const tailor_runtime* runtime, const tailor_load_options* c, tailor_executable** out) {
                       return tailor_executable_load(runtime, path.data(), path.size(), c, out);
                     });
  }
  // Loads an artifact's bytes, which are copied.
  static Result<Executable> load_bytes(Span<const std::uint8_t> bytes, const LoadOptions& options = {}) {
    return load_with(
        options, [&](const tailor_runtime* runtime, const tailor_load_options* c, tailor_executable** out) {
          return tailor_executable_load_memory(runtime, bytes.data(), bytes.size(), c, nullptr, nullptr, out);
        });
  }
  // Loads an artifact from bytes that it keeps: no copy.
  static Result<Executable> load_owned(std::vector<std::uint8_t> bytes, const LoadOptions& options = {}) {
    return load_with(
        options, [&](const tailor_runtime* runtime, const tailor_load_options* c, tailor_executable** out) {
          auto* owner = new std::vector<std::uint8_t>(std::move(bytes));
          const auto released = [](void* user) { delete static_cast<std::vector<std::uint8_t>*>(user); };
          return tailor_executable_load_memory(runtime, owner->data(), owner->size(), c, released, owner, out);
        });
  }
  // Takes over a reference of the C API.
  static Executable of(tailor_executable* raw) { return Executable(raw); }

  // Writes the artifact; the bytes equal those loaded.
  Result<void> save(std::string_view path) const {
    return detail::check(tailor_executable_save(raw_.get(), path.data(), path.size()));
  }
  // The artifact's bytes, as load_bytes takes them.
  Result<std::vector<std::uint8_t>> save_bytes() const {
    std::size_t size = 0;
    if (auto read = detail::check(tailor_executable_save_memory(raw_.get(), nullptr, 0, &size)); !read) {
      return read.error();
    }
    std::vector<std::uint8_t> bytes(size);
    if (auto saved = detail::check(tailor_executable_save_memory(raw_.get(), bytes.data(), size, &size)); !saved) {
      return saved.error();
    }
    return bytes;
  }

  Result<std::vector<TensorInfo>> inputs() const {
    return infos(tailor_executable_input_count(raw_.get()), tailor_executable_input);
  }
  Result<std::vector<TensorInfo>> outputs() const {
    return infos(tailor_executable_output_count(raw_.get()), tailor_executable_output);
  }
  Result<std::vector<SymbolInfo>> symbols() const {
    std::vector<SymbolInfo> out;
    for (std::size_t i = 0; i < tailor_executable_symbol_count(raw_.get()); ++i) {
      tailor_symbol_info info;
      tailor_symbol_info_init(&info);
      if (auto read = detail::check(tailor_executable_symbol(raw_.get(), i, &info)); !read) return read.error();
      out.push_back({info.name, info.min, info.max, info.multiple_of});
    }
    return out;
  }
  Result<std::vector<LaunchInfo>> launches() const {
    std::vector<LaunchInfo> out;
    for (std::size_t i = 0; i < tailor_executable_launch_count(raw_.get()); ++i) {
      tailor_launch_info info;
      tailor_launch_info_init(&info);
      if (auto read = detail::check(tailor_executable_launch(raw_.get(), i, &info)); !read) return read.error();
      out.push_back({info.kernel, info.versions, info.dropped, info.code, info.code_bytes});
    }
    return out;
  }
  // The program as JSON.
  Result<std::string> describe() const {
    const char* json = nullptr;
    if (auto read = detail::check(tailor_executable_describe(raw_.get(), &json)); !read) return read.error();
    return std::string(json);
  }

  // Shapes and memory of a run with inputs of these shapes, for a session with `threads` threads.
  Result<Plan> plan(Span<const Shape> inputs, std::uint64_t threads = 1) const {
    Result<std::vector<TensorInfo>> types = this->inputs();
    if (!types) return types.error();
    std::vector<tailor_tensor> given;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].valid()) return detail::invalid("input " + std::to_string(i) + ": it has too many dims");
      tailor_tensor tensor;
      tailor_tensor_init(&tensor);
      tensor.dtype = i < types->size() ? static_cast<std::int32_t>((*types)[i].dtype) : TAILOR_F32;
      tensor.rank = static_cast<std::int32_t>(inputs[i].rank());
      std::copy(inputs[i].dims().begin(), inputs[i].dims().end(), tensor.dims);
      given.push_back(tensor);
    }
    std::vector<tailor_tensor> results(tailor_executable_output_count(raw_.get()));
    for (tailor_tensor& result : results) tailor_tensor_init(&result);
    tailor_plan_info info;
    tailor_plan_info_init(&info);
    info.threads = threads;
    Plan plan = {};
    plan.chosen.resize(tailor_executable_launch_count(raw_.get()));
    info.chosen = plan.chosen.data();
    if (auto planned = detail::check(
            tailor_executable_plan(raw_.get(), given.data(), given.size(), results.data(), results.size(), &info));
        !planned) {
      return planned.error();
    }
    for (const tailor_tensor& result : results) {
      plan.outputs.emplace_back(Span<const std::int64_t>(result.dims, static_cast<std::size_t>(result.rank)));
    }
    plan.workspace_bytes = info.workspace_bytes;
    plan.kernels = info.kernels;
    plan.versions = info.versions;
    plan.code_bytes = info.code_bytes;
    plan.data_dependent = info.data_dependent != 0;
    plan.reads_back = info.reads_back != 0;
    return plan;
  }

  // A session: see tailor/hpp/session.hpp.
  Result<Session> session() const;
  Result<Session> session(const SessionOptions& options) const;

  // Runs once, with a session borrowed from the executable, into memory of the caller. Thread-safe.
  Result<void> run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) const {
    std::vector<tailor_tensor> given, results;
    if (auto made = detail::to_c("input", inputs, &given); !made) return made;
    if (auto made = detail::to_c("output", outputs, &results); !made) return made;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      tailor_tensor_info info;
      tailor_tensor_info_init(&info);
      if (detail::ViewAccess::writable(inputs[i])) continue;
      if (detail::take(tailor_executable_input(raw_.get(), i, &info))) break;  // the run says that there are too many
      if (info.donated != 0) return detail::const_donated(info.name);
    }
    detail::RunScope scope;
    auto done =
        detail::check(tailor_executable_run(raw_.get(), given.data(), given.size(), results.data(), results.size()));
    scope.rethrow();
    return done;
  }

  // Frees the idle sessions that `run` keeps. Thread-safe.
  Result<void> trim() const { return detail::check(tailor_executable_trim(raw_.get())); }
  // Thread-safe; does not wait for runs.
  Result<ExecutableCounts> counters() const {
    tailor_executable_counts read;
    tailor_executable_counts_init(&read);
    if (auto done = detail::check(tailor_executable_counters(raw_.get(), &read)); !done) return done.error();
    return ExecutableCounts{read.runs,
                            read.failed_runs,
                            read.cancelled_runs,
                            read.runs_in_progress,
                            read.sessions,
                            read.pooled_sessions,
                            read.workspace_bytes,
                            read.constants_bytes,
                            read.shape_cache_misses,
                            read.workspace_growths};
  }

  // The memory of a DLPack tensor of another library, as an input. It stays the caller's and must outlive the runs.
  Result<ConstTensorView> from_dlpack(const DLManagedTensor* tensor) const {
    tailor_tensor read;
    tailor_tensor_init(&read);
    if (auto done = detail::check(tailor_tensor_from_dlpack(raw_.get(), tensor, &read)); !done) return done.error();
    const Shape shape(Span<const std::int64_t>(read.dims, static_cast<std::size_t>(read.rank)));
    if (read.strides != nullptr && !is_dense(read)) {
      return Error(Code::kUnimplemented, "the DLPack tensor is not dense");
    }
    const auto dtype = static_cast<DType>(read.dtype);
    const auto bytes = static_cast<std::size_t>(read.data_bytes);
    return read.device != 0 ? ConstTensorView::on_device(read.data, bytes, dtype, shape)
                            : ConstTensorView(read.data, bytes, dtype, shape);
  }

  // The handle of the C API, which the object keeps. Null after a move.
  tailor_executable* get() const { return raw_.get(); }

 private:
  friend class Session;
  friend class Graph;

  explicit Executable(tailor_executable* raw) : raw_(raw) {}

  template <typename F>
  static Result<Executable> load_with(const LoadOptions& options, F load) {
    if (auto text = detail::text_without_nul("target", options.target); !text) return text.error();
    if (!options.public_key.empty() && options.public_key.size() != 32) {
      return detail::invalid("public_key has " + std::to_string(options.public_key.size()) + " bytes, not 32");
    }
    tailor_load_options c;
    tailor_load_options_init(&c);
    c.verify_constants = options.verify_constants;
    c.copy_constants = options.copy_constants;
    c.target = options.target.empty() ? nullptr : options.target.c_str();
    c.public_key = options.public_key.empty() ? nullptr : options.public_key.data();
    c.cost_profile = options.cost_profile.empty() ? nullptr : options.cost_profile.data();
    c.cost_profile_size = options.cost_profile.size();
    c.device = options.device.kind;
    c.device_ordinal = options.device.ordinal;
    tailor_executable* raw = nullptr;
    const tailor_runtime* runtime = options.runtime == nullptr ? nullptr : options.runtime->get();
    if (options.runtime != nullptr && runtime == nullptr) return detail::invalid("the runtime was moved from");
    if (auto loaded = detail::check(load(runtime, &c, &raw)); !loaded) return loaded.error();
    return Executable(raw);
  }

  using ReadInfo = tailor_status* (*)(const tailor_executable*, std::size_t, tailor_tensor_info*);
  Result<std::vector<TensorInfo>> infos(std::size_t count, ReadInfo read) const {
    if (raw_ == nullptr) return detail::invalid("the executable was moved from");
    std::vector<TensorInfo> out;
    for (std::size_t i = 0; i < count; ++i) {
      tailor_tensor_info info;
      tailor_tensor_info_init(&info);
      if (auto done = detail::check(read(raw_.get(), i, &info)); !done) return done.error();
      TensorInfo tensor = {info.name, static_cast<DType>(info.dtype), {}, {}, info.donated != 0, std::nullopt};
      for (std::int32_t d = 0; d < info.rank; ++d) {
        tensor.dims.emplace_back(info.dim_texts[d]);
        tensor.extents.push_back(info.extents[d]);
      }
      if (info.memory_of >= 0) tensor.memory_of = static_cast<std::size_t>(info.memory_of);
      out.push_back(std::move(tensor));
    }
    return out;
  }

  static bool is_dense(const tailor_tensor& tensor) {
    std::int64_t dense = 1;
    for (std::int32_t i = tensor.rank - 1; i >= 0; --i) {
      if (tensor.dims[i] != 1 && tensor.strides[i] != dense) return false;
      if (__builtin_mul_overflow(dense, tensor.dims[i], &dense)) return false;
    }
    return true;
  }

  std::unique_ptr<tailor_executable, detail::Release> raw_;
};

// The description of an artifact file as JSON, without loading it, on any machine.
inline Result<std::string> describe_artifact(std::string_view path) {
  std::string json;
  if (auto read = detail::check(tailor_artifact_describe(path.data(), path.size(), detail::append_text, &json));
      !read) {
    return read.error();
  }
  return json;
}

}  // namespace TAILOR_HPP
}  // namespace tailor

#endif  // TAILOR_HPP_EXECUTABLE_HPP_
