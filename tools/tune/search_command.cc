#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "codegen/link/target_machine.h"
#include "tools/measure/measuring_thread.h"
#include "tools/measure/averages.h"
#include "tools/tune/commands.h"
#include "tools/tune/interleaved_times.h"
#include "tools/tune/plain_matmul.h"
#include "tools/tune/region_search.h"
#include "tools/tune/schedule_space.h"

namespace tailor::tune {
namespace {

std::string TileText(const ContractionTile& tile) {
  const std::string tall =
      tile.tall_rows == 0 ? "" : ", tall " + std::to_string(tile.tall_rows) + "x" + std::to_string(tile.tall_panels);
  return std::to_string(tile.rows) + "x" + std::to_string(tile.panels) + tall + ", task " +
         std::to_string(tile.task_rows) + "x" + std::to_string(tile.task_panels) + ", depth " +
         std::to_string(tile.depth);
}

// Times schedules of one matmul against the compiler's.
class TileJudge {
 public:
  explicit TileJudge(const SearchArguments& arguments)
      : form_{.n = arguments.n, .k = arguments.k}, rows_(arguments.rows), own_(PlainMatmul::Compile(form_)) {
    for (const int64_t m : rows_) operands_.push_back(std::make_unique<PlainOperands>(m, arguments.n, arguments.k));
  }

  const MatmulForm& form() const { return form_; }
  const ContractionTile& own_tile() const { return own_->tile(); }

  // The time under `tile` over that of the compiler's schedule, for each number of rows.
  std::vector<double> Ratios(const ContractionTile& tile, int rounds) const {
    constexpr double kSeconds = 2e-4;
    const std::unique_ptr<PlainMatmul> matmul = PlainMatmul::Compile(form_, tile);
    std::vector<double> ratios;
    for (const auto& operands : operands_) {
      const std::vector<double> times = LeastTimes({operands->Bind(*own_), operands->Bind(*matmul)}, rounds, kSeconds);
      ratios.push_back(times[1] / times[0]);
    }
    return ratios;
  }

 private:
  const MatmulForm form_;
  const std::vector<int64_t> rows_;
  const std::unique_ptr<PlainMatmul> own_;
  std::vector<std::unique_ptr<PlainOperands>> operands_;
};

// The result of one search.
struct Found {
  std::vector<double> best_after;  // by trials less one
  Point best;
};

// Values are cached by point, so that searches differ only in the points that they ask for.
using MeasuredPoints = std::map<Point, double>;

Found RunSearch(Search& search, const SearchSpace& space, const TileJudge& judge, int trials,
                MeasuredPoints& measured) {
  constexpr int kRounds = 15;
  Found found;
  double best = std::numeric_limits<double>::infinity();
  for (int trial = 0; trial < trials; ++trial) {
    const Point point = search.Next();
    if (measured.count(point) == 0) {
      measured[point] = std::log(GeometricMean(judge.Ratios(TileOf(space.ValuesOf(point)), kRounds)));
    }
    search.Tell(measured[point]);
    if (measured[point] < best) best = measured[point], found.best = point;
    found.best_after.push_back(std::exp(best));
  }
  return found;
}

void PrintProgress(const std::vector<Found>& regions, const std::vector<Found>& random, int trials) {
  const auto typical = [](const std::vector<Found>& searches, int trial) {
    std::vector<double> values;
    for (const Found& found : searches) values.push_back(found.best_after[trial - 1]);
    return Median(values);
  };
  std::printf("| trials | trust regions | random |\n|---|---|---|\n");
  for (int trial = 1; trial < trials; trial *= 2) {
    std::printf("| %d | %.3f | %.3f |\n", trial, typical(regions, trial), typical(random, trial));
  }
  std::printf("| %d | %.3f | %.3f |\n", trials, typical(regions, trials), typical(random, trials));
}

// The schedule of the lowest value, measured once more.
void PrintBest(const SearchArguments& arguments, const SearchSpace& space, const TileJudge& judge,
               const MeasuredPoints& measured) {
  constexpr int kRounds = 60;
  const auto lower = [](const auto& a, const auto& b) { return a.second < b.second; };
  const Point best = std::min_element(measured.begin(), measured.end(), lower)->first;
  const ContractionTile tile = TileOf(space.ValuesOf(best));
  const std::vector<double> ratios = judge.Ratios(tile, kRounds);
  std::printf("\n%zu schedules measured. The compiler's: %s\nThe best found: %s\n", measured.size(),
              TileText(judge.own_tile()).c_str(), TileText(tile).c_str());
  std::printf("\n| M x K x N | time of the best found over the compiler's |\n|---|---|\n");
  for (size_t i = 0; i < ratios.size(); ++i) {
    std::printf("| %lldx%lldx%lld | %.3f |\n", static_cast<long long>(arguments.rows[i]),
                static_cast<long long>(arguments.k), static_cast<long long>(arguments.n), ratios[i]);
  }
  std::printf("| geometric mean | %.3f |\n", GeometricMean(ratios));
}

void CheckArguments(const SearchArguments& arguments) {
  const auto require = [](bool kept, const char* what) {
    if (!kept) throw std::runtime_error(what);
  };
  constexpr int64_t kMost = 1 << 16;
  const auto is_dim_size = [](int64_t dim_size) { return dim_size >= 1 && dim_size <= kMost; };
  require(is_dim_size(arguments.n) && is_dim_size(arguments.k), "--n and --k are between 1 and 65536");
  require(!arguments.rows.empty() && std::all_of(arguments.rows.begin(), arguments.rows.end(), is_dim_size),
          "--rows are between 1 and 65536");
  require(arguments.trials >= 1 && arguments.seeds >= 1, "--trials and --seeds are at least 1");
}

}  // namespace

void SearchSchedules(const SearchArguments& arguments) {
  CheckArguments(arguments);
  PinToCurrentCpu();
  const TileJudge judge(arguments);
  const SearchSpace space = ScheduleSpace(judge.form(), HostCpuTarget().traits, ThisMachinesCaches());
  std::vector<Point> starts;
  const Point own = space.Nearest(AssignmentOf(judge.own_tile()));
  if (!arguments.from_scratch && space.Allows(own)) starts.push_back(own);

  MeasuredPoints measured;
  std::vector<Found> regions, random;
  for (int i = 0; i < arguments.seeds; ++i) {
    const uint64_t seed = arguments.seed + i;
    RegionSearch region_search(space, starts, seed);
    RandomSearch random_search(space, starts, seed);
    regions.push_back(RunSearch(region_search, space, judge, arguments.trials, measured));
    random.push_back(RunSearch(random_search, space, judge, arguments.trials, measured));
  }
  std::printf("Time of the best schedule found over that of the compiler's: median of %d seeds.\n\n", arguments.seeds);
  PrintProgress(regions, random, arguments.trials);
  PrintBest(arguments, space, judge, measured);
}

}  // namespace tailor::tune
