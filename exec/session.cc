#include "exec/session.h"

#include <algorithm>
#include <string>

#include "exec/cache_size.h"
#include "exec/float_mode.h"
#include "exec/fork.h"

namespace tailor {
namespace {

// Word 0 of the shape cache: as generated code writes it, and after the miss was counted.
constexpr int64_t kLayoutComputed = 1, kLayoutCounted = 2;

// Null if the host has an allocator: what to use again is then the host's to decide.
std::shared_ptr<OutputPool> PoolOf(const Executable& executable) {
  const Allocator& allocator = executable.runtime().allocator();
  if (allocator.allocate != nullptr) return nullptr;
  return std::make_shared<OutputPool>(allocator, &executable.counters().memory());
}

}  // namespace

Failure Session::Create(const Executable& executable, const Options& options, std::unique_ptr<Session>* out) {
  const Runtime& runtime = executable.runtime();
  const uint64_t threads = runtime.ThreadsFor(options.threads);
  if (threads > kMaxThreads) {
    return {Code::kInvalidArgument,
            "threads is " + std::to_string(threads) + ", at most " + std::to_string(kMaxThreads), ""};
  }
  const HostExecutor& executor = options.executor.parallel_for != nullptr ? options.executor : runtime.executor();
  Parallelism parallelism{threads, nullptr, executor, options.sleep, ForkGeneration()};
  if (threads > 1 && executor.parallel_for == nullptr) {
    parallelism.team = runtime.Team(threads);
    if (parallelism.team == nullptr) {
      return {Code::kResourceExhausted, "the system does not give " + std::to_string(threads) + " threads", ""};
    }
  }
  std::unique_ptr<DeviceStream> stream;
  if (executable.device() != nullptr) {
    if (Failure f = executable.device()->MakeStream({options.stream, options.cuda_graph}, &stream); !f.ok()) return f;
  } else if (options.stream != nullptr || options.cuda_graph) {
    const std::string option = options.stream != nullptr ? "stream" : "cuda_graph";
    return {Code::kInvalidArgument, "options." + option + " is set, but the executable runs on the CPU", ""};
  }
  out->reset(new Session(executable, options, std::move(parallelism), std::move(stream)));
  return {};
}

Session::Session(const Executable& executable, const Options& options, Parallelism parallelism,
                 std::unique_ptr<DeviceStream> stream)
    : executable_(executable),
      run_(executable.run()),
      api_(stream != nullptr ? DeviceRtApi() : HostRtApi()),
      parallelism_(std::move(parallelism)),
      input_use_(options.copy_strided ? InputUse::kCopyStrided : InputUse::kDense),
      asynchronous_(options.asynchronous),
      stream_(std::move(stream)),
      memory_(stream_ != nullptr ? stream_->memory() : executable.runtime().allocator()),
      counters_(executable.counters()),
      workspace_(memory_, &executable.counters().memory()),
      pool_(PoolOf(executable)),
      provided_(executable.program().outputs.size()),
      host_shape_cache_(stream_ != nullptr ? 0 : std::max<uint64_t>(executable.variant().shape_cache_slots, 1)),
      custom_(executable.custom_table(), executable.seeds()),
      first_(executable.program(), executable.runtime().allocator(), stream_.get(),
             executable.variant().outputs_to_copy, &executable.counters().memory()),
      second_(executable.program(), executable.runtime().allocator(), stream_.get(),
              executable.variant().outputs_to_copy, &executable.counters().memory()) {
  MemoryCounters* const counters = &executable.counters().memory();
  for (size_t i = 0; i < executable.program().outputs.size(); ++i) {
    output_buffers_.push_back(OutputBuffer(stream_ != nullptr));
    alternates_.push_back(OutputBuffer(stream_ != nullptr));
    if (stream_ == nullptr || !options.host_outputs) continue;
    host_outputs_.push_back(OutputBuffer(/*on_device=*/false));
    host_alternates_.push_back(OutputBuffer(/*on_device=*/false));
  }
  for (uint64_t i = 0; i < executable.variant().growable_blocks; ++i) blocks_.emplace_back(memory_, counters);
  state_.context.struct_size = sizeof(RtContext);
  state_.context.constants = executable.constants();
  state_.context.shape_cache = stream_ != nullptr ? stream_->shape_cache() : host_shape_cache_.data();
  state_.context.workers =
      stream_ != nullptr ? executable.device()->workers() : static_cast<int64_t>(parallelism_.threads);
  state_.context.streamed_bytes = StreamedBytes();
  state_.context.costs = &executable.costs();
  state_.context.grid_sync = stream_ != nullptr ? stream_->grid_sync() : nullptr;
  state_.context.interrupted = IsInterrupted;
  state_.workspace = &workspace_;
  state_.outputs = &output_buffers_;
  state_.blocks = &blocks_;
  state_.kernels = executable.variant().device_kernels.size();
  state_.parallelism = &parallelism_;
  state_.stream = stream_.get();
  state_.provider = &executable.runtime().provider();
  state_.custom = &custom_;
  state_.float_control = FloatControlOf(executable.program().flush_denormals);
  state_.tracing = Tracing(options.tracing, executable.variant().launches.size());
  if (state_.tracing.on()) state_.interrupt.AskAlways();
  state_.interrupt.SetTimeout(options.timeout);
}

GrowingBuffer Session::OutputBuffer(bool on_device) const {
  MemoryCounters* const counters = &executable_.counters().memory();
  if (on_device) return GrowingBuffer(memory_, counters);
  return pool_ != nullptr ? GrowingBuffer(pool_, counters) : GrowingBuffer(executable_.runtime().allocator(), counters);
}

Session::~Session() {
  if (pool_ != nullptr) pool_->Close();
  if (stream_ == nullptr) return;
  const OnDevice on_device(stream_.get());
  stream_->Wait();
}

int32_t Session::Execute(Arguments* arguments) {
  state_.arguments = arguments;
  arguments->ClearOutputs();
  counters_.BeginRun();
  custom_.BeginRun();
  state_.interrupt.BeginRun();
  const FloatMode mode(state_.float_control);
  const int32_t code = stream_ != nullptr ? ExecuteOnDevice(arguments) : ExecuteOnHost(arguments);
  state_.interrupt.EndRun();
  if (code != 0) [[unlikely]] {
    counters_.AddFailedRun();
    if (WasInterrupted(state_.fault)) counters_.AddCancelledRun();
  } else if (state_.context.shape_cache[0] == kLayoutComputed) [[unlikely]] {
    counters_.AddShapeCacheMiss();
    state_.context.shape_cache[0] = kLayoutCounted;
  }
  counters_.EndRun();
  return code;
}

// Runs the program, unless the run is cancelled by now.
int32_t Session::CallProgram(Arguments* arguments) {
  if (state_.interrupt.Ends()) [[unlikely]]
    return api_.poll(&state_.context, kBetweenLaunches);
  if (!state_.tracing.on()) [[likely]]
    return run_(&api_, &state_.context, arguments->in(), arguments->out());
  PlanResult plan{sizeof(PlanResult), 0, state_.tracing.versions()};
  if (const int32_t code = executable_.plan()(&api_, &state_.context, arguments->in(), arguments->out(), &plan)) {
    return code;  // the run would fail alike
  }
  state_.tracing.BeginRun();
  const int32_t code = run_(&api_, &state_.context, arguments->in(), arguments->out());
  state_.tracing.EndRun();
  return code;
}

int32_t Session::ExecuteOnHost(Arguments* arguments) {
  arguments->CopyInputs();
  const int32_t code = CallProgram(arguments);
  if (code != 0) [[unlikely]] {
    state_.context.shape_cache[0] = 0;  // the shape cache may describe a workspace that was not allocated
  }
  return code;
}

int32_t Session::ExecuteOnDevice(Arguments* arguments) {
  const OnDevice on_device(stream_.get());
  state_.fault = {Fault::Kind::kDevice, 0, 0, 0, 0};
  stream_->BeginRun();
  bool ok = arguments->CopyInputs() && CallProgram(arguments) == 0;
  if (!ok) state_.context.shape_cache[0] = 0;
  ok = ok && stream_->EndRun() && arguments->CopyOutputs() && ProvideHostOutputs();
  // After a failure too: work enqueued before it uses the caller's memory.
  if (!asynchronous_) ok = AwaitDevice(ok) && ok;
  return ok ? 0 : 1;
}

// Copies the outputs that the session provides to host memory, if requested.
bool Session::ProvideHostOutputs() {
  for (size_t i = 0; i < host_outputs_.size(); ++i) {
    const TensorArg& made = state_.arguments->out()[i];
    const auto bytes = static_cast<uint64_t>(state_.arguments->output_bytes(i));
    if (state_.arguments->output(i).data != nullptr || bytes == 0) continue;
    // An earlier run's copy may still write the memory that Grow frees.
    if (bytes > host_outputs_[i].size() && !stream_->Wait()) return false;
    if (!host_outputs_[i].Grow(bytes)) {
      state_.fault = {Fault::Kind::kOutputMemory, static_cast<int32_t>(i), 0, static_cast<int64_t>(bytes), 0};
      return false;
    }
    if (!stream_->Download(host_outputs_[i].data(), made.data, bytes)) return false;
  }
  return true;
}

// Waits for all work, and records a fault that its kernels reported, if none is recorded yet.
bool Session::AwaitDevice(bool note_fault) {
  const int64_t record = executable_.variant().fault_word;
  Fault found;
  const bool ended = stream_->Wait();
  notifications_.CallPending();
  if (!ended) return false;
  if (record < 0 || !TakeFault(state_.context.shape_cache + record, &found)) return true;
  if (note_fault) state_.fault = found;
  return false;
}

Failure Session::Wait() {
  if (stream_ == nullptr) return {};
  const OnDevice on_device(stream_.get());
  state_.fault = {Fault::Kind::kDevice, 0, 0, 0, 0};
  return AwaitDevice(/*note_fault=*/true) ? Failure{} : RunFailure();
}

Failure Session::Poll(bool* done) {
  *done = true;
  if (stream_ == nullptr) return {};
  {
    const OnDevice on_device(stream_.get());
    *done = stream_->Poll() != DeviceStream::Progress::kBusy;
  }
  return *done ? Wait() : Failure{};
}

Failure Session::Notify(Notifications::Ended ended, void* user) {
  if (stream_ == nullptr || !asynchronous_) return ended(user), Failure{};
  const OnDevice on_device(stream_.get());
  return notifications_.Add(*stream_, ended, user) ? Failure{} : stream_->FirstFailure();
}

Failure Session::WaitForEvent(void* event) {
  if (Failure f = CheckOfDevice("event", event); !f.ok()) return f;
  const OnDevice on_device(stream_.get());
  return stream_->WaitForEvent(event) ? Failure{} : stream_->FirstFailure();
}

Failure Session::Record(void* event) {
  if (Failure f = CheckOfDevice("event", event); !f.ok()) return f;
  const OnDevice on_device(stream_.get());
  return stream_->Record(event) ? Failure{} : stream_->FirstFailure();
}

// Whether `argument` may be a handle of the device.
Failure Session::CheckOfDevice(const char* name, const void* argument) const {
  const char* problem = stream_ == nullptr ? " is given, but the executable runs on the CPU" : " is null";
  return stream_ != nullptr && argument != nullptr ? Failure{}
                                                   : Failure{Code::kInvalidArgument, name + std::string(problem), ""};
}

Failure Session::TakeOutput(size_t i, void* stream, std::unique_ptr<TakenOutput>* out) {
  const Program& program = executable_.program();
  if (i >= program.outputs.size()) {
    return {Code::kOutOfRange,
            "index is " + std::to_string(i) + ", but there are " + std::to_string(program.outputs.size()) + " outputs",
            ""};
  }
  if (!provided_[i]) {
    return {Code::kFailedPrecondition,
            "output \"" + program.outputs[i].name + "\" is none that the session's last run provided", ""};
  }
  if (stream != nullptr) {
    if (Failure f = CheckOfDevice("stream", stream); !f.ok()) return f;
    const OnDevice on_device(stream_.get());
    if (!stream_->MakeStreamWait(stream)) return stream_->FirstFailure();
  }
  GrowingBuffer& memory = host_outputs_.empty() ? output_buffers_[i] : host_outputs_[i];
  void* const data = free_->output_bytes(i) > 0 ? memory.data() : EmptyTensorData();
  std::vector<int64_t> dims(free_->out()[i].dims, free_->out()[i].dims + free_->output_rank(i));
  auto taken = std::make_unique<TakenOutput>(stream_, std::move(memory));  // nothing may fail from here on
  taken->data = data;
  taken->dtype = program.outputs[i].dtype;
  taken->dims = std::move(dims);
  taken->device = stream_ != nullptr && host_outputs_.empty() ? kDeviceMemory : kHostMemory;
  provided_[i] = false;
  *out = std::move(taken);
  return {};
}

Failure Session::RunFailure() const {
  if (state_.fault.kind == Fault::Kind::kDevice) {
    if (Failure f = stream_->FirstFailure(); !f.ok()) return f;
  }
  if (state_.fault.kind == Fault::Kind::kCustom) {
    return custom_.Describe(state_.fault.index, static_cast<int32_t>(state_.fault.lhs));
  }
  return DescribeFault(executable_.program(), state_.fault);
}

Failure Session::SetArguments(InputList inputs, OutputList outputs, OutputUse use) {
  const OnDevice on_device(stream_.get());
  provided_.assign(provided_.size(), false);
  if (Failure f = free_->SetInputs(inputs, input_use_); !f.ok()) return f;
  if (Failure f = free_->SetOutputs(outputs, use); !f.ok()) return f;
  KeepWhatIsRead();
  return free_->CheckOverlap(output_buffers_);
}

// Outputs of the run before that are inputs of this one stay as they are: this run writes to their alternates.
void Session::KeepWhatIsRead() {
  for (size_t i = 0; i < output_buffers_.size(); ++i) {
    if (free_->output(i).target != nullptr) continue;
    if (free_->Reads(output_buffers_[i])) output_buffers_[i].Swap(alternates_[i]);
    if (!host_outputs_.empty() && free_->Reads(host_outputs_[i])) host_outputs_[i].Swap(host_alternates_[i]);
  }
}

Failure Session::Run(InputList inputs, OutputList outputs, OutputUse use) {
  state_.fault = {};
  if (Failure f = SetArguments(inputs, outputs, use); !f.ok()) {
    counters_.AddRefusedRun();
    return f;
  }
  if (Execute(free_) != 0) return RunFailure();
  for (size_t i = 0; i < outputs.size(); ++i) {
    DescribeOutput(i, outputs);
    provided_[i] = free_->output(i).data == nullptr;
  }
  return {};
}

// Writes the run's result to outputs[i].
void Session::DescribeOutput(size_t i, OutputList outputs) const {
  const Arguments::Output& wanted = free_->output(i);
  const TensorArg& made = free_->out()[i];
  const size_t rank = free_->output_rank(i);
  std::copy_n(made.dims, rank, outputs[i].dims);
  if (wanted.given) return;
  const DType dtype = executable_.program().outputs[i].dtype;
  outputs[i].rank = static_cast<int32_t>(rank);
  outputs[i].dtype = static_cast<int32_t>(dtype);
  outputs[i].data = wanted.data != nullptr ? wanted.data : made.data;
  outputs[i].data_bytes = free_->output_bytes(i);
  int64_t device = wanted.data != nullptr ? wanted.device : stream_ != nullptr ? kDeviceMemory : kHostMemory;
  if (wanted.data == nullptr && !host_outputs_.empty()) {
    device = kHostMemory;
    outputs[i].data = outputs[i].data_bytes > 0 ? host_outputs_[i].data() : EmptyTensorData();
  }
  if (outputs.has_device()) outputs[i].device = device;
}

Failure Session::Bind(InputList inputs, OutputList outputs) {
  if (Failure f = SetArguments(inputs, outputs, OutputUse::kNeedDimSizes); !f.ok()) return f;
  bound_ = free_;
  free_ = bound_ == &first_ ? &second_ : &first_;
  return {};
}

Failure Session::BoundFailure() const {
  if (bound_ == nullptr) return {Code::kFailedPrecondition, "no buffers are bound: call tailor_session_bind", ""};
  return RunFailure();
}

Failure Session::Trim() {
  if (Failure f = Wait(); !f.ok()) return f;
  const OnDevice on_device(stream_.get());
  provided_.assign(provided_.size(), false);
  // Shape caches of inner programs describe growable blocks.
  std::fill_n(state_.context.shape_cache, std::max<uint64_t>(executable_.variant().shape_cache_slots, 1), 0);
  state_.context.workspace = nullptr;
  state_.context.workspace_bytes = 0;
  workspace_.Free();
  for (std::vector<GrowingBuffer>* buffers :
       {&output_buffers_, &alternates_, &blocks_, &host_outputs_, &host_alternates_}) {
    for (GrowingBuffer& buffer : *buffers) buffer.Free();
  }
  if (pool_ != nullptr) pool_->Trim();
  free_->FreeCopies();
  return {};
}

uint64_t Session::memory_bytes() const {
  return workspace_.size() + TotalBytes(output_buffers_) + TotalBytes(alternates_) + TotalBytes(blocks_) +
         TotalBytes(host_outputs_) + TotalBytes(host_alternates_) + (pool_ != nullptr ? pool_->kept_bytes() : 0) +
         first_.copied_bytes() + second_.copied_bytes();
}

Failure Session::Reserve(InputList inputs) {
  const OnDevice on_device(stream_.get());
  state_.fault = {};
  provided_.assign(provided_.size(), false);
  if (Failure f = free_->SetInputs(inputs, InputUse::kShapesOnly); !f.ok()) return f;
  state_.context.shape_cache[0] = 0;  // the shape cache describes the previous workspace
  PlanResult plan{sizeof(PlanResult), 0, nullptr};
  if (executable_.plan()(&api_, &state_.context, free_->in(), free_->out(), &plan) != 0 ||
      api_.grow(&state_.context, stream_ != nullptr ? 1 : 0, plan.workspace_bytes) != 0) {
    return RunFailure();
  }
  return {};
}

}  // namespace tailor
