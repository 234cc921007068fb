#include "bench/peers/peer.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>

namespace tailor::bench {
namespace {

using nlohmann::json;

constexpr int kLeastRuns = 3;
constexpr double kBatchSeconds = 2e-5;  // runs timed together: reading the clock takes a third of a microsecond
constexpr double kMostBatched = 1000;

double Seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The last CPU that this process may use: all engines with one thread measure on it.
void StayOnLastCpu() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  int last = CPU_SETSIZE - 1;
  while (last > 0 && !CPU_ISSET(last, &mask)) --last;
  CPU_ZERO(&mask);
  CPU_SET(last, &mask);
  sched_setaffinity(0, sizeof mask, &mask);
}

// Seconds of one of `runs` runs.
double TimeRun(PeerCase& measured, clockid_t clock, int runs = 1) {
  const double begin = Seconds(clock);
  for (int i = 0; i < runs; ++i) measured.Run();
  return (Seconds(clock) - begin) / runs;
}

json TimeRuns(PeerCase& measured, double seconds, clockid_t clock) {
  std::vector<double> times;
  const double end = Seconds(CLOCK_MONOTONIC) + seconds;
  const int batch = static_cast<int>(std::clamp(kBatchSeconds / TimeRun(measured, clock), 1.0, kMostBatched));
  do times.push_back(TimeRun(measured, clock, batch));
  while (times.size() < kLeastRuns || Seconds(CLOCK_MONOTONIC) < end);
  return {{"times", times}};
}

json Save(PeerCase& measured, const std::string& path) {
  measured.Run();
  const std::vector<float> result = measured.Result();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(result.data()), static_cast<std::streamsize>(result.size() * sizeof(float)));
  return json::object();
}

}  // namespace

std::vector<float> Numbers(int64_t count, uint32_t seed) {
  std::vector<float> numbers(count);
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t mixed = (static_cast<uint32_t>(i) + seed * 7919u) * 2654435761u;
    numbers[i] = static_cast<float>(static_cast<int32_t>(mixed >> 8)) * 0x1p-23f - 1;
  }
  return numbers;
}

int ServePeer(const std::string& name, int argument_count, char** arguments,
              std::unique_ptr<PeerCase> (*make)(const json& wanted)) {
  const int threads = argument_count > 1 ? std::atoi(arguments[1]) : 1;
  if (threads == 1) StayOnLastCpu();
  const clockid_t clock = threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  std::unique_ptr<PeerCase> prepared;
  const auto answer = [&](const json& request) -> json {
    if (request.contains("prepare")) {
      prepared.reset();
      prepared = make(request["prepare"]);
      return {{"first", TimeRun(*prepared, clock)}};
    }
    if (prepared == nullptr) throw std::runtime_error("nothing is prepared");
    if (request.contains("save")) return Save(*prepared, request["save"]);
    return TimeRuns(*prepared, request.at("time"), clock);
  };
  std::cout << json({{"ready", name}}) << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    json reply;
    try {
      reply = answer(json::parse(line));
    } catch (const std::exception& error) {
      reply = {{"error", error.what()}};
    }
    std::cout << reply << std::endl;
  }
  return 0;
}

}  // namespace tailor::bench
