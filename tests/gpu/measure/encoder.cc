// A BERT encoder in bf16 with seeded weights, compiled once for all (B, S).
#include <algorithm>
#include <map>
#include <string>

#include "tests/gpu/measure/gpu_graph.h"
#include "tests/gpu/measure/measurement.h"

namespace tailor::bench {
namespace {

constexpr EncoderSize kLarge = {.layers = 24, .heads = 16, .hidden = 1024, .inner = 4096};
constexpr EncoderSize kTiny = {.layers = 1, .heads = 2, .hidden = 16, .inner = 32, .vocabulary = 100, .positions = 32};

// Compiled at the first call for its kind. Kept to the end of the process, where the driver may be gone before.
const tailor_executable* Encoder(const Gpu& gpu, const std::string& kind, const EncoderSize& size) {
  static auto* const compiled = new std::map<std::string, ExecutableHandle>;
  ExecutableHandle& executable = (*compiled)[kind];
  if (executable == nullptr) executable = CompileFor(gpu, BuildEncoder(SeededEncoder(size, 1), TAILOR_BF16).get());
  return executable.get();
}

}  // namespace

// Beside seconds, numbers of the last embedding, by which other engines' are compared: "y0", "y1", ...
Measured MeasureEncoder(const Gpu& gpu, const MeasuredCase& asked) {
  const EncoderSize size = asked.kind == "bert_large" ? kLarge : kTiny;
  const tailor_executable* executable = Encoder(gpu, asked.kind, size);
  const int64_t batch = asked.dim_sizes[0], length = asked.dim_sizes[1], tokens = batch * length;
  std::vector<int64_t> ids(tokens), mask(tokens, 1);
  for (int64_t i = 0; i < tokens; ++i) ids[i] = (1000 + i * 7919) % size.vocabulary;
  const GpuMemory ids_there(gpu, ids.data(), tokens * 8), mask_there(gpu, mask.data(), tokens * 8);
  std::vector<float> embeddings(batch * size.hidden);
  const GpuMemory out(gpu, embeddings.size() * sizeof(float));
  const SessionHandle bound = BoundOn(
      gpu, executable, {OnGpu(ids_there, TAILOR_I64, {batch, length}), OnGpu(mask_there, TAILOR_I64, {batch, length})},
      {OnGpu(out, TAILOR_F32, {batch, size.hidden})});
  Measured measured;
  measured.figures["seconds"] = TakeTurns(gpu, {[&] { Run(bound.get()); }})[0];
  measured.figures["launches"] = static_cast<double>(tailor_executable_launch_count(executable));
  out.Read(embeddings.data());
  const float* last = embeddings.data() + (batch - 1) * size.hidden;
  for (int64_t i = 0; i < std::min<int64_t>(size.hidden, 64); ++i) measured.figures["y" + std::to_string(i)] = last[i];
  return measured;
}

}  // namespace tailor::bench
