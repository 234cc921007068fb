#include "bench/peers/cblas_peer.h"

#include <memory>
#include <stdexcept>
#include <vector>

#include "bench/peers/peer.h"

namespace tailor::bench {
namespace {

Sgemm library_sgemm = nullptr;  // set once, before the first case is made

// `copies` equal weights, used in turn.
class Dot : public PeerCase {
 public:
  explicit Dot(const nlohmann::json& wanted)
      : m_(wanted.at("m")),
        k_(wanted.at("k")),
        n_(wanted.at("n")),
        x_(Numbers(int64_t{m_} * k_, 1)),
        y_(int64_t{m_} * n_) {
    weights_.assign(wanted.value("copies", 1), Numbers(int64_t{k_} * n_, 2));
  }

  void Run() override { library_sgemm(m_, n_, k_, x_.data(), weights_[next_++ % weights_.size()].data(), y_.data()); }

  std::vector<float> Result() override { return y_; }

 private:
  int m_, k_, n_;
  std::vector<float> x_, y_;
  std::vector<std::vector<float>> weights_;
  size_t next_ = 0;
};

std::unique_ptr<PeerCase> Make(const nlohmann::json& wanted) {
  if (wanted.at("op") != "dot") throw std::invalid_argument("a BLAS has only matmuls");
  return std::make_unique<Dot>(wanted);
}

}  // namespace

int ServeCblas(const std::string& name, int argument_count, char** arguments, Sgemm sgemm) {
  library_sgemm = sgemm;
  return ServePeer(name, argument_count, arguments, Make);
}

}  // namespace tailor::bench
