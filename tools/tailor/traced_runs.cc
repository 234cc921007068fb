#include "tools/tailor/traced_runs.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/handles.h"
#include "tools/tailor/files.h"

namespace tailor {
namespace {

using nlohmann::json;

constexpr const char* kUnknown = "?";

// Receives the trace events of one session.
class EventRecorder {
 public:
  static void OnEvent(void* self, const tailor_trace_event* event) {
    TracedRun* run = static_cast<EventRecorder*>(self)->run_;
    if (run == nullptr) return;
    if (event->launch >= 0) {
      run->launches.push_back({event->launch, event->version, event->begin_ns, event->end_ns});
    } else {
      run->begin = event->begin_ns, run->end = event->end_ns;
    }
  }

  // Where a run is recorded; null: nowhere.
  void RecordTo(TracedRun* run) { run_ = run; }

 private:
  TracedRun* run_ = nullptr;
};

std::string VersionText(const ModelSignature& signature, const TracedLaunch& launch) {
  const std::vector<std::string>& versions = signature.launches[static_cast<size_t>(launch.launch)].versions;
  const bool known = launch.version >= 0 && static_cast<size_t>(launch.version) < versions.size();
  return known ? versions[static_cast<size_t>(launch.version)] : kUnknown;
}

double Microseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-3; }

json NameEvent(const char* what, size_t process, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", process}, {"args", {{"name", name}}}};
}

json SpanEvent(const char* category, const std::string& name, size_t process, int64_t begin, int64_t end, json args) {
  return {{"ph", "X"},
          {"cat", category},
          {"name", name},
          {"pid", process},
          {"tid", process},
          {"ts", Microseconds(begin)},
          {"dur", Microseconds(end - begin)},
          {"args", std::move(args)}};
}

// The events of one run, at times relative to `zero`.
void AddRun(const ModelTrace& model, const TracedRun& run, size_t process, int64_t zero, json* events) {
  const std::string dims = Text(run.dims);
  events->push_back(SpanEvent("run", dims.empty() ? "run" : "run " + dims, process, run.begin - zero, run.end - zero,
                              json(run.dims)));
  for (const TracedLaunch& launch : run.launches) {
    json args = {{"launch", launch.launch}, {"version", VersionText(model.signature, launch)}, {"dims", dims}};
    events->push_back(SpanEvent("launch", model.signature.launches[static_cast<size_t>(launch.launch)].kernel, process,
                                launch.begin - zero, launch.end - zero, std::move(args)));
  }
}

}  // namespace

ModelTrace TraceRuns(const LoadedModel& model, uint64_t threads, const std::vector<SymbolValues>& shapes,
                     InputBuffers* inputs) {
  EventRecorder recorder;
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.threads = threads;
  options.host_outputs = 1;
  options.trace = EventRecorder::OnEvent;
  options.trace_user = &recorder;
  tailor_session* created = nullptr;
  Check(tailor_session_create(model.executable.get(), &options, &created));
  const SessionHandle session(created);
  std::vector<tailor_tensor> outputs(model.signature.outputs.size());
  const auto run = [&](const std::vector<tailor_tensor>& tensors) {
    for (tailor_tensor& output : outputs) tailor_tensor_init(&output);
    Check(tailor_session_run(session.get(), tensors.data(), tensors.size(), outputs.data(), outputs.size()));
  };
  ModelTrace trace = {model.path, model.signature, {}};
  for (const SymbolValues& shape : shapes) run(inputs->At(shape));
  for (const SymbolValues& shape : shapes) {
    TracedRun traced = {shape, 0, 0, {}};
    recorder.RecordTo(&traced);
    run(inputs->At(shape));
    recorder.RecordTo(nullptr);
    trace.runs.push_back(std::move(traced));
  }
  return trace;
}

void WriteTrace(const std::string& path, const std::vector<ModelTrace>& models) {
  json events = json::array();
  for (size_t process = 0; process < models.size(); ++process) {
    const ModelTrace& model = models[process];
    const size_t id = process + 1;  // 0 means the idle process to viewers
    events.push_back(NameEvent("process_name", id, model.name + " (" + model.signature.target + ")"));
    events.push_back(NameEvent("thread_name", id, "session"));
    const int64_t zero = model.runs.empty() ? 0 : model.runs.front().begin;
    for (const TracedRun& run : model.runs) AddRun(model, run, id, zero, &events);
  }
  const json file = {{"displayTimeUnit", "ns"},
                     {"otherData", {{"producer", std::string("tailor ") + tailor_version()}}},
                     {"traceEvents", std::move(events)}};
  WriteFile(path, file.dump(1, ' ') + "\n");
}

std::vector<KernelTime> KernelTimes(const ModelTrace& trace) {
  std::map<std::pair<std::string, std::string>, KernelTime> by_version;
  for (const TracedRun& run : trace.runs) {
    for (const TracedLaunch& launch : run.launches) {
      const std::string& kernel = trace.signature.launches[static_cast<size_t>(launch.launch)].kernel;
      const std::string version = VersionText(trace.signature, launch);
      KernelTime& time = by_version[{kernel, version}];
      time.kernel = kernel, time.version = version;
      ++time.launches;
      time.nanoseconds += launch.end - launch.begin;
    }
  }
  std::vector<KernelTime> times;
  for (auto& [key, time] : by_version) times.push_back(std::move(time));
  std::sort(times.begin(), times.end(), [](auto& a, auto& b) { return a.nanoseconds > b.nanoseconds; });
  return times;
}

}  // namespace tailor
