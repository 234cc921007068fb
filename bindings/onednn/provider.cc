// The table of tailor/onednn.h. One cache of primitives and one of repacked constants serve all runtimes of a process.
#include <omp.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <dnnl.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "panels.h"
#include "tailor/onednn.h"

namespace tailor_onednn {
namespace {

using dnnl::memory;

const dnnl::engine& Cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

// While it lives, oneDNN calls on this thread use that many threads.
class Threads {
 public:
  explicit Threads(int64_t count) : before_(omp_get_max_threads()) { omp_set_num_threads(static_cast<int>(count)); }
  Threads(const Threads&) = delete;
  ~Threads() { omp_set_num_threads(before_); }

 private:
  const int before_;
};

// All that a primitive depends on.
using Key = std::array<int64_t, 13>;

Key KeyOf(const tailor_product& p) {
  const int64_t constant = p.rhs_constant != 0 ? static_cast<int64_t>(reinterpret_cast<intptr_t>(p.rhs)) : 0;
  return {p.dtype,
          constant,
          p.threads,
          p.batch,
          p.m,
          p.n,
          p.k,
          p.lhs_strides[0],
          p.lhs_strides[1],
          p.lhs_strides[2],
          p.rhs_strides[0],
          p.rhs_strides[1],
          p.rhs_strides[2]};
}

struct HashKey {
  size_t operator()(const Key& key) const {
    uint64_t hash = 0;
    for (const int64_t part : key) hash = (hash ^ static_cast<uint64_t>(part)) * 0x9e3779b97f4a7c15 + (hash >> 29);
    return hash;
  }
};

memory::data_type TypeOf(const tailor_product& p) {
  return p.dtype == TAILOR_BF16 ? memory::data_type::bf16 : memory::data_type::f32;
}

// [rows, columns], or a batch of them.
memory::desc Matrix(const tailor_product& p, int64_t rows, int64_t columns, const int64_t* strides) {
  if (p.batch == 1) return {{rows, columns}, TypeOf(p), memory::dims{strides[1], strides[2]}};
  return {{p.batch, rows, columns}, TypeOf(p), memory::dims{strides[0], strides[1], strides[2]}};
}

memory::desc Dense(const tailor_product& p, int64_t rows, int64_t columns) {
  const int64_t strides[] = {rows * columns, columns, 1};
  return Matrix(p, rows, columns, strides);
}

memory::desc AnyLayout(const tailor_product& p) {
  const memory::dims dims = p.batch == 1 ? memory::dims{p.k, p.n} : memory::dims{p.batch, p.k, p.n};
  return {dims, TypeOf(p), memory::format_tag::any};
}

dnnl::matmul::primitive_desc Choose(const memory::desc& lhs, const memory::desc& rhs, const memory::desc& out) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  return {Cpu(), lhs, rhs, out, attributes};
#else
  return {dnnl::matmul::desc(lhs, rhs, out), attributes, Cpu()};
#endif
}

struct Primitive {
  dnnl::matmul::primitive_desc chosen;
  dnnl::matmul primitive;
  std::shared_ptr<const memory> packed;  // a constant rhs
};

// A constant in the layouts of the primitives that use it.
using Layouts = std::vector<std::shared_ptr<const memory>>;

class Cache {
 public:
  // Null if oneDNN has only reference code. Throws what oneDNN throws.
  std::shared_ptr<const Primitive> Get(const tailor_product& product) {
    const Key key = KeyOf(product);
    {
      const std::shared_lock lock(mutex_);
      const auto found = primitives_.find(key);
      if (found != primitives_.end()) return found->second;
    }
    const std::unique_lock lock(mutex_);
    constexpr size_t kMostPrimitives = 1024;
    if (primitives_.size() >= kMostPrimitives) primitives_.clear();
    std::shared_ptr<const Primitive> made = Make(product);
    primitives_[key] = made;
    return made;
  }

  void Forget(const void* rhs) {
    const std::unique_lock lock(mutex_);
    if (constants_.erase(rhs) == 0) return;
    const auto address = static_cast<int64_t>(reinterpret_cast<intptr_t>(rhs));
    std::erase_if(primitives_, [&](const auto& entry) { return entry.first[1] == address; });
  }

 private:
  std::shared_ptr<const Primitive> Make(const tailor_product& p) {
    const bool constant = p.rhs_constant != 0;
    const bool plain = p.rhs_layout == TAILOR_ROWS_AND_COLUMNS;
    if (!constant && !plain) return nullptr;
    const memory::desc rhs = constant ? AnyLayout(p) : Matrix(p, p.k, p.n, p.rhs_strides);
    const auto chosen = Choose(Matrix(p, p.m, p.k, p.lhs_strides), rhs, Dense(p, p.m, p.n));
    if (std::strstr(chosen.impl_info_str(), "ref") != nullptr) return nullptr;
    auto packed = constant ? Packed(p, chosen.weights_desc()) : nullptr;
    return std::make_shared<const Primitive>(Primitive{chosen, dnnl::matmul(chosen), std::move(packed)});
  }

  std::shared_ptr<const memory> Packed(const tailor_product& p, const memory::desc& layout) {
    Layouts& layouts = constants_[p.rhs];
    for (const auto& packed : layouts) {
      if (packed->get_desc() == layout) return packed;
    }
    const bool plain = p.rhs_layout == TAILOR_ROWS_AND_COLUMNS;
    std::vector<std::byte> unpacked = plain ? std::vector<std::byte>() : Unpacked(p);
    void* data = plain ? const_cast<void*>(p.rhs) : unpacked.data();
    memory from(plain ? Matrix(p, p.k, p.n, p.rhs_strides) : Dense(p, p.k, p.n), Cpu(), data);
    memory to(layout, Cpu());
    dnnl::stream stream(Cpu());
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
    layouts.push_back(std::make_shared<const memory>(to));
    return layouts.back();
  }

  std::shared_mutex mutex_;  // guards both
  std::unordered_map<Key, std::shared_ptr<const Primitive>, HashKey> primitives_;
  std::map<const void*, Layouts> constants_;
};

Cache& TheCache() {
  static Cache* const cache = new Cache;  // sessions may outlive static destructors
  return *cache;
}

// This thread's scratch memory for primitives.
memory Scratchpad(const memory::desc& layout) {
  thread_local memory::desc held_layout;
  thread_local memory held;
  if (layout.get_size() == 0) return {layout, Cpu(), nullptr};
  if (!held || held_layout.get_size() < layout.get_size()) {
    held = memory(layout, Cpu());
    held_layout = layout;
  }
  return {layout, Cpu(), held.get_data_handle()};
}

int32_t Take(void*, const tailor_product* product) {
  try {
    if (product->dtype != TAILOR_F32 && product->dtype != TAILOR_BF16) return 0;
    const Threads threads(product->threads);
    return TheCache().Get(*product) != nullptr;
  } catch (...) {
    return 0;
  }
}

int32_t Multiply(void*, const tailor_product* product) {
  try {
    const Threads threads(product->threads);
    const std::shared_ptr<const Primitive> found = TheCache().Get(*product);
    if (found == nullptr) return TAILOR_UNIMPLEMENTED;
    const auto& chosen = found->chosen;
    const memory rhs = found->packed != nullptr ? *found->packed
                                                : memory(chosen.weights_desc(), Cpu(), const_cast<void*>(product->rhs));
    thread_local dnnl::stream stream(Cpu());
    found->primitive.execute(stream, {{DNNL_ARG_SRC, {chosen.src_desc(), Cpu(), const_cast<void*>(product->lhs)}},
                                      {DNNL_ARG_WEIGHTS, rhs},
                                      {DNNL_ARG_DST, {chosen.dst_desc(), Cpu(), product->out}},
                                      {DNNL_ARG_SCRATCHPAD, Scratchpad(chosen.scratchpad_desc())}});
    stream.wait();
    return TAILOR_OK;
  } catch (const std::bad_alloc&) {
    return TAILOR_RESOURCE_EXHAUSTED;
  } catch (...) {
    return TAILOR_INTERNAL;
  }
}

void Forget(void*, const void* rhs) { TheCache().Forget(rhs); }

}  // namespace
}  // namespace tailor_onednn

const tailor_product_provider* tailor_onednn_product_provider(void) {
  static constexpr tailor_product_provider kProvider = {sizeof(tailor_product_provider), nullptr, tailor_onednn::Take,
                                                        tailor_onednn::Multiply, tailor_onednn::Forget};
  return &kProvider;
}
