#include "codegen/driver/pack_constants.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/jobs/job_pool.h"
#include "graph/status_macros.h"

namespace tailor::driver {
namespace {

std::shared_ptr<std::byte> AllocateAligned(uint64_t bytes) {
  constexpr uint64_t kAlignment = 64;
  const uint64_t rounded = std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  return {static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)), [](std::byte* p) { std::free(p); }};
}

// Copies elements of a compile-time size, so that each copy is a single move.
template <int kBytes>
void PackPanel(const PanelSource& s, int64_t matrix, int64_t panel, std::byte* out) {
  const std::byte* from = s.data + matrix * s.rows * s.columns * kBytes;
  const int64_t first = panel * kPanelColumns;
  const int64_t width = std::min<int64_t>(kPanelColumns, s.columns - first);
  for (int64_t row = 0; row < s.rows; ++row, out += kPanelColumns * kBytes) {
    if (!s.transposed) {
      std::memcpy(out, from + (row * s.columns + first) * kBytes, width * kBytes);
    } else {
      for (int64_t c = 0; c < width; ++c) {
        std::memcpy(out + c * kBytes, from + ((first + c) * s.rows + row) * kBytes, kBytes);
      }
    }
    std::memset(out + width * kBytes, 0, (kPanelColumns - width) * kBytes);
  }
}

// Elements of kBytes, as many in each word as make 4 bytes.
template <int kBytes>
void PackWordPanel(const PanelSource& s, int64_t matrix, int64_t panel, std::byte* out) {
  constexpr int kSteps = 4 / kBytes;
  assert(s.element_bytes == kBytes && s.word_rows == kSteps);
  const std::byte* from = s.data + matrix * s.rows * s.columns * kBytes;
  const int64_t first = panel * kPanelColumns;
  const int64_t width = std::min<int64_t>(kPanelColumns, s.columns - first);
  std::memset(out, 0, s.panel_bytes());
  for (int64_t row = 0; row < s.rows; ++row) {
    std::byte* to = out + (row / kSteps * kPanelColumns * kSteps + row % kSteps) * kBytes;
    for (int64_t c = 0; c < width; ++c) {
      const int64_t element = s.transposed ? (first + c) * s.rows + row : row * s.columns + first + c;
      std::memcpy(to + c * kSteps * kBytes, from + element * kBytes, kBytes);
    }
  }
}

// Packs one Winograd point of the weights g of each channel pair: an element of G g G^T, rounded once.
void PackWinogradPanel(const PanelSource& s, int64_t matrix, int64_t panel, std::byte* out) {
  constexpr double kG[kWinogradSide][kWinogradWindow] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  const int64_t point = matrix % kWinogradPoints;
  const double *down = kG[point / kWinogradSide], *across = kG[point % kWinogradSide];
  const std::byte* from = s.data + matrix / kWinogradPoints * s.rows * s.columns * sizeof(float);
  const int64_t first = panel * kPanelColumns;
  const int64_t width = std::min<int64_t>(kPanelColumns, s.columns - first);
  // From one tap of a channel to the next, and from one channel to the next.
  constexpr int64_t kTaps = int64_t{kWinogradWindow} * kWinogradWindow;
  const int64_t tap_rows = s.taps_first ? s.panel_rows() : 1, channel_rows = s.taps_first ? 1 : kTaps;
  std::memset(out, 0, s.panel_bytes());
  for (int64_t channel = 0; channel < s.panel_rows(); ++channel) {
    for (int64_t c = 0; c < width; ++c) {
      double sum = 0;
      for (int i = 0; i < kTaps; ++i) {
        const int64_t row = channel * channel_rows + i * tap_rows;
        float weight;
        std::memcpy(&weight,
                    from + (s.transposed ? (first + c) * s.rows + row : row * s.columns + first + c) * sizeof weight,
                    sizeof weight);
        sum += down[i / kWinogradWindow] * across[i % kWinogradWindow] * weight;
      }
      const auto rounded = static_cast<float>(sum);
      std::memcpy(out + (channel * kPanelColumns + c) * sizeof rounded, &rounded, sizeof rounded);
    }
  }
}

std::string UniqueName(std::string name, std::set<std::string>& taken) {
  if (taken.insert(name).second) return name;
  for (int i = 2;; ++i) {
    std::string numbered = absl::StrCat(name, ".", i);
    if (taken.insert(numbered).second) return numbered;
  }
}

ProgramConstant Describe(const lower::LoweredProgram::Constant& constant, size_t index, std::set<std::string>& taken) {
  ProgramConstant described;
  described.name = UniqueName(constant.name.empty() ? absl::StrCat("constant", index) : constant.name, taken);
  described.dtype = constant.type.dtype;
  for (const DimExpr& dim : constant.type.shape) described.dims.push_back(*dim.constant());
  described.layout = constant.layout;
  if (constant.transpose) std::swap(described.dims.back(), *(described.dims.end() - 2));
  return described;
}

PanelSource SourceOf(const ProgramConstant& constant, const lower::LoweredProgram::Constant& lowered) {
  PanelSource source{
      static_cast<const std::byte*>(lowered.data.data), 1, 0, 0, SizeOf(constant.dtype), lowered.transpose};
  source.word_rows = StepsPerWord(constant.layout, constant.dtype);
  source.winograd = constant.layout == ConstantLayout::kWinogradPanels16;
  source.taps_first = lowered.taps_first;
  assert(constant.dims.size() >= 2);
  const size_t rank = constant.dims.size();
  for (size_t d = 0; d + 2 < rank; ++d) source.batch *= constant.dims[d];
  source.rows = constant.dims[rank - 2];
  source.columns = constant.dims[rank - 1];
  return source;
}

// A range of panels: one unit of parallel work.
struct PackJob {
  PanelSource source;
  int64_t begin, end;
  std::byte* out;
};

void AddJobs(const PanelSource& source, std::byte* out, std::vector<PackJob>& jobs) {
  constexpr int64_t kJobBytes = 1 << 20;
  const int64_t total = source.matrices() * source.panels();
  const int64_t step = std::max<int64_t>(1, kJobBytes / std::max<int64_t>(1, source.panel_bytes()));
  for (int64_t begin = 0; begin < total; begin += step) {
    jobs.push_back({source, begin, std::min(begin + step, total), out});
  }
}

}  // namespace

void PackPanels(const PanelSource& source, int64_t begin, int64_t end, std::byte* out) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t matrix = i / source.panels(), panel = i % source.panels();
    std::byte* to = out + i * source.panel_bytes();
    if (source.word_rows > 1 || source.winograd) {
      const auto pack = source.winograd         ? PackWinogradPanel
                        : source.word_rows == 2 ? PackWordPanel<2>
                                                : PackWordPanel<1>;
      pack(source, matrix, panel, to);
      continue;
    }
    switch (source.element_bytes) {
      case 1:
        PackPanel<1>(source, matrix, panel, to);
        break;
      case 2:
        PackPanel<2>(source, matrix, panel, to);
        break;
      case 4:
        PackPanel<4>(source, matrix, panel, to);
        break;
      default:
        PackPanel<8>(source, matrix, panel, to);
        break;
    }
  }
}

absl::StatusOr<PackedConstants> PackConstants(const lower::LoweredProgram& program, int threads,
                                              const std::function<absl::Status(double)>& report) {
  PackedConstants packed;
  std::set<std::string> taken;
  std::vector<PackJob> jobs;
  for (const lower::LoweredProgram::Constant& constant : program.constants) {
    const ConstantData& data = constant.data;
    ProgramConstant described = Describe(constant, packed.constants.size(), taken);
    if (constant.layout == ConstantLayout::kRowMajor) {
      described.bytes = {static_cast<const std::byte*>(data.data), data.size};
      packed.storage.push_back(data.owner);
    } else {
      const PanelSource source = SourceOf(described, constant);
      const uint64_t bytes = source.matrices() * source.panels() * source.panel_bytes();
      std::shared_ptr<std::byte> memory = AllocateAligned(bytes);
      if (memory == nullptr) {
        return absl::ResourceExhaustedError(absl::StrCat("no memory to pack constant ", described.name));
      }
      described.bytes = {memory.get(), bytes};
      if (bytes > 0) AddJobs(source, memory.get(), jobs);
      packed.storage.push_back(std::move(memory));
    }
    packed.constants.push_back(std::move(described));
  }
  const auto pack = [&](int i) {
    PackPanels(jobs[i].source, jobs[i].begin, jobs[i].end, jobs[i].out);
    return absl::OkStatus();
  };
  TAILOR_RETURN_IF_ERROR(RunJobs(threads, static_cast<int>(jobs.size()), pack, report));
  return packed;
}

}  // namespace tailor::driver
