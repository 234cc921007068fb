#include "tests/gpu/measure/measurement.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

namespace tailor::bench {
namespace {

struct Kind {
  const char* name;
  size_t dim_sizes;
  Measured (*measure)(const Gpu& gpu, const MeasuredCase& asked);
};

// All that can be asked for.
constexpr Kind kKinds[] = {
    {"copy", 1, MeasureCopy},         {"dot_bf16", 3, MeasureMatmul}, {"softmax", 2, MeasureRows},
    {"layer_norm", 2, MeasureRows},   {"reduce_sum", 2, MeasureRows}, {"bert_large", 2, MeasureEncoder},
    {"bert_tiny", 2, MeasureEncoder}, {"launch", 1, MeasureLaunches},
};

std::vector<std::string> Split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

Measured Dispatch(const std::string& name) {
  const Gpu* gpu = Gpu::First();
  if (gpu == nullptr) throw NotMeasured(Gpu::Absence());
  const std::vector<std::string> parts = Split(name, '/');
  MeasuredCase asked{parts.empty() ? "" : parts[0], {}, parts.size() > 2 ? parts[2] : ""};
  if (parts.size() > 1) {
    for (const std::string& dim_size : Split(parts[1], 'x')) asked.dim_sizes.push_back(std::atoll(dim_size.c_str()));
  }
  for (const Kind& kind : kKinds) {
    if (asked.kind == kind.name && asked.dim_sizes.size() == kind.dim_sizes) return kind.measure(*gpu, asked);
  }
  throw NotMeasured("nothing is measured by that name");
}

}  // namespace

std::string Measure(const std::string& name) {
  nlohmann::json out = {{"name", name}};
  try {
    const Measured measured = Dispatch(name);
    out["figures"] = measured.figures;
    out["peer"] = measured.peer;
  } catch (const NotMeasured& why) {
    out["reason"] = why.what();
  } catch (const WrongResult& why) {
    out["reason"] = why.what();
    out["wrong"] = true;
  }
  return out.dump();
}

}  // namespace tailor::bench
