// A peer: a process that runs another library's kernels. It reads one JSON request per line of its standard input, and
// answers each with one line of JSON. bench/side_by_side/processes/serve.py does the same for engines in Python.
//
//   {"prepare": {"op": NAME, ...}}   make this case and run it once   -> {"first": seconds}
//   {"time": SECONDS}                run it again and again           -> {"times": [seconds, ...]}, short runs in
//   batches
//   {"save": FILE}                   run it, write its result as f32  -> {}
//
// A failure is answered by {"error": TEXT}. All inputs are Numbers of seeds 1, 2, ... in the order of the operands, so
// that engines get the same inputs.
#ifndef TAILOR_BENCH_PEERS_PEER_H_
#define TAILOR_BENCH_PEERS_PEER_H_

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

namespace tailor::bench {

// An operation with its operands, ready to run.
class PeerCase {
 public:
  virtual ~PeerCase() = default;
  virtual void Run() = 0;
  virtual std::vector<float> Result() = 0;  // of the last run, dense row-major
};

// f32 multiples of 2^-23 in [-1, 1) that depend only on index and seed; processes/operands.py has the same.
std::vector<float> Numbers(int64_t count, uint32_t seed);

// Serves requests until the input ends; `make` throws if it cannot make a case. Announces {"ready": name}.
// Returns the exit status. The arguments are main's: the first one, if any, is the number of threads. With one thread,
// times are CPU times of the process, else elapsed times.
int ServePeer(const std::string& name, int argument_count, char** arguments,
              std::unique_ptr<PeerCase> (*make)(const nlohmann::json& wanted));

}  // namespace tailor::bench

#endif  // TAILOR_BENCH_PEERS_PEER_H_
