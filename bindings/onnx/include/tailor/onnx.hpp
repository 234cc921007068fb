// ONNX models for C++: a graph from a model. Header-only, C++17; links libtailor_onnx.so, libtailor.so and
// libtailor_runtime.so.
//
//     tailor::Graph graph = tailor::onnx::load("model.onnx").value();  // its dim_params are symbols
//     tailor::Executable executable = graph.compile().value();         // once, for all shapes
#ifndef TAILOR_ONNX_HPP_
#define TAILOR_ONNX_HPP_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tailor/onnx.h"
#include "tailor/tailor.hpp"

namespace tailor {
inline namespace TAILOR_HPP {
namespace onnx {

// A dim of inputs: a number, or an expression ("2*S + 1") as tailor_onnx_dim has it.
class InputDim {
 public:
  InputDim(const char* text) : text_(text) {}             // NOLINT(runtime/explicit)
  InputDim(std::string text) : text_(std::move(text)) {}  // NOLINT(runtime/explicit)
  template <typename T, typename = std::enable_if_t<std::is_integral_v<T>>>
  InputDim(T number) : text_(std::to_string(number)) {}  // NOLINT(runtime/explicit)
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

struct Options {
  std::map<std::string, SymbolOptions> symbols;  // ranges of symbols; others have the default range
  // What stands for a dim_param, or for "<input>_dim<i>", a dim without one. Others are symbols of these names.
  std::map<std::string, InputDim> dims;
  // Inputs that always have these elements, which compilation has to know. Copied; the graph does not have these
  // inputs.
  std::map<std::string, ConstTensorView> fixed;
  // Of a model in memory: the folder of its external data; "": it has none.
  std::string directory;
  // Domains whose nodes are custom operators: Op of domain "d" is operator "d::Op".
  std::vector<std::string> custom_domains;
  // If loading fails because something depends on data that compilation has to know: gets the inputs which, if fixed,
  // might avoid that. May be null.
  std::vector<std::string>* needs_fixed = nullptr;
};

namespace detail {

using namespace ::tailor::detail;  // NOLINT(build/namespaces)

inline void note(void* user, const char* input, std::size_t size) {
  static_cast<std::vector<std::string>*>(user)->emplace_back(input, size);
}

// Calls load(c_options, &graph) with options in C's form.
template <typename F>
Result<Graph> load_with(const Options& options, F load) {
  std::vector<tailor_onnx_symbol> symbols;
  for (const auto& [name, symbol] : options.symbols) {
    symbols.push_back({name.data(), name.size(), symbol.min, symbol.max, symbol.multiple_of, symbol.likely.data(),
                       symbol.likely.size()});
  }
  std::vector<tailor_onnx_dim> dims;
  for (const auto& [name, dim] : options.dims) {
    dims.push_back({name.data(), name.size(), dim.text().data(), dim.text().size()});
  }
  std::vector<tailor_onnx_fixed> fixed;
  for (const auto& [name, view] : options.fixed) {
    if (const std::string& problem = ViewAccess::problem(view); !problem.empty()) {
      return invalid("the fixed input \"" + name + "\": " + problem);
    }
    fixed.push_back({name.data(), name.size(), ViewAccess::raw(view)});
  }
  std::vector<const char*> domains;
  for (const std::string& domain : options.custom_domains) {
    if (auto text = text_without_nul("custom_domains", domain); !text) return text.error();
    domains.push_back(domain.c_str());
  }
  tailor_onnx_options c;
  tailor_onnx_options_init(&c);
  c.symbols = symbols.data();
  c.symbol_count = symbols.size();
  c.dims = dims.data();
  c.dim_count = dims.size();
  c.fixed = fixed.data();
  c.fixed_count = fixed.size();
  c.needs_fixed = options.needs_fixed == nullptr ? nullptr : note;
  c.user = options.needs_fixed;
  c.directory = options.directory.empty() ? nullptr : options.directory.data();
  c.directory_size = options.directory.size();
  c.custom_domains = domains.data();
  c.custom_domain_count = domains.size();
  tailor_graph* raw = nullptr;
  if (auto loaded = check(load(&c, &raw)); !loaded) return loaded.error();
  return Graph::of(raw);
}

}  // namespace detail

// The graph of a model file. Weights stay in the mapped file: it, and the files of its external data, must not change
// until the graph and every compilation of it are gone. NOT_FOUND; INVALID_ARGUMENT for a wrong model; UNIMPLEMENTED
// for one that is not supported. The error's node is what is at fault.
inline Result<Graph> load(std::string_view path, const Options& options = {}) {
  return detail::load_with(options, [&](const tailor_onnx_options* c, tailor_graph** out) {
    return tailor_onnx_load(path.data(), path.size(), c, out);
  });
}
// The graph of a model in memory, which is copied.
inline Result<Graph> load_bytes(Span<const std::uint8_t> model, const Options& options = {}) {
  return detail::load_with(options, [&](const tailor_onnx_options* c, tailor_graph** out) {
    return tailor_onnx_load_memory(model.data(), model.size(), nullptr, nullptr, c, out);
  });
}
// The graph of a model in memory, which the graph and its compilations keep: no copy.
inline Result<Graph> load_owned(std::vector<std::uint8_t> model, const Options& options = {}) {
  return detail::load_with(options, [&](const tailor_onnx_options* c, tailor_graph** out) {
    auto* owner = new std::vector<std::uint8_t>(std::move(model));
    const auto released = [](void* user) { delete static_cast<std::vector<std::uint8_t>*>(user); };
    return tailor_onnx_load_memory(owner->data(), owner->size(), released, owner, c, out);
  });
}

// docs/onnx-operators.md as text: the operators, their versions and attributes.
inline std::string operators() { return tailor_onnx_operators(); }

}  // namespace onnx
}  // namespace TAILOR_HPP
}  // namespace tailor

#endif  // TAILOR_ONNX_HPP_
