// oneDNN as a peer. Constant operands are packed beforehand into the layout that it prefers. Matmuls and row kernels
// read and write dense row-major tensors; activations of convolutions have the layout that it prefers too.
#include <omp.h>

#include <cstdlib>
#include <dnnl.hpp>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include "bench/peers/peer.h"

namespace tailor::bench {
namespace {

using dnnl::memory;
using Dims = memory::dims;
using nlohmann::json;

dnnl::engine& Cpu() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& Stream() {
  static dnnl::stream stream(Cpu());
  return stream;
}

memory::desc RowMajor(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return {dims, memory::data_type::f32, strides};
}

memory::desc AnyLayout(const Dims& dims) { return {dims, memory::data_type::f32, memory::format_tag::any}; }

// `from` in another layout.
memory Packed(memory from, const memory::desc& layout) {
  if (from.get_desc() == layout) return from;
  memory to(layout, Cpu());
  dnnl::reorder(from, to).execute(Stream(), from, to);
  Stream().wait();
  return to;
}

memory Filled(const Dims& dims, uint32_t seed) {
  memory filled(RowMajor(dims), Cpu());
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  const std::vector<float> numbers = Numbers(count, seed);
  std::copy(numbers.begin(), numbers.end(), static_cast<float*>(filled.get_data_handle()));
  return filled;
}

// A primitive with its arguments; `weights`, if any, take turns.
class Prepared : public PeerCase {
 public:
  Prepared(dnnl::primitive primitive, std::unordered_map<int, memory> arguments, std::vector<memory> weights = {})
      : primitive_(std::move(primitive)), arguments_(std::move(arguments)), weights_(std::move(weights)) {}

  void Run() override {
    if (!weights_.empty()) arguments_[DNNL_ARG_WEIGHTS] = weights_[next_++ % weights_.size()];
    primitive_.execute(Stream(), arguments_);
    Stream().wait();
  }

  std::vector<float> Result() override {
    const memory& out = arguments_.at(DNNL_ARG_DST);
    const memory dense = Packed(out, RowMajor(out.get_desc().get_dims()));
    const auto* data = static_cast<const float*>(dense.get_data_handle());
    return {data, data + dense.get_desc().get_size() / sizeof(float)};
  }

 private:
  dnnl::primitive primitive_;
  std::unordered_map<int, memory> arguments_;
  std::vector<memory> weights_;
  size_t next_ = 0;
};

std::unique_ptr<PeerCase> Dot(const json& wanted) {
  const int64_t m = wanted.at("m"), k = wanted.at("k"), n = wanted.at("n");
  const dnnl::matmul::primitive_desc chosen(Cpu(), RowMajor({m, k}), AnyLayout({k, n}), RowMajor({m, n}));
  const memory weights = Filled({k, n}, 2);
  std::vector<memory> copies;
  for (int64_t i = 0; i < wanted.value("copies", 1); ++i) {
    memory copy(chosen.weights_desc(), Cpu());
    dnnl::reorder(weights, copy).execute(Stream(), const_cast<memory&>(weights), copy);
    copies.push_back(copy);
  }
  Stream().wait();
  return std::make_unique<Prepared>(
      dnnl::matmul(chosen),
      std::unordered_map<int, memory>{{DNNL_ARG_SRC, Filled({m, k}, 1)}, {DNNL_ARG_DST, {RowMajor({m, n}), Cpu()}}},
      copies);
}

const std::unordered_map<std::string, dnnl::algorithm> kElementwise = {
    {"gelu", dnnl::algorithm::eltwise_gelu_erf},
    {"gelu_tanh", dnnl::algorithm::eltwise_gelu_tanh},
    {"exp", dnnl::algorithm::eltwise_exp}};

// x[rows, columns] -> the same shape.
std::unique_ptr<PeerCase> RowKernel(const std::string& op, const json& wanted) {
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
  const Dims dims = {wanted.at("rows"), wanted.at("columns")};
  const memory::desc layout = RowMajor(dims);
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, Filled(dims, 1)}, {DNNL_ARG_DST, {layout, Cpu()}}};
  if (op == "softmax") {
    const dnnl::softmax_forward::primitive_desc chosen(Cpu(), kInference, dnnl::algorithm::softmax_accurate, layout,
                                                       layout, 1);
    return std::make_unique<Prepared>(dnnl::softmax_forward(chosen), std::move(arguments));
  }
  if (op == "layer_norm") {
    using Flags = dnnl::normalization_flags;
    const dnnl::layer_normalization_forward::primitive_desc chosen(Cpu(), kInference, layout, layout, 1e-5f,
                                                                   Flags::use_scale | Flags::use_shift);
    arguments[DNNL_ARG_SCALE] = Filled({dims[1]}, 2);
    arguments[DNNL_ARG_SHIFT] = Filled({dims[1]}, 3);
    return std::make_unique<Prepared>(dnnl::layer_normalization_forward(chosen), std::move(arguments));
  }
  const dnnl::eltwise_forward::primitive_desc chosen(Cpu(), kInference, kElementwise.at(op), layout, layout);
  return std::make_unique<Prepared>(dnnl::eltwise_forward(chosen), std::move(arguments));
}

// x[n, c, h, w], weights[k, c, r, s].
std::unique_ptr<PeerCase> Conv(const json& wanted) {
  const Dims x = wanted.at("x").get<Dims>(), weights = wanted.at("weights").get<Dims>();
  const Dims strides = wanted.at("strides").get<Dims>(), pads = wanted.at("pads").get<Dims>();
  Dims y = {x[0], weights[0]};
  for (size_t i = 0; i < 2; ++i) y.push_back((x[2 + i] + 2 * pads[i] - weights[2 + i]) / strides[i] + 1);
  const dnnl::convolution_forward::primitive_desc chosen(Cpu(), dnnl::prop_kind::forward_inference,
                                                         dnnl::algorithm::convolution_auto, AnyLayout(x),
                                                         AnyLayout(weights), AnyLayout(y), strides, pads, pads);
  return std::make_unique<Prepared>(
      dnnl::convolution_forward(chosen),
      std::unordered_map<int, memory>{{DNNL_ARG_SRC, Packed(Filled(x, 1), chosen.src_desc())},
                                      {DNNL_ARG_WEIGHTS, Packed(Filled(weights, 2), chosen.weights_desc())},
                                      {DNNL_ARG_DST, {chosen.dst_desc(), Cpu()}}});
}

std::unique_ptr<PeerCase> Make(const json& wanted) {
  const std::string op = wanted.at("op");
  if (op == "dot") return Dot(wanted);
  if (op == "conv") return Conv(wanted);
  if (op == "softmax" || op == "layer_norm" || kElementwise.contains(op)) return RowKernel(op, wanted);
  throw std::invalid_argument("no op " + op);
}

}  // namespace
}  // namespace tailor::bench

int main(int count, char** arguments) {
  omp_set_num_threads(count > 1 ? std::atoi(arguments[1]) : 1);
  const dnnl_version_t* version = dnnl_version();
  const std::string name = "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                           std::to_string(version->patch);
  return tailor::bench::ServePeer(name, count, arguments, tailor::bench::Make);
}
