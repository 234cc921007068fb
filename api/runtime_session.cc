// Sessions, runs and plans.
#include <memory>
#include <numeric>
#include <vector>

#include "api/handle.h"
#include "api/runtime_handles.h"
#include "api/runtime_status.h"
#include "exec/session.h"
#include "exec/tensor.h"

using tailor::CheckHandle;
using tailor::CheckHeld;
using tailor::CheckPointer;
using tailor::Failure;
using tailor::HandleKind;
using tailor::InputList;
using tailor::OutputList;
using tailor::OutputUse;
using tailor::Writer;

// Arrays of tailor_tensor pass to exec/ unconverted.
static_assert(sizeof(tailor_tensor) == sizeof(tailor::Tensor) && alignof(tailor_tensor) == alignof(tailor::Tensor));
static_assert(offsetof(tailor_tensor, data) == offsetof(tailor::Tensor, data));
static_assert(offsetof(tailor_tensor, data_bytes) == offsetof(tailor::Tensor, data_bytes));
static_assert(offsetof(tailor_tensor, dtype) == offsetof(tailor::Tensor, dtype));
static_assert(offsetof(tailor_tensor, rank) == offsetof(tailor::Tensor, rank));
static_assert(offsetof(tailor_tensor, dims) == offsetof(tailor::Tensor, dims));
static_assert(offsetof(tailor_tensor, strides) == offsetof(tailor::Tensor, strides));
static_assert(offsetof(tailor_tensor, device) == offsetof(tailor::Tensor, device));
static_assert(sizeof(tailor_trace_event) == sizeof(tailor::TraceEvent));
static_assert(offsetof(tailor_trace_event, launch) == offsetof(tailor::TraceEvent, launch));
static_assert(offsetof(tailor_trace_event, version) == offsetof(tailor::TraceEvent, version));
static_assert(offsetof(tailor_trace_event, begin_ns) == offsetof(tailor::TraceEvent, begin_ns));
static_assert(offsetof(tailor_trace_event, end_ns) == offsetof(tailor::TraceEvent, end_ns));

namespace {

// Reads a caller's array; its stride is the first element's struct_size.
template <typename From, typename To>
tailor_status* ReadTensors(const char* function, const char* parameter, From* tensors, size_t count,
                           tailor::Strided<To>* out) {
  if (count == 0) return nullptr;
  if (auto* bad = CheckPointer(function, parameter, tensors)) return bad;
  const uint64_t stride = tensors->struct_size;
  if (stride < tailor::kLeastTensorBytes || stride > 4096 || stride % alignof(tailor_tensor) != 0) {
    return tailor::InvalidParameter(function, parameter, "has a wrong struct_size: use tailor_tensor_init");
  }
  for (size_t i = 0; stride > sizeof(tailor_tensor) && i < count; ++i) {
    const void* tensor = reinterpret_cast<const char*>(tensors) + i * stride;
    if (auto* bad = tailor::CheckUnknownBytes(function, parameter, tensor, sizeof(tailor_tensor), stride)) return bad;
  }
  *out = {reinterpret_cast<To*>(tensors), count, stride};
  return nullptr;
}

template <typename Outputs>
tailor_status* ReadBoth(const char* function, const tailor_tensor* inputs, size_t input_count, Outputs* outputs,
                        size_t output_count, InputList* in, OutputList* out) {
  if (auto* bad = ReadTensors(function, "inputs", inputs, input_count, in)) return bad;
  return ReadTensors(function, "outputs", const_cast<tailor_tensor*>(outputs), output_count, out);
}

// The total over all kernels; a kernel may have several launches.
uint64_t CountVersions(const tailor::Variant& variant) {
  std::vector<size_t> versions(variant.kernel_bytes.size());
  for (const tailor::ProgramLaunch& launch : variant.launches) {
    if (static_cast<size_t>(launch.code) < versions.size()) versions[launch.code] = launch.versions.size();
  }
  return std::accumulate(versions.begin(), versions.end(), uint64_t{0});
}

void ReadCounts(const tailor::Executable& executable, tailor_executable_counts* out) {
  const tailor::ExecutableCounts counts = executable.counters().Read();
  out->runs = counts.runs;
  out->failed_runs = counts.failed_runs;
  out->cancelled_runs = counts.cancelled_runs;
  out->runs_in_progress = counts.runs_in_progress;
  out->sessions = counts.sessions;
  out->pooled_sessions = executable.idle_sessions();
  out->workspace_bytes = counts.workspace_bytes;
  for (const tailor::ProgramConstant& constant : executable.program().constants) {
    out->constants_bytes += constant.bytes.size();
  }
  out->shape_cache_misses = counts.shape_cache_misses;
  out->workspace_growths = counts.workspace_growths;
}

}  // namespace

tailor_status* tailor_session_create(const tailor_executable* executable, const tailor_session_options* options,
                                     tailor_session** out) {
  constexpr auto kFunction = "tailor_session_create";
  if (auto* bad = CheckHandle(kFunction, "executable", executable, HandleKind::kExecutable)) return bad;
  if (auto* bad = CheckPointer(kFunction, "out", out)) return bad;
  tailor_session_options read;
  tailor_session_options_init(&read);
  if (auto* bad = tailor::TakeOptions(kFunction, options, &read)) return bad;
  if (read.timeout_ns < 0) return tailor::InvalidParameter(kFunction, "options.timeout_ns", "is negative");
  const auto trace = reinterpret_cast<tailor::Tracing::Function>(read.trace);
  return tailor::Guarded([&]() -> Failure {
    if (Failure f = executable->artifact.constants.CheckUnchanged(); !f.ok()) return f;
    auto session = std::make_unique<tailor_session>();
    Failure f = tailor::Session::Create(*executable->executable,
                                        {read.threads,
                                         {read.parallel_for, read.parallel_user},
                                         read.copy_strided != 0,
                                         read.idle_sleep != 0,
                                         {trace, read.trace_user},
                                         read.stream,
                                         read.asynchronous != 0,
                                         read.host_outputs != 0,
                                         read.timeout_ns,
                                         read.cuda_graph != 0},
                                        &session->session);
    if (!f.ok()) return f;
    session->executable = executable;
    session->asynchronous = read.asynchronous != 0 && executable->executable->device() != nullptr;
    tailor_executable_retain(executable);
    *out = session.release();
    return {};
  });
}

void tailor_session::Free(tailor_session* session) {
  session->kind = HandleKind::kReleased;
  const tailor_executable* executable = session->executable;
  delete session;
  tailor_executable_release(const_cast<tailor_executable*>(executable));
}

void tailor_session_release(tailor_session* session) {
  if (!tailor::IsHandle(session, HandleKind::kSession)) return;
  if (session->in_use.Release()) tailor_session::Free(session);
}

tailor_status* tailor_session_run(tailor_session* session, const tailor_tensor* inputs, size_t input_count,
                                  tailor_tensor* outputs, size_t output_count) {
  constexpr auto kFunction = "tailor_session_run";
  if (auto* bad = CheckHandle(kFunction, "session", session, HandleKind::kSession)) return bad;
  const Writer<tailor_session> writer(*session);
  if (auto* bad = CheckHeld(kFunction, session, writer)) return bad;
  InputList in;
  OutputList out;
  if (auto* bad = ReadBoth(kFunction, inputs, input_count, outputs, output_count, &in, &out)) return bad;
  return tailor::Guarded([&] { return session->session->Run(in, out, OutputUse::kMayProvide); });
}

tailor_status* tailor_session_bind(tailor_session* session, const tailor_tensor* inputs, size_t input_count,
                                   const tailor_tensor* outputs, size_t output_count) {
  constexpr auto kFunction = "tailor_session_bind";
  if (auto* bad = CheckHandle(kFunction, "session", session, HandleKind::kSession)) return bad;
  const Writer<tailor_session> writer(*session);
  if (auto* bad = CheckHeld(kFunction, session, writer)) return bad;
  InputList in;
  OutputList out;
  if (auto* bad = ReadBoth(kFunction, inputs, input_count, outputs, output_count, &in, &out)) return bad;
  return tailor::Guarded([&] { return session->session->Bind(in, out); });
}

tailor_status* tailor_session_run_bound(tailor_session* session) {
  constexpr auto kFunction = "tailor_session_run_bound";
  if (auto* bad = CheckHandle(kFunction, "session", session, HandleKind::kSession)) return bad;
  const Writer<tailor_session> writer(*session);
  if (auto* bad = CheckHeld(kFunction, session, writer)) return bad;
  if (session->session->RunBound()) [[likely]]
    return nullptr;
  return tailor::Guarded([&] { return session->session->BoundFailure(); });
}

tailor_status* tailor_session_wait(tailor_session* session) {
  constexpr auto kFunction = "tailor_session_wait";
  if (auto* bad = CheckHandle(kFunction, "session", session, HandleKind::kSession)) return bad;
  const Writer<tailor_session> writer(*session);
  if (auto* bad = CheckHeld(kFunction, session, writer)) return bad;
  return tailor::Guarded([&] { return session->session->Wait(); });
}

tailor_status* tailor_session_poll(tailor_session* session, int32_t* done) {
  constexpr auto kFunction = "tailor_session_poll";
  if (auto* bad = CheckHandle(kFunction, "session", session, HandleKind::kSession)) return bad;
  const Writer<tailor_session> writer(*session);
  if (auto* bad = CheckHeld(kFunction, session, writer)) return bad;
  if (auto* bad = CheckPointer(kFunction, "done", done)) return bad;
  bool ended = false;
  auto* failed = tailor::Guarded([&] { return session->session->Poll(&ended); });
  *done = ended ? 1 : 0;
  return failed;
}

tailor_status* tailor_session_notify(tailor_session* session, void (*ended)(void* user), void* user) {
  constexpr auto kFunction = "tailor_session_notify";
  if (auto* bad = CheckHandle(kFunction, "session", session, HandleKind::kSession)) return bad;
  {
    const Writer<tailor_session> writer(*session);
    if (auto* bad = CheckHeld(kFunction, session, writer)) return bad;
    if (ended == nullptr) return tailor::InvalidParameter(kFunction, "ended", "is null");
    if (session->asynchronous) return tailor::Guarded([&] { return session->session->Notify(ended, user); });
  }
  ended(user);  // whoever this wakes may use the session
  return nullptr;
}

tailor_status* tailor_session_follow(tailor_session* session, void* event) {
  constexpr auto kFunction = "tailor_session_follow";
  if (auto* bad = CheckHandle(kFunction, "session", session, HandleKind::kSession)) return bad;
  const Writer<tailor_session> writer(*session);
  if (auto* bad = CheckHeld(kFunction, session, writer)) return bad;
  return tailor::Guarded([&] { return session->session->WaitForEvent(event); });
}

tailor_status* tailor_session_record(tailor_session* session, void* event) {
  constexpr auto kFunction = "tailor_session_record";
  if (auto* bad = CheckHandle(kFunction, "session", session, HandleKind::kSession)) return bad;
  const Writer<tailor_session> writer(*session);
  if (auto* bad = CheckHeld(kFunction, session, writer)) return bad;
  return tailor::Guarded([&] { return session->session->Record(event); });
}

void* tailor_session_stream(const tailor_session* session) {
  return tailor::IsHandle(session, HandleKind::kSession) ? session->session->stream() : nullptr;
}

tailor_status* tailor_session_reserve(tailor_session* session, const tailor_tensor* inputs, size_t input_count) {
  constexpr auto kFunction = "tailor_session_reserve";
  if (auto* bad = CheckHandle(kFunction, "session", session, HandleKind::kSession)) return bad;
  const Writer<tailor_session> writer(*session);
  if (auto* bad = CheckHeld(kFunction, session, writer)) return bad;
  InputList in;
  if (auto* bad = ReadTensors(kFunction, "inputs", inputs, input_count, &in)) return bad;
  return tailor::Guarded([&] { return session->session->Reserve(in); });
}

tailor_status* tailor_session_trim(tailor_session* session) {
  constexpr auto kFunction = "tailor_session_trim";
  if (auto* bad = CheckHandle(kFunction, "session", session, HandleKind::kSession)) return bad;
  const Writer<tailor_session> writer(*session);
  if (auto* bad = CheckHeld(kFunction, session, writer)) return bad;
  return tailor::Guarded([&] { return session->session->Trim(); });
}

tailor_status* tailor_session_set_seed(tailor_session* session, uint64_t seed) {
  constexpr auto kFunction = "tailor_session_set_seed";
  if (auto* bad = CheckHandle(kFunction, "session", session, HandleKind::kSession)) return bad;
  const Writer<tailor_session> writer(*session);
  if (auto* bad = CheckHeld(kFunction, session, writer)) return bad;
  return tailor::Guarded([&]() -> Failure {
    session->session->SetSeed(seed);
    return {};
  });
}

tailor_status* tailor_session_cancel(const tailor_session* session) {
  if (auto* bad = CheckHandle("tailor_session_cancel", "session", session, HandleKind::kSession)) return bad;
  session->session->Cancel();
  return nullptr;
}

tailor_status* tailor_session_uncancel(const tailor_session* session) {
  if (auto* bad = CheckHandle("tailor_session_uncancel", "session", session, HandleKind::kSession)) return bad;
  session->session->Uncancel();
  return nullptr;
}

tailor_status* tailor_session_set_timeout(tailor_session* session, int64_t timeout_ns) {
  constexpr auto kFunction = "tailor_session_set_timeout";
  if (auto* bad = CheckHandle(kFunction, "session", session, HandleKind::kSession)) return bad;
  const Writer<tailor_session> writer(*session);
  if (auto* bad = CheckHeld(kFunction, session, writer)) return bad;
  if (timeout_ns < 0) return tailor::InvalidParameter(kFunction, "timeout_ns", "is negative");
  session->session->SetTimeout(timeout_ns);
  return nullptr;
}

tailor_status* tailor_executable_run(const tailor_executable* executable, const tailor_tensor* inputs,
                                     size_t input_count, tailor_tensor* outputs, size_t output_count) {
  constexpr auto kFunction = "tailor_executable_run";
  if (auto* bad = CheckHandle(kFunction, "executable", executable, HandleKind::kExecutable)) return bad;
  InputList in;
  OutputList out;
  if (auto* bad = ReadBoth(kFunction, inputs, input_count, outputs, output_count, &in, &out)) return bad;
  return tailor::Guarded([&] { return executable->executable->Run(in, out); });
}

tailor_status* tailor_executable_trim(const tailor_executable* executable) {
  constexpr auto kFunction = "tailor_executable_trim";
  if (auto* bad = CheckHandle(kFunction, "executable", executable, HandleKind::kExecutable)) return bad;
  return tailor::Guarded([&]() -> Failure {
    executable->executable->Trim();
    return {};
  });
}

tailor_status* tailor_executable_counters(const tailor_executable* executable, tailor_executable_counts* out) {
  constexpr auto kFunction = "tailor_executable_counters";
  if (auto* bad = CheckHandle(kFunction, "executable", executable, HandleKind::kExecutable)) return bad;
  if (auto* bad = CheckPointer(kFunction, "out", out)) return bad;
  tailor_executable_counts counts;
  tailor_executable_counts_init(&counts);
  auto* failed = tailor::Guarded([&]() -> Failure {
    ReadCounts(*executable->executable, &counts);
    return {};
  });
  return failed != nullptr ? failed : tailor::WriteInfo(kFunction, counts, out);
}

tailor_status* tailor_executable_plan(const tailor_executable* executable, const tailor_tensor* inputs,
                                      size_t input_count, tailor_tensor* outputs, size_t output_count,
                                      tailor_plan_info* info) {
  constexpr auto kFunction = "tailor_executable_plan";
  if (auto* bad = CheckHandle(kFunction, "executable", executable, HandleKind::kExecutable)) return bad;
  InputList in;
  OutputList out;
  if (auto* bad = ReadBoth(kFunction, inputs, input_count, outputs, output_count, &in, &out)) return bad;
  tailor_plan_info read;
  tailor_plan_info_init(&read);
  if (auto* bad = tailor::TakeOptions(kFunction, info, &read, "info")) return bad;
  auto* failed = tailor::Guarded([&]() -> Failure {
    Failure f = executable->executable->Plan(in, out, read.threads, read.chosen, &read.workspace_bytes);
    if (!f.ok() || info == nullptr) return f;
    const tailor::Variant& variant = executable->executable->variant();
    read.data_dependent = variant.growable_blocks > 0;
    read.reads_back = variant.reads_back;
    read.kernels = variant.kernel_bytes.size();
    read.versions = CountVersions(variant);
    read.code_bytes = variant.image.size();
    return {};
  });
  if (failed != nullptr || info == nullptr) return failed;
  return tailor::WriteInfo(kFunction, read, info, "info");
}
