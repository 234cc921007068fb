// Sessions and their outputs. Part of tailor/runtime.hpp; C++17.
//
//     tailor::Session session = executable.session().value();
//     tailor::Outputs outputs = session.run({tailor::view(x, {2, 4})}).value();
//     for (float y : *outputs.get<float>(0)) ...
#ifndef TAILOR_HPP_SESSION_HPP_
#define TAILOR_HPP_SESSION_HPP_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tailor/hpp/executable.hpp"

namespace tailor {
inline namespace TAILOR_HPP {

// A kernel launch that has ended, or the run that launched it. Times are in nanoseconds of CLOCK_MONOTONIC; on a CUDA
// device they are those of enqueueing.
struct TraceEvent {
  std::int32_t launch;   // index in Executable::launches; -1: the run, after its launches
  std::int32_t version;  // of the kernel; -1: data-dependent, or the run
  std::int64_t begin_ns, end_ns;
};

struct SessionOptions {
  std::uint64_t threads = 0;  // including the caller's; 0: the runtime's parallel_threads, 1 unless set
  // Replaces the session's own threads. An exception of it is thrown by the run, after the run has ended.
  ParallelFor parallel_for;
  bool copy_strided = false;            // accept ConstTensorView::strided, and copy it
  bool idle_sleep = false;              // own threads sleep between kernels; else they first spin for about 1 ms
  std::chrono::nanoseconds timeout{0};  // of each run: DEADLINE_EXCEEDED; 0: none
  // Called after each launch and after the run. An exception of it is thrown by the run.
  std::function<void(const TraceEvent& event)> trace;
  void* stream = nullptr;     // CUDA: the host's CUstream for all work; must outlive the session
  bool asynchronous = false;  // CUDA: Session::start returns once the work is enqueued
  bool host_outputs = true;   // CUDA: outputs of Session::run are in host memory
  bool cuda_graph = false;    // CUDA: launch the kernels of a run as one CUDA graph
};

namespace detail {

// What a Session and the Outputs of its runs share.
struct SessionState {
  SessionState(Executable given, const SessionOptions& options)
      : executable(std::move(given)), parallel_for(options.parallel_for), trace(options.trace) {}

  Executable executable;
  ParallelFor parallel_for;
  std::function<void(const TraceEvent&)> trace;
  std::vector<TensorInfo> inputs_info;
  std::vector<std::string> output_names;
  std::vector<bool> in_input;            // by output: in the memory of a donated input
  std::atomic<bool> in_use{false};       // a call is in progress; guards what follows
  std::atomic<std::uint64_t> serial{0};  // number of calls that may have changed outputs
  Caught caught;                         // what callbacks threw
  std::vector<tailor_tensor> inputs, outputs;
  std::unique_ptr<tailor_session, Release> raw;  // last: released before what it calls

  static void run_parallel_for(void* user, void (*task)(void*, std::size_t), void* data, std::size_t count) noexcept {
    auto* self = static_cast<SessionState*>(user);
    self->caught.run([&] { self->parallel_for(ParallelTask(task, data), count); });
  }
  static void run_trace(void* user, const tailor_trace_event* event) noexcept {
    auto* self = static_cast<SessionState*>(user);
    self->caught.run([&] { self->trace({event->launch, event->version, event->begin_ns, event->end_ns}); });
  }
};

// Holds a session for one call, if no other call has it.
class Hold {
 public:
  explicit Hold(std::shared_ptr<SessionState> state) : state_(std::move(state)) {
    held_ = state_ != nullptr && !state_->in_use.exchange(true, std::memory_order_acquire);
  }
  Hold(const Hold&) = delete;
  ~Hold() {
    if (held_) state_->in_use.store(false, std::memory_order_release);
  }
  bool held() const { return held_; }
  const std::shared_ptr<SessionState>& state() const { return state_; }
  Error error(const char* method) const {
    if (state_ == nullptr) return invalid(std::string("Session::") + method + ": the session was moved from");
    return Error(Code::kFailedPrecondition,
                 std::string("Session::") + method +
                     ": the session is in use by another call; a session runs one call at a time");
  }

 private:
  const std::shared_ptr<SessionState> state_;  // lives until the call ends, also if a callback destroys the Session
  bool held_;
};

// The beginning of dlpack.h's DLManagedTensor, which this header does not need.
struct ManagedTensor {
  void* data;
  std::int32_t device_type, device_id, ndim;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
  void* manager_ctx;
  void (*deleter)(ManagedTensor*);
};

}  // namespace detail

// The outputs of one run, in memory of the session, which they keep. The session's next run (or bind, reserve, trim)
// ends them: from then on every call here is FAILED_PRECONDITION, and spans got before must not be used; but views of
// spans may be inputs of that next run, which leaves them as they are. Outputs that have to stay are taken (`take`),
// copied (`copy`), or written to the caller's memory (Session::run_into). Move-only.
class Outputs {
 public:
  Outputs(Outputs&&) noexcept = default;
  Outputs& operator=(Outputs&&) noexcept = default;

  std::size_t size() const { return raw_.size(); }
  // The index of the output of this name; NOT_FOUND.
  Result<std::size_t> index_of(std::string_view name) const {
    if (state_ != nullptr) {
      for (std::size_t i = 0; i < state_->output_names.size(); ++i) {
        if (state_->output_names[i] == name) return i;
      }
    }
    return Error(Code::kNotFound, "there is no output \"" + std::string(name) + "\"");
  }
  Result<DType> dtype(std::size_t index) const {
    if (auto known = check(index); !known) return known.error();
    return static_cast<DType>(raw_[index].dtype);
  }
  Result<Shape> shape(std::size_t index) const {
    if (auto known = check(index); !known) return known.error();
    return shape_of(raw_[index]);
  }
  // The elements. INVALID_ARGUMENT for another element type, an output in a donated input's memory, and on a device.
  template <typename T>
  Result<Span<const T>> get(std::size_t index) const {
    if (auto known = check_host(index); !known) return known.error();
    const auto dtype = static_cast<DType>(raw_[index].dtype);
    if (dtype != dtype_of<T>()) {
      return detail::invalid(named(index) + " is " + name_of(dtype) + ", not " + name_of(dtype_of<T>()));
    }
    const std::int64_t count = shape_of(raw_[index]).elements().value_or(0);
    return Span<const T>(static_cast<const T*>(raw_[index].data), static_cast<std::size_t>(count));
  }
  template <typename T>
  Result<Span<const T>> get(std::string_view name) const {
    Result<std::size_t> index = index_of(name);
    if (!index) return index.error();
    return get<T>(*index);
  }
  template <typename T>
  Result<std::vector<T>> copy(std::size_t index) const {
    Result<Span<const T>> elements = get<T>(index);
    if (!elements) return elements.error();
    return std::vector<T>(elements->begin(), elements->end());
  }
  // Transfers the output with its memory; once. The session's next run uses other memory.
  Result<Tensor> take(std::size_t index) {
    Result<DLManagedTensor*> taken = take_dlpack(index);
    if (!taken) return taken.error();
    auto* managed = reinterpret_cast<detail::ManagedTensor*>(*taken);
    const tailor_tensor& raw = raw_[index];
    const Shape shape = shape_of(raw);
    const auto dtype = static_cast<DType>(raw.dtype);
    const auto bytes = static_cast<std::size_t>(shape.elements().value_or(0) * size_of(dtype));
    Tensor out(static_cast<char*>(managed->data) + managed->byte_offset, bytes, dtype, shape, managed, [](void* owner) {
      auto* tensor = static_cast<detail::ManagedTensor*>(owner);
      tensor->deleter(tensor);
    });
    out.on_device_ = raw.device != 0;
    return out;
  }
  // The same as a DLPack tensor, for another library: the caller owns it. `stream`: CUDA, waits for the run.
  Result<DLManagedTensor*> take_dlpack(std::size_t index, void* stream = nullptr) {
    const detail::Hold hold(state_);  // first: no run may come between the check and the transfer
    if (auto known = check(index); !known) return known.error();
    if (!hold.held()) return hold.error("take");
    DLManagedTensor* out = nullptr;
    if (auto done = detail::check(tailor_session_take_output(state_->raw.get(), index, stream, &out)); !done) {
      return done.error();
    }
    raw_[index].data = nullptr;
    taken_[index] = true;
    return out;
  }
  // The address in device memory; INVALID_ARGUMENT for an output in host memory.
  Result<const void*> device_address(std::size_t index) const {
    if (auto known = check(index); !known) return known.error();
    if (raw_[index].device == 0) return detail::invalid(named(index) + " is in host memory");
    return static_cast<const void*>(raw_[index].data);
  }

 private:
  friend class Session;

  Outputs(std::shared_ptr<const detail::SessionState> state, const std::vector<tailor_tensor>& raw)
      : state_(std::const_pointer_cast<detail::SessionState>(std::move(state))),
        serial_(state_->serial.load(std::memory_order_relaxed)),
        raw_(raw),
        taken_(raw.size()) {}

  static Shape shape_of(const tailor_tensor& raw) {
    return Span<const std::int64_t>(raw.dims, static_cast<std::size_t>(raw.rank));
  }
  std::string named(std::size_t index) const {
    return "output " + std::to_string(index) + " \"" + state_->output_names[index] + "\"";
  }
  Result<void> check(std::size_t index) const {
    if (index >= raw_.size()) {
      return Error(Code::kOutOfRange,
                   "there is no output " + std::to_string(index) + ", only " + std::to_string(raw_.size()));
    }
    if (serial_ != state_->serial.load(std::memory_order_relaxed)) {
      return Error(Code::kFailedPrecondition, named(index) + " is of an earlier run: the session has run again");
    }
    if (taken_[index]) return Error(Code::kFailedPrecondition, named(index) + " was taken already");
    return {};
  }
  Result<void> check_host(std::size_t index) const {
    if (auto known = check(index); !known) return known;
    if (state_->in_input[index]) {
      return detail::invalid(named(index) + " is in the memory of a donated input: read it there");
    }
    if (raw_[index].device != 0)
      return detail::invalid(named(index) + " is in the device's memory: see device_address");
    return {};
  }

  std::shared_ptr<detail::SessionState> state_;
  std::uint64_t serial_ = 0;
  std::vector<tailor_tensor> raw_;
  std::vector<bool> taken_;
};

// Workspace and threads for one stream of runs; one call at a time, others are FAILED_PRECONDITION. Move-only.
class Session {
 public:
  Session(Session&&) noexcept = default;
  Session& operator=(Session&&) noexcept = default;

  static Result<Session> create(const Executable& executable, const SessionOptions& options = {}) {
    Result<std::vector<TensorInfo>> outputs = executable.outputs();
    if (!outputs) return outputs.error();
    Result<std::vector<TensorInfo>> inputs = executable.inputs();
    if (!inputs) return inputs.error();
    auto state = std::make_shared<detail::SessionState>(executable, options);
    state->inputs_info = *std::move(inputs);
    for (const TensorInfo& output : *outputs) {
      state->output_names.push_back(output.name);
      state->in_input.push_back(output.memory_of.has_value());
    }
    tailor_session_options c;
    tailor_session_options_init(&c);
    c.threads = options.threads;
    if (options.parallel_for) c.parallel_for = detail::SessionState::run_parallel_for;
    c.parallel_user = state.get();
    c.copy_strided = options.copy_strided;
    c.idle_sleep = options.idle_sleep;
    c.timeout_ns = options.timeout.count();
    if (options.trace) c.trace = detail::SessionState::run_trace;
    c.trace_user = state.get();
    c.stream = options.stream;
    c.asynchronous = options.asynchronous;
    c.host_outputs = options.host_outputs;
    c.cuda_graph = options.cuda_graph;
    tailor_session* raw = nullptr;
    if (auto made = detail::check(tailor_session_create(executable.get(), &c, &raw)); !made) return made.error();
    state->raw.reset(raw);
    return Session(std::move(state));
  }

  // Runs once. The inputs are read, and the outputs are memory of the session: see Outputs.
  Result<Outputs> run(Span<const ConstTensorView> inputs) { return run_provided("run", inputs, true); }
  // The same without waiting for the end of the run, for sessions that are `asynchronous`: until `wait` has returned or
  // `poll` is true, inputs must live unchanged, and outputs are incomplete.
  Result<Outputs> start(Span<const ConstTensorView> inputs) { return run_provided("start", inputs, false); }
  // Runs once, into memory of the caller. Dim sizes of -1 in the views' shapes are filled in.
  Result<void> run_into(Span<const ConstTensorView> inputs, Span<TensorView> outputs) {
    return run_caller_owned("run_into", inputs, outputs, true);
  }
  Result<void> run_into(Span<const ConstTensorView> inputs, std::initializer_list<TensorView> outputs) {
    std::vector<TensorView> views(outputs);
    return run_into(inputs, Span<TensorView>(views));
  }
  Result<void> start_into(Span<const ConstTensorView> inputs, Span<TensorView> outputs) {
    return run_caller_owned("start_into", inputs, outputs, false);
  }

  // Binds the memory that every run_bound uses; it stays the caller's and must outlive these runs.
  Result<void> bind(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) {
    const detail::Hold hold(state_);
    if (!hold.held()) return hold.error("bind");
    detail::SessionState& state = *hold.state();
    if (auto made = to_c(state, inputs, outputs); !made) return made;
    return detail::check(tailor_session_bind(state.raw.get(), state.inputs.data(), state.inputs.size(),
                                             state.outputs.data(), state.outputs.size()));
  }
  Result<void> run_bound() {
    const detail::Hold hold(state_);
    if (!hold.held()) return hold.error("run_bound");
    detail::SessionState& state = *hold.state();
    state.serial.fetch_add(1, std::memory_order_relaxed);
    detail::RunScope scope;
    return ended(state, scope, tailor_session_run_bound(state.raw.get()), true);
  }

  // Grows the workspace to the size for inputs of these shapes, without running.
  Result<void> reserve(Span<const Shape> inputs) {
    const detail::Hold hold(state_);
    if (!hold.held()) return hold.error("reserve");
    detail::SessionState& state = *hold.state();
    state.serial.fetch_add(1, std::memory_order_relaxed);
    state.inputs.clear();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].valid()) return detail::invalid("input " + std::to_string(i) + ": it has too many dims");
      tailor_tensor tensor;
      tailor_tensor_init(&tensor);
      tensor.dtype = i < state.inputs_info.size() ? static_cast<std::int32_t>(state.inputs_info[i].dtype) : TAILOR_F32;
      tensor.rank = static_cast<std::int32_t>(inputs[i].rank());
      std::copy(inputs[i].dims().begin(), inputs[i].dims().end(), tensor.dims);
      state.inputs.push_back(tensor);
    }
    return detail::check(tailor_session_reserve(state.raw.get(), state.inputs.data(), state.inputs.size()));
  }

  // Cancels the run in progress, or else the next one: it is CANCELLED, and the session stays usable. From any thread,
  // also while another runs the session.
  Result<void> cancel() const { return detail::check(tailor_session_cancel(get())); }
  // Takes back a `cancel` that has found no run.
  Result<void> uncancel() const { return detail::check(tailor_session_uncancel(get())); }
  // Later runs that take longer are DEADLINE_EXCEEDED; 0: no limit.
  Result<void> set_timeout(std::chrono::nanoseconds timeout) {
    const detail::Hold hold(state_);
    if (!hold.held()) return hold.error("set_timeout");
    return detail::check(tailor_session_set_timeout(state_->raw.get(), timeout.count()));
  }
  // Frees workspace and outputs, except those taken; the next run allocates again.
  Result<void> trim() {
    const detail::Hold hold(state_);
    if (!hold.held()) return hold.error("trim");
    state_->serial.fetch_add(1, std::memory_order_relaxed);
    return detail::check(tailor_session_trim(state_->raw.get()));
  }

  // Random operators of later runs compute from `seed`, and the runs are numbered from 0.
  Result<void> set_seed(std::uint64_t seed) {
    const detail::Hold hold(state_);
    if (!hold.held()) return hold.error("set_seed");
    return detail::check(tailor_session_set_seed(state_->raw.get(), seed));
  }

  // Returns when all runs have ended, with their failure if no call has reported it.
  Result<void> wait() {
    const detail::Hold hold(state_);
    if (!hold.held()) return hold.error("wait");
    return detail::check(tailor_session_wait(state_->raw.get()));
  }
  // True when all runs have ended.
  Result<bool> poll() {
    const detail::Hold hold(state_);
    if (!hold.held()) return hold.error("poll");
    std::int32_t done = 0;
    if (auto polled = detail::check(tailor_session_poll(state_->raw.get(), &done)); !polled) return polled.error();
    return done != 0;
  }
  // CUDA: later runs begin after the work that CUevent `event` recorded; `event` records the runs so far.
  Result<void> follow(void* event) {
    const detail::Hold hold(state_);
    if (!hold.held()) return hold.error("follow");
    return detail::check(tailor_session_follow(state_->raw.get(), event));
  }
  Result<void> record(void* event) {
    const detail::Hold hold(state_);
    if (!hold.held()) return hold.error("record");
    return detail::check(tailor_session_record(state_->raw.get(), event));
  }
  // CUDA: the CUstream of the session's work; null on the CPU.
  void* stream() const { return tailor_session_stream(get()); }

  // The handle of the C API, which the object keeps. Null after a move. Calls with it do not end Outputs.
  tailor_session* get() const { return state_ == nullptr ? nullptr : state_->raw.get(); }

 private:
  explicit Session(std::shared_ptr<detail::SessionState> state) : state_(std::move(state)) {}

  Result<Outputs> run_provided(const char* method, Span<const ConstTensorView> inputs, bool wait) {
    const detail::Hold hold(state_);
    if (!hold.held()) return hold.error(method);
    detail::SessionState& state = *hold.state();
    if (auto made = to_c(state, inputs, {}); !made) return made.error();
    state.outputs.resize(state.output_names.size());
    for (tailor_tensor& output : state.outputs) tailor_tensor_init(&output);
    if (auto done = run_held(state, wait); !done) return done.error();
    return Outputs(hold.state(), state.outputs);
  }
  Result<void> run_caller_owned(const char* method, Span<const ConstTensorView> inputs, Span<TensorView> outputs,
                                bool wait) {
    const detail::Hold hold(state_);
    if (!hold.held()) return hold.error(method);
    detail::SessionState& state = *hold.state();
    if (auto made = to_c(state, inputs, {outputs.data(), outputs.size()}); !made) return made;
    if (auto done = run_held(state, wait); !done) return done;
    for (std::size_t i = 0; i < outputs.size(); ++i) detail::ViewAccess::set_dims(outputs[i], state.outputs[i]);
    return {};
  }

  // The views as C tensors, for a call that ends earlier outputs.
  static Result<void> to_c(detail::SessionState& state, Span<const ConstTensorView> inputs,
                           Span<const TensorView> outputs) {
    state.serial.fetch_add(1, std::memory_order_relaxed);
    if (auto made = detail::to_c("input", inputs, &state.inputs); !made) return made;
    for (std::size_t i = 0; i < inputs.size() && i < state.inputs_info.size(); ++i) {
      if (!state.inputs_info[i].donated || detail::ViewAccess::writable(inputs[i])) continue;
      return detail::const_donated(state.inputs_info[i].name);
    }
    return detail::to_c("output", outputs, &state.outputs);
  }
  static Result<void> run_held(detail::SessionState& state, bool wait) {
    detail::RunScope scope;
    return ended(state, scope,
                 tailor_session_run(state.raw.get(), state.inputs.data(), state.inputs.size(), state.outputs.data(),
                                    state.outputs.size()),
                 wait);
  }
  // The result of a run. Work that is in progress is waited for after a failure too: it may still read the inputs.
  static Result<void> ended(detail::SessionState& state, detail::RunScope& scope, tailor_status* status, bool wait) {
    Result<void> done = detail::check(status);
    if (wait || !done) {
      Result<void> waited = detail::check(tailor_session_wait(state.raw.get()));
      if (done) done = std::move(waited);
    }
    state.caught.rethrow();
    scope.rethrow();
    return done;
  }

  std::shared_ptr<detail::SessionState> state_;
};

inline Result<Session> Executable::session() const { return Session::create(*this); }
inline Result<Session> Executable::session(const SessionOptions& options) const {
  return Session::create(*this, options);
}

}  // namespace TAILOR_HPP
}  // namespace tailor

#endif  // TAILOR_HPP_SESSION_HPP_
