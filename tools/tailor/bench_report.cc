#include "tools/tailor/bench_report.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/measure/averages.h"
#include "tools/tailor/figures.h"
#include "tools/tailor/table.h"

namespace tailor {
namespace {

using nlohmann::json;

constexpr size_t kShapeRows = 40;   // further shapes are in the JSON alone
constexpr size_t kKernelRows = 12;  // of the table of kernels
constexpr size_t kVersionColumns = 48;

double Seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

std::vector<int64_t> AllOf(const std::vector<std::vector<int64_t>>& by_shape) {
  std::vector<int64_t> all;
  for (const std::vector<int64_t>& times : by_shape) all.insert(all.end(), times.begin(), times.end());
  return all;
}

double MeanSeconds(const std::vector<int64_t>& times) {
  double sum = 0;
  for (const int64_t time : times) sum += Seconds(time);
  return sum / static_cast<double>(times.size());
}

// By shape: the median of the second model over that of the first.
std::vector<double> Ratios(const BenchReport& report) {
  std::vector<double> ratios;
  for (size_t i = 0; i < report.shapes.size(); ++i) {
    ratios.push_back(Seconds(Percentile(report.times[1].by_shape[i], 0.5)) /
                     Seconds(std::max<int64_t>(Percentile(report.times[0].by_shape[i], 0.5), 1)));
  }
  return ratios;
}

std::string RatioText(double ratio) { return NumberText(ratio) + "x"; }

json Distribution(const std::vector<int64_t>& times) {
  return {{"runs", times.size()},
          {"mean_seconds", MeanSeconds(times)},
          {"p50_seconds", Seconds(Percentile(times, 0.50))},
          {"p90_seconds", Seconds(Percentile(times, 0.90))},
          {"p99_seconds", Seconds(Percentile(times, 0.99))},
          {"max_seconds", Seconds(Percentile(times, 1))}};
}

std::vector<std::string> TimeCells(const std::vector<int64_t>& times) {
  std::vector<std::string> cells;
  for (const double share : {0.50, 0.90, 0.99, 1.0}) cells.push_back(TimeText(Seconds(Percentile(times, share))));
  return cells;
}

std::string Plural(uint64_t count, const std::string& noun, const std::string& ending = "s") {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : ending);
}

std::string ShapesText(const BenchReport& report) {
  std::string dims;
  for (const std::string& argument : report.arguments.input.dims) dims += (dims.empty() ? "" : ",") + argument;
  if (report.shapes.size() == 1) return "shape " + Text(report.shapes[0]);
  return Plural(report.shapes.size(), "shape") + (report.arguments.random_dims > 0 ? " drawn from " : " of ") + dims;
}

void PrintHead(const BenchReport& report) {
  for (const BenchModel& model : report.models) {
    const ModelSignature& signature = model.model->signature;
    std::cout << model.model->path << "  " << signature.target << ", "
              << Plural(signature.launches.size(), "kernel launch", "es") << ", " << ByteText(signature.artifact_bytes)
              << ", " << (model.model->compiled ? "compiled" : "loaded") << " in " << TimeText(model.model->seconds)
              << "\n";
  }
  const BenchArguments& arguments = report.arguments;
  const size_t runs = AllOf(report.times[0].by_shape).size();
  std::cout << ShapesText(report) << ", " << Plural(arguments.callers, "caller") << " of "
            << Plural(arguments.threads, "thread") << ", " << Plural(runs, "run")
            << (report.models.size() > 1 ? " of each" : "") << "\n\n";
}

// The file's name, with its folder where the other model has the same name.
std::string ModelName(const BenchReport& report, size_t model) {
  const std::filesystem::path path = report.models[model].model->path;
  const std::filesystem::path other = report.models[report.models.size() - 1 - model].model->path;
  return report.models.size() > 1 && path.filename() == other.filename() ? path.string() : path.filename().string();
}

// One row of the table of times.
void AddRow(const BenchReport& report, const std::string& shape, size_t model, const std::vector<int64_t>& times,
            double runs_per_second, double items_per_second, double ratio, Table* table) {
  std::vector<std::string> row = {shape};
  const bool compares = report.models.size() > 1;
  if (compares) row.push_back(ModelName(report, model));
  for (std::string& cell : TimeCells(times)) row.push_back(std::move(cell));
  row.push_back(RateText(runs_per_second));
  if (!report.items.empty()) row.push_back(RateText(items_per_second));
  if (compares) row.push_back(model == 0 ? "" : RatioText(ratio));
  table->Add(std::move(row));
}

// What new shapes cost.
void PrintFirstRuns(const BenchReport& report) {
  for (size_t model = 0; model < report.models.size(); ++model) {
    const std::vector<int64_t>& first = report.times[model].first;
    std::cout << "first run of each shape" << (report.models.size() > 1 ? " (" + ModelName(report, model) + ")" : "")
              << ": P50 " << TimeText(Seconds(Percentile(first, 0.5))) << ", max "
              << TimeText(Seconds(Percentile(first, 1))) << "\n";
  }
}

Table TimesTable(const BenchReport& report) {
  const bool compares = report.models.size() > 1;
  std::vector<std::string> header = {"shape"};
  if (compares) header.push_back("model");
  for (const char* name : {"P50", "P90", "P99", "max", "runs/s"}) header.push_back(name);
  if (!report.items.empty()) header.push_back("items/s (" + report.items + ")");
  if (compares) header.push_back("time ratio");
  return Table(header, compares ? 2 : 1);
}

// The rows of each shape.
void AddShapes(const BenchReport& report, const std::vector<double>& ratios, Table* table) {
  const double callers = static_cast<double>(report.arguments.callers);
  for (size_t shape = 0; shape < std::min(report.shapes.size(), kShapeRows); ++shape) {
    for (size_t model = 0; model < report.models.size(); ++model) {
      const std::vector<int64_t>& times = report.times[model].by_shape[shape];
      const double rate = callers / MeanSeconds(times);
      AddRow(report, model == 0 ? Text(report.shapes[shape]) : "", model, times, rate,
             rate * static_cast<double>(report.models[model].items[shape]), ratios[shape], table);
    }
  }
}

void PrintTimes(const BenchReport& report) {
  const bool compares = report.models.size() > 1;
  Table table = TimesTable(report);
  const std::vector<double> ratios = compares ? Ratios(report) : std::vector<double>(report.shapes.size(), 1);
  if (report.arguments.random_dims == 0 && report.shapes.size() > 1) AddShapes(report, ratios, &table);
  const std::string name = report.shapes.size() == 1 ? Text(report.shapes[0]) : "all";
  for (size_t model = 0; model < report.models.size(); ++model) {
    const ModelTimes& times = report.times[model];
    AddRow(report, model == 0 ? name : "", model, AllOf(times.by_shape), times.runs_per_second, times.items_per_second,
           GeometricMean(ratios), &table);
  }
  table.Print();
  if (report.shapes.size() == 1) return;
  PrintFirstRuns(report);
  if (!compares) return;
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  std::cout << "time ratio: of the medians; geometric mean over the shapes, from " << RatioText(*least) << " to "
            << RatioText(*most) << "\n";
}

std::string PercentText(double percent) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f%%", percent);
  return text;
}

std::string Shortened(const std::string& text) {
  return text.size() <= kVersionColumns ? text : text.substr(0, kVersionColumns - 3) + "...";
}

// The kernels of a traced model; `caption` is empty or names the model.
void PrintKernels(const ModelTrace& trace, const std::string& caption) {
  const std::vector<KernelTime> times = KernelTimes(trace);
  int64_t total = 0;
  for (const KernelTime& time : times) total += time.nanoseconds;
  Table table({caption.empty() ? "kernel" : "kernel of " + caption, "version", "launches", "mean", "time", "share"}, 2);
  for (size_t i = 0; i < std::min(times.size(), kKernelRows); ++i) {
    const double seconds = Seconds(times[i].nanoseconds);
    const double share =
        100.0 * static_cast<double>(times[i].nanoseconds) / static_cast<double>(std::max<int64_t>(total, 1));
    table.Add({Shortened(times[i].kernel), Shortened(times[i].version), std::to_string(times[i].launches),
               TimeText(seconds / static_cast<double>(times[i].launches)), TimeText(seconds), PercentText(share)});
  }
  std::cout << "\n";
  table.Print();
  if (times.size() > kKernelRows) std::cout << times.size() - kKernelRows << " more in the trace\n";
}

json ModelJson(const BenchReport& report, size_t index) {
  const LoadedModel& model = *report.models[index].model;
  const ModelTimes& times = report.times[index];
  json out = Distribution(AllOf(times.by_shape));
  out["model"] = model.path;
  out["target"] = model.signature.target;
  out["artifact_bytes"] = model.signature.artifact_bytes;
  out["compiled"] = model.compiled;
  out["load_seconds"] = model.seconds;
  out["runs_per_second"] = times.runs_per_second;
  out["items_per_second"] = times.items_per_second;
  out["first_runs"] = Distribution(times.first);
  for (size_t shape = 0; shape < report.shapes.size(); ++shape) {
    json entry = Distribution(times.by_shape[shape]);
    entry["dims"] = report.shapes[shape];
    entry["first_seconds"] = Seconds(times.first[shape]);
    out["shapes"].push_back(std::move(entry));
  }
  for (size_t i = 0; i < report.traces.size(); ++i) {
    for (const KernelTime& time : i == index ? KernelTimes(report.traces[i]) : std::vector<KernelTime>()) {
      out["kernels"].push_back({{"kernel", time.kernel},
                                {"version", time.version},
                                {"launches", time.launches},
                                {"seconds", Seconds(time.nanoseconds)}});
    }
  }
  return out;
}

}  // namespace

void PrintTables(const BenchReport& report) {
  PrintHead(report);
  PrintTimes(report);
  for (size_t i = 0; i < report.traces.size(); ++i) {
    PrintKernels(report.traces[i], report.traces.size() > 1 ? ModelName(report, i) : "");
  }
  if (!report.traces.empty())
    std::cout << "\ntrace of " << Plural(report.traces[0].runs.size(), "run") << ": " << report.arguments.trace << "\n";
}

void PrintJson(const BenchReport& report) {
  const BenchArguments& arguments = report.arguments;
  json out = {{"callers", arguments.callers},   {"threads", arguments.threads}, {"seed", arguments.input.seed},
              {"shapes", report.shapes.size()}, {"items", report.items},        {"models", json::array()}};
  for (size_t i = 0; i < report.models.size(); ++i) out["models"].push_back(ModelJson(report, i));
  if (report.models.size() > 1) {
    const std::vector<double> ratios = Ratios(report);
    out["time_ratio"] = {{"geometric_mean", GeometricMean(ratios)}, {"by_shape", ratios}};
  }
  if (!report.traces.empty()) out["trace"] = arguments.trace;
  std::cout << out.dump(2) << "\n";
}

}  // namespace tailor
