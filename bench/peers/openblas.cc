// OpenBLAS as a peer: matmuls x[M, K] w[K, N]. It has no form with weights packed beforehand.
#include <cblas.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "bench/peers/peer.h"

namespace tailor::bench {
namespace {

// `copies` equal weights, used in turn.
class Dot : public PeerCase {
 public:
  explicit Dot(const nlohmann::json& wanted)
      : m_(wanted.at("m")), k_(wanted.at("k")), n_(wanted.at("n")), x_(Numbers(m_ * k_, 1)), y_(m_ * n_) {
    weights_.assign(wanted.value("copies", 1), Numbers(k_ * n_, 2));
  }

  void Run() override {
    const std::vector<float>& w = weights_[next_++ % weights_.size()];
    scipy_cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m_, n_, k_, 1, x_.data(), k_, w.data(), n_, 0,
                      y_.data(), n_);
  }

  std::vector<float> Result() override { return y_; }

 private:
  int m_, k_, n_;
  std::vector<float> x_, y_;
  std::vector<std::vector<float>> weights_;
  size_t next_ = 0;
};

std::unique_ptr<PeerCase> Make(const nlohmann::json& wanted) {
  if (wanted.at("op") != "dot") throw std::invalid_argument("OpenBLAS has only matmuls");
  return std::make_unique<Dot>(wanted);
}

}  // namespace
}  // namespace tailor::bench

int main(int count, char** arguments) {
  scipy_openblas_set_num_threads(count > 1 ? std::atoi(arguments[1]) : 1);
  const std::string config = scipy_openblas_get_config();  // "OpenBLAS <version> <options>"
  const std::string name = config.substr(0, config.find(' ', config.find(' ') + 1));
  return tailor::bench::ServePeer(name, count, arguments, tailor::bench::Make);
}
