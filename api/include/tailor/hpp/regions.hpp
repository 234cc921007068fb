// Regions of loops and branches that are built by functions. Part of tailor/tailor.hpp; C++17.
#ifndef TAILOR_HPP_REGIONS_HPP_
#define TAILOR_HPP_REGIONS_HPP_

#include <map>
#include <string>
#include <vector>

#include "tailor/hpp/graph.hpp"

namespace tailor {
inline namespace TAILOR_HPP {

// The dims of a region's inputs. A symbol of the outer graph that is a dim by itself, and expressions over such
// symbols, are the region's own of the same text; any other expression is a symbol of its own.
class Graph::RegionDims {
 public:
  RegionDims(detail::GraphState& outer, const Graph& region) : outer_(outer), region_(region) {}

  void add_symbol(tailor_dim dim) {
    SymbolOptions options;
    std::string name;
    if (inner_.count(dim) != 0 || !describe(dim, &name, &options)) return;
    inner_[dim] = region_.symbol(name, options);
    outer_symbols_.push_back(dim);
    region_symbols_.push_back(inner_[dim].get());
  }
  Dim of(tailor_dim dim) {
    const auto known = inner_.find(dim);
    if (known != inner_.end()) return known->second;
    tailor_dim rewritten = 0;
    const bool possible = !detail::take(tailor_dim_rewrite(outer_.raw(), dim, region_.get(), outer_symbols_.data(),
                                                           region_symbols_.data(), outer_symbols_.size(), &rewritten));
    inner_[dim] = possible ? Dim(region_.graph_, rewritten) : region_.symbol("dim" + std::to_string(inner_.size()));
    return inner_[dim];
  }

 private:
  // False if it is not a symbol.
  bool describe(tailor_dim dim, std::string* name, SymbolOptions* options) {
    const Result<std::string> text = outer_.text([&](tailor_graph* graph, const char** out) {
      tailor_dim_info info;
      tailor_dim_info_init(&info);
      tailor_status* failed = tailor_dim_describe(graph, dim, &info);
      const bool symbol = failed == nullptr && info.kind == TAILOR_DIM_SYMBOL;
      *out = symbol ? info.name : "";
      if (symbol) *options = {info.min, info.max, info.multiple_of, {}};
      return failed;
    });
    *name = text ? *text : "";
    return !name->empty();
  }

  detail::GraphState& outer_;
  const Graph& region_;
  std::map<tailor_dim, Dim> inner_;
  std::vector<tailor_dim> outer_symbols_, region_symbols_;
};

inline Graph Graph::region(const char* name, Span<const Value> values, const Body& function) const {
  Graph out(name);
  if (auto good = status(); !good) {
    out.graph_->fail(good.error());
    return out;
  }
  if (!function) {
    out.graph_->fail(detail::invalid(std::string("the function of region \"") + name + "\" is empty"));
    return out;
  }
  RegionDims dims(*graph_, out);
  for (const Value& value : values) {
    for (const Dim& dim : shape_of(value)) dims.add_symbol(dim.get());
  }
  Arguments arguments;
  for (const Value& value : values) {
    std::vector<Dim> shape;
    for (const Dim& dim : shape_of(value)) shape.push_back(dims.of(dim.get()));
    const Result<DType> dtype = value.dtype();
    if (!dtype) out.graph_->fail(dtype.error());
    arguments.push_back(out.input("argument" + std::to_string(arguments.size()), dtype ? *dtype : DType::kF32, shape));
  }
  if (auto good = status(); !good) out.graph_->fail(good.error());
  if (!out.status()) return out;
  const std::vector<Value> results = function(out, arguments);
  for (std::size_t i = 0; i < results.size(); ++i) out.output("result" + std::to_string(i), results[i]);
  return out;
}

}  // namespace TAILOR_HPP
}  // namespace tailor

#endif  // TAILOR_HPP_REGIONS_HPP_
