// tailor_runtime, the version, the CPU features and the counters.
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "api/handle.h"
#include "api/runtime_handles.h"
#include "api/runtime_status.h"
#include "exec/counters.h"
#include "exec/cpu_features.h"
#include "exec/cuda/cublas_lt.h"
#include "exec/usable_cpus.h"

using tailor::CheckPointer;
using tailor::Code;
using tailor::ConstantLayout;
using tailor::CublasLt;
using tailor::Failure;
using tailor::GemmArgs;
using tailor::HandleKind;
using tailor::InvalidParameter;
using tailor::MatmulProvider;

namespace {

// "x86-64-v4; uses: avx2, ...; cannot use: amx-tile (the CPU does not have it), ..."
std::string CpuFeaturesText() {
  const tailor::CpuId& cpu = tailor::ThisCpu();
  std::string uses, cannot;
  for (std::string_view name : tailor::KnownFeatures()) {
    const std::string feature(name);
    const auto missing = tailor::MissingFeatures(cpu, {&feature, 1});
    if (missing.empty()) {
      uses += (uses.empty() ? "" : ", ") + feature;
    } else {
      cannot += (cannot.empty() ? "" : ", ") + feature + " (" + missing.front().substr(feature.size() + 2) + ")";
    }
  }
  return std::string(tailor::CpuLevel(cpu)) + "; uses: " + uses + "; cannot use: " + cannot;
}

// tailor_product has the layout of GemmArgs, which generated code fills.
static_assert(sizeof(tailor_product) == sizeof(GemmArgs) &&
              offsetof(tailor_product, batch) == offsetof(GemmArgs, batch) &&
              offsetof(tailor_product, lhs_strides) == offsetof(GemmArgs, lhs_strides) &&
              offsetof(tailor_product, out) == offsetof(GemmArgs, out));
static_assert(TAILOR_PANELS_16 == static_cast<int>(ConstantLayout::kPanels16) &&
              TAILOR_PAIR_PANELS_16 == static_cast<int>(ConstantLayout::kWordPanels16));

tailor_status* ReadProvider(const char* function, const tailor_product_provider* provider, MatmulProvider* out) {
  constexpr auto kParameter = "options.product_provider";
  tailor_product_provider read;
  tailor_product_provider_init(&read);
  if (auto* bad = tailor::TakeOptions(function, provider, &read, kParameter)) return bad;
  if (provider != nullptr && (read.take == nullptr || read.multiply == nullptr)) {
    return InvalidParameter(function, kParameter, "lacks take or multiply");
  }
  *out = {read.user, read.take, read.multiply, read.forget, {}};
  return nullptr;
}

Failure AtMost(const char* option, uint64_t value, uint64_t limit) {
  if (value <= limit) return {};
  return {Code::kInvalidArgument,
          "options." + std::string(option) + " is " + std::to_string(value) + ", at most " + std::to_string(limit), ""};
}

Failure ReadPoolLimits(const tailor_runtime_options& options, tailor::PoolLimits* out) {
  if (options.pooled_sessions != 0) out->sessions = options.pooled_sessions;
  if (options.pooled_bytes != 0) out->bytes = options.pooled_bytes;
  return AtMost("pooled_sessions", options.pooled_sessions, tailor::PoolLimits::kMaxSessions);
}

}  // namespace

const char* tailor_version(void) { return TAILOR_VERSION; }

int32_t tailor_version_number(void) { return TAILOR_VERSION_NUMBER; }

uint64_t tailor_usable_cpus(void) { return tailor::UsableCpus(); }

const char* tailor_cpu_features(void) {
  try {
    static const std::string text = CpuFeaturesText();
    return text.c_str();
  } catch (...) {
    return "x86-64";  // no memory for the full text
  }
}

tailor_status* tailor_runtime_create(const tailor_runtime_options* options, tailor_runtime** out) {
  constexpr auto kFunction = "tailor_runtime_create";
  tailor_runtime_options read;
  tailor_runtime_options_init(&read);
  if (auto* bad = tailor::TakeOptions(kFunction, options, &read)) return bad;
  tailor::ReleaseCallback released{read.released, read.user};  // called on every path that ends without a runtime
  if (auto* bad = CheckPointer(kFunction, "out", out)) return bad;
  if ((read.allocate == nullptr) != (read.deallocate == nullptr)) {
    return InvalidParameter(kFunction, "options", "sets only one of allocate and deallocate");
  }
  MatmulProvider provider;
  if (auto* bad = ReadProvider(kFunction, read.product_provider, &provider)) return bad;
  return tailor::Guarded([&]() -> Failure {
    if (read.product_choice != nullptr) {
      const std::string wrong = provider.choice.Parse(tailor::TextOf(read.product_choice, read.product_choice_size));
      if (!wrong.empty()) return {Code::kInvalidArgument, "product choice: " + wrong, ""};
    }
    if (Failure f = AtMost("parallel_threads", read.parallel_threads, tailor::kMaxThreads); !f.ok()) return f;
    std::shared_ptr<CublasLt> cublas_lt;
    if (read.cublas_lt != 0) {
      cublas_lt = std::make_shared<CublasLt>();
      if (Failure f = CublasLt::Load(tailor::CublasLtPaths(), cublas_lt.get()); !f.ok()) return f;
    }
    tailor::PoolLimits pool;
    if (Failure f = ReadPoolLimits(read, &pool); !f.ok()) return f;
    const tailor::Runtime::Options made = {{read.allocate, read.deallocate, read.user},
                                           read.log,
                                           read.user,
                                           std::move(provider),
                                           std::move(cublas_lt),
                                           {read.parallel_for, read.parallel_user},
                                           read.parallel_threads,
                                           pool,
                                           read.perf_map != 0};
    auto runtime = std::make_unique<tailor_runtime>();
    runtime->runtime = std::make_shared<const tailor::Runtime>(made, std::move(released));
    *out = runtime.release();
    return {};
  });
}

void tailor_runtime_release(tailor_runtime* runtime) {
  if (!tailor::IsHandle(runtime, HandleKind::kRuntime)) return;
  runtime->kind = HandleKind::kReleased;
  delete runtime;
}

void tailor_counters_read(tailor_counters* out) {
  if (out == nullptr) return;
  const tailor::Counters now = tailor::ReadCounters();
  const tailor_counters info = {sizeof(info), now.images_linked, now.workspace_growths, now.runs};
  tailor_status_release(tailor::WriteInfo("tailor_counters_read", info, out));
}
