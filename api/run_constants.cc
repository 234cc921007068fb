#include "api/run_constants.h"

#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "api/compiler_status.h"
#include "graph/status_macros.h"
#include "serialization/aligned_bytes.h"
#include "serialization/writer.h"
#include "tailor/runtime.h"

namespace tailor {
namespace {

constexpr std::chrono::milliseconds kInterval(50);

struct Release {
  void operator()(tailor_executable* executable) const { tailor_executable_release(executable); }
  void operator()(tailor_session* session) const { tailor_session_release(session); }
};

absl::Status Run(tailor_session& session, std::vector<tailor_tensor>& outputs) {
  return FromC(tailor_session_run(&session, nullptr, 0, outputs.data(), outputs.size()));
}

// Runs on a thread of its own, so that the caller's can call `at_interval`; on the caller's if the system gives none.
absl::Status RunWatched(tailor_session& session, std::vector<tailor_tensor>& outputs,
                        const std::function<absl::Status()>& at_interval) {
  std::future<absl::Status> run;
  try {
    run = std::async(std::launch::async, [&] { return Run(session, outputs); });
  } catch (const std::system_error&) {
    return Run(session, outputs);
  }
  absl::Status ended;
  while (run.wait_for(kInterval) != std::future_status::ready) {
    if (ended.ok()) ended = at_interval();
    if (!ended.ok()) tailor_status_release(tailor_session_cancel(&session));
  }
  const absl::Status status = run.get();
  return ended.ok() ? status : ended;
}

}  // namespace

absl::StatusOr<std::vector<ConstantData>> RunConstants(const driver::CompiledProgram& program, int threads,
                                                       const std::function<absl::Status()>& at_interval) {
  AlignedBytes artifact;
  TAILOR_RETURN_IF_ERROR(FromC(ToC(WriteArtifact(program.program, {}, &artifact))));
  tailor_executable* loaded = nullptr;
  TAILOR_RETURN_IF_ERROR(FromC(tailor_executable_load_memory(
      nullptr, artifact.data(), artifact.size(), nullptr, [](void*) {}, nullptr, &loaded)));
  const std::unique_ptr<tailor_executable, Release> executable(loaded);
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.threads = static_cast<uint64_t>(threads);
  tailor_session* created = nullptr;
  TAILOR_RETURN_IF_ERROR(FromC(tailor_session_create(executable.get(), &options, &created)));
  const std::unique_ptr<tailor_session, Release> session(created);

  std::vector<tailor_tensor> outputs(tailor_executable_output_count(executable.get()));
  for (tailor_tensor& output : outputs) tailor_tensor_init(&output);
  TAILOR_RETURN_IF_ERROR(RunWatched(*session, outputs, at_interval));
  std::vector<ConstantData> values;
  for (const tailor_tensor& output : outputs) {
    auto bytes = std::make_shared<AlignedBytes>(output.data_bytes);
    std::memcpy(bytes->data(), output.data, output.data_bytes);
    const void* data = bytes->data();
    values.push_back({std::move(bytes), data, output.data_bytes, std::nullopt});
  }
  return values;
}

}  // namespace tailor
