// Graphs: building, and compiling for all shapes. Part of tailor/tailor.hpp; C++17.
#ifndef TAILOR_HPP_GRAPH_HPP_
#define TAILOR_HPP_GRAPH_HPP_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tailor/hpp/value.hpp"

namespace tailor {
inline namespace TAILOR_HPP {

// The facts of a symbol. Every run checks them; results never depend on `likely`, values to specialise for.
struct SymbolOptions {
  std::int64_t min = 0;
  std::int64_t max = INT32_MAX;
  std::int64_t multiple_of = 1;
  std::vector<std::int64_t> likely;
};

struct ParseOptions {
  // Writes the bytes of a constant that the text omits to `data`, zeroed; false: they are not available, which fails
  // parsing. Empty: zeros. An exception is thrown by parse.
  std::function<bool(std::string_view name, DType dtype, const Shape& shape, Span<unsigned char> data)> constant;
  bool ignore_hashes = false;  // do not check the bytes against the text's hash
};

// The type of a result of a custom operator.
struct CustomResult {
  DType dtype = DType::kF32;
  Dims dims;
  // The dim whose size is a bound: the function counts how much of it is used, and the value has only that much.
  std::optional<std::int32_t> counted_dim = std::nullopt;
};

struct CustomOptions {
  std::string attributes;  // text for the function, by convention a JSON object
  bool impure = false;     // calls have effects or results that differ within a run: never merged, never dropped
};

// Whether CPUs flush denormal numbers to zero. automatic: if a constant has some (tailor_compile_options.denormals).
enum class Denormals : std::int64_t {
  automatic = TAILOR_DENORMALS_AUTO,
  keep = TAILOR_DENORMALS_KEEP,
  flush = TAILOR_DENORMALS_FLUSH
};

struct CompileOptions {
  const Runtime* runtime = nullptr;  // loads the result; null: a default one
  // "x86-64-v2", "x86-64-v3", "x86-64-v4", each optionally with more features, "host", "cuda"; none: the three levels.
  std::vector<std::string> targets;
  // Called with the phase and the fraction done; false cancels (CANCELLED). An exception cancels and is thrown.
  std::function<bool(std::string_view phase, double done)> progress;
  std::uint64_t threads = 0;                               // 0: usable_cpus()
  std::vector<std::uint8_t> secret_key;                    // Ed25519, 64 bytes: signs the artifact
  std::uint64_t max_versions = 8;                          // of a kernel
  std::uint64_t max_code_bytes = std::uint64_t{64} << 20;  // of a target
  std::vector<std::string> donated;                        // inputs whose memory runs may write
  Device device;                                           // where the executable runs
  bool offer_products = false;                             // a matmul provider, or cuBLASLt, may compute plain matmuls
  bool direct_convolutions = false;                        // on CPUs, no convolution uses Winograd's algorithm
  bool allow_tf32 = false;                                 // on GPUs, operands of f32 matmuls are rounded to tf32
  std::uint64_t memory_limit = 0;                          // bytes, beyond the graph's constants; 0: no limit
  bool isolated = false;                                   // compile in a process of its own
  std::string worker;                                      // path of its program; "": the library's
  std::int64_t optimize = 1;                               // 0: compiles faster, runs take longer (docs/compiling.md)
  std::vector<std::string> without;                        // passes to leave out (docs/compiling.md)
  std::string cost_profile;  // text of the cost profile of the machine to compile for (docs/compiling.md); "": built in
  Denormals denormals = Denormals::automatic;
};

// A tensor graph over symbolic shapes. Its values and dims keep it alive, so that all may end in any order. Move-only.
//
// Errors are sticky: after a failed call the later ones do nothing, and `status`, `compile` and `text` give that first
// error. Nothing need be checked between. `take_error` clears it: the failed call has changed nothing.
class Graph : public GraphOps {
 public:
  // An empty graph; `name` appears in messages and artifacts.
  explicit Graph(std::string_view name) {
    tailor_graph* raw = nullptr;
    std::optional<Error> error = detail::take(tailor_graph_create(name.data(), name.size(), &raw));
    graph_ = std::make_shared<detail::GraphState>(raw);
    if (error) graph_->fail(*std::move(error));
  }
  Graph(Graph&&) noexcept = default;
  Graph& operator=(Graph&&) noexcept = default;

  // Parses the canonical text. INVALID_ARGUMENT "line L, column C: ...".
  static Result<Graph> parse(std::string_view text, const ParseOptions& options = {}) {
    Parser parser = {options, {}};
    tailor_parse_options c;
    tailor_parse_options_init(&c);
    if (options.constant) c.constant = Parser::constant;
    c.user = &parser;
    c.ignore_hashes = options.ignore_hashes;
    tailor_graph* raw = nullptr;
    Result<void> parsed = detail::check(tailor_graph_parse_with(text.data(), text.size(), &c, &raw));
    parser.caught.rethrow();
    if (!parsed) return parsed.error();
    return of(raw);
  }
  // Takes over a graph of the C API.
  static Graph of(tailor_graph* raw) { return Graph(std::make_shared<detail::GraphState>(raw)); }

  // The first error.
  Result<void> status() const {
    if (graph_ == nullptr) return detail::no_graph("the graph");
    if (std::optional<Error> error = graph_->error()) return *std::move(error);
    return {};
  }
  // The first error, if any; calls work again afterwards.
  std::optional<Error> take_error() { return graph_ == nullptr ? std::nullopt : graph_->take_error(); }

  Dim symbol(std::string_view name, const SymbolOptions& options = {}) const {
    if (graph_ == nullptr) return {};
    tailor_symbol_options c;
    tailor_symbol_options_init(&c);
    c.min = options.min;
    c.max = options.max;
    c.multiple_of = options.multiple_of;
    c.likely = options.likely.data();
    c.likely_count = options.likely.size();
    return Dim(graph_, graph_->append([&](tailor_graph* graph, tailor_dim* out) {
      return tailor_graph_symbol(graph, name.data(), name.size(), &c, out);
    }));
  }
  // A constant, to start arithmetic from.
  Dim dim(std::int64_t size) const {
    if (graph_ == nullptr) return {};
    return Dim(graph_, DimSize(size).handle(*graph_));
  }
  // Facts: compilation uses them, every run checks them. Messages name the reason `what`.
  void assume_equal(const DimSize& lhs, const DimSize& rhs) const {
    if (graph_ == nullptr) return;
    const std::vector<tailor_dim> dims = Dims{lhs, rhs}.handles(graph_);
    graph_->build([&](tailor_graph* graph) { return tailor_graph_assume_equal(graph, dims[0], dims[1]); });
  }
  void assume_at_least(const DimSize& lhs, const DimSize& rhs, std::string_view what = {}) const {
    if (graph_ == nullptr) return;
    const std::vector<tailor_dim> dims = Dims{lhs, rhs}.handles(graph_);
    graph_->build([&](tailor_graph* graph) {
      return tailor_graph_assume_at_least(graph, dims[0], dims[1], what.data(), what.size());
    });
  }

  // Appends an input; runs take inputs in the order of these calls.
  Value input(std::string_view name, DType dtype, const Dims& shape) const {
    const std::vector<tailor_dim> dims = shape.handles(graph_);
    return detail::append(graph_, [&](tailor_graph* graph, tailor_value* out) {
      return tailor_graph_input(graph, name.data(), name.size(), static_cast<std::int32_t>(dtype), dims.data(),
                                dims.size(), out);
    });
  }
  // Makes `value` an output; runs give outputs in the order of these calls.
  void output(std::string_view name, const Value& value) const {
    if (graph_ == nullptr) return;
    graph_->build(
        [&](tailor_graph* graph) { return tailor_graph_output(graph, name.data(), name.size(), value.get()); });
  }
  std::size_t output_count() const { return tailor_graph_output_count(get()); }

  // A constant with a copy of the elements; the name may be empty.
  template <typename T>
  Value constant(std::string_view name, Span<T> elements, const Shape& shape) const {
    using E = std::remove_const_t<T>;
    return detail::append(graph_, [&](tailor_graph* graph, tailor_value* out) {
      return add_constant(graph, name, dtype_of<E>(), shape, elements.data(), elements.size() * sizeof(E), nullptr,
                          nullptr, out);
    });
  }
  template <typename T>
  Value constant(std::string_view name, const std::vector<T>& elements, const Shape& shape) const {
    return constant(name, Span<const T>(elements), shape);
  }
  template <typename T>
  Value constant(std::string_view name, std::initializer_list<T> elements, const Shape& shape) const {
    return constant(name, Span<const T>(elements.begin(), elements.size()), shape);
  }
  // A constant of the elements themselves, which the graph and its compilations keep: no copy.
  template <typename T>
  Value constant_owned(std::string_view name, std::vector<T> elements, const Shape& shape) const {
    auto owner = std::make_unique<std::vector<T>>(std::move(elements));
    const auto released = [](void* user) { delete static_cast<std::vector<T>*>(user); };
    return detail::append(graph_, [&](tailor_graph* graph, tailor_value* out) {
      std::vector<T>* kept = owner.release();  // the library calls `released`, also if it fails
      return add_constant(graph, name, dtype_of<T>(), shape, kept->data(), kept->size() * sizeof(T), released, kept,
                          out);
    });
  }
  // A constant of rank 0: `number`, rounded to `dtype`.
  Value scalar(DType dtype, double number) const {
    return detail::append(graph_, [&](tailor_graph* graph, tailor_value* out) {
      return tailor_graph_scalar(graph, static_cast<std::int32_t>(dtype), number, out);
    });
  }

  // The results of custom operator `name`, which the runtime that loads the executable must have
  // (Runtime::register_operator).
  std::vector<Value> custom(std::string_view name, Span<const Value> operands, const std::vector<CustomResult>& results,
                            const CustomOptions& options = {}) const {
    std::vector<std::vector<tailor_dim>> dims;
    std::vector<tailor_custom_result> types;
    for (const CustomResult& result : results) {
      dims.push_back(result.dims.handles(graph_));
      types.push_back({dims.back().data(), dims.back().size(), static_cast<std::int32_t>(result.dtype),
                       result.counted_dim.value_or(-1)});
    }
    tailor_custom_options c;
    tailor_custom_options_init(&c);
    c.attributes = options.attributes.data();
    c.attributes_size = options.attributes.size();
    c.impure = options.impure;
    const std::vector<tailor_value> given = detail::handles(operands);
    return detail::append_all(graph_, results.size(), [&](tailor_graph* graph, tailor_value* out) {
      return tailor_graph_custom(graph, name.data(), name.size(), given.data(), given.size(), types.data(),
                                 types.size(), &c, out);
    });
  }

  // Loops and branches run regions: graphs of their own, whose inputs take the values and whose outputs are the
  // results. A region has symbols of its own and sees no value of this graph. It is copied. `shapes` lists the dim
  // sizes of all results, one after the other; none: inferred. It is needed for dim sizes that are data-dependent or
  // that a body changes.

  // The values after running `body` (values -> values) while `condition` (values -> bool[]) is true.
  std::vector<Value> while_(Span<const Value> values, const Graph& condition, const Graph& body,
                            const Dims& shapes = {}) const {
    if (!adopt(condition) || !adopt(body)) return invalid_values(values.size());
    const std::vector<tailor_value> given = detail::handles(values);
    const std::vector<tailor_dim> dims = shapes.handles(graph_);
    return detail::append_all(graph_, values.size(), [&](tailor_graph* graph, tailor_value* out) {
      return tailor_graph_while(graph, given.data(), given.size(), condition.get(), body.get(), dims.data(),
                                dims.size(), out);
    });
  }
  // The results of `then_branch` (values -> results) if `condition`, a bool[], is true, else of `else_branch`.
  std::vector<Value> if_(const Value& condition, Span<const Value> values, const Graph& then_branch,
                         const Graph& else_branch, const Dims& shapes = {}) const {
    const std::size_t count = then_branch.output_count();
    if (!adopt(then_branch) || !adopt(else_branch)) return invalid_values(count);
    const std::vector<tailor_value> given = detail::handles(values);
    const std::vector<tailor_dim> dims = shapes.handles(graph_);
    return detail::append_all(graph_, count, [&](tailor_graph* graph, tailor_value* out) {
      return tailor_graph_if(graph, condition.get(), given.data(), given.size(), then_branch.get(), else_branch.get(),
                             dims.data(), dims.size(), out, count);
    });
  }

  // Regions as functions: they get a graph and its inputs, of the types of `values`, and return the results. Dims keep
  // their names and ranges; values whose dims a body changes need a region that is a Graph.
  //
  //     graph.while_({i, x}, [](const Graph&, const std::vector<Value>& v) { return v[0].lt(10); },
  //                  [](const Graph&, const std::vector<Value>& v) { return std::vector{v[0] + 1, v[1] * v[1]}; });
  using Arguments = std::vector<Value>;
  using Condition = std::function<Value(const Graph& region, const Arguments& arguments)>;
  using Body = std::function<std::vector<Value>(const Graph& region, const Arguments& arguments)>;
  std::vector<Value> while_(Span<const Value> values, const Condition& condition, const Body& body) const {
    const auto test = [&](const Graph& region, const Arguments& arguments) {
      return std::vector<Value>{condition(region, arguments)};
    };
    const Graph self(graph_);  // a function may end this object
    const Graph tested = self.region("condition", values, condition ? Body(test) : nullptr);
    return self.while_(values, tested, self.region("body", values, body));
  }
  std::vector<Value> if_(const Value& condition, Span<const Value> values, const Body& then_branch,
                         const Body& else_branch) const {
    const Graph self(graph_);  // a function may end this object
    const Graph then_region = self.region("then", values, then_branch);
    return self.if_(condition, values, then_region, self.region("else", values, else_branch));
  }

  // The canonical text, and the facts that are known of the shapes.
  Result<std::string> text() const {
    if (auto good = status(); !good) return good.error();
    return graph_->text([](tailor_graph* graph, const char** out) { return tailor_graph_text(graph, out); });
  }
  Result<std::string> facts() const {
    if (auto good = status(); !good) return good.error();
    return graph_->text([](tailor_graph* graph, const char** out) { return tailor_graph_facts_text(graph, out); });
  }

  // Compiles for all shapes at once, and loads the result. The graph may be extended and compiled again.
  Result<Executable> compile(const CompileOptions& options = {}) const {
    const tailor_runtime* runtime = options.runtime == nullptr ? nullptr : options.runtime->get();
    if (options.runtime != nullptr && runtime == nullptr) return detail::invalid("the runtime was moved from");
    tailor_executable* raw = nullptr;
    auto compiled = compile_with(options, [&](tailor_graph* graph, const tailor_compile_options* c) {
      return tailor_graph_compile(graph, runtime, c, &raw);
    });
    if (!compiled) return compiled.error();
    return Executable::of(raw);
  }
  // Compiles without loading, for other machines too: the bytes of the artifact.
  Result<std::vector<std::uint8_t>> compile_artifact(const CompileOptions& options = {}) const {
    std::vector<std::uint8_t> bytes;
    auto compiled = compile_with(options, [&](tailor_graph* graph, const tailor_compile_options* c) {
      return tailor_graph_compile_artifact(graph, c, detail::append_bytes, &bytes);
    });
    if (!compiled) return compiled.error();
    return bytes;
  }

  // The handle of the C API, which the object keeps. Null after a move.
  tailor_graph* get() const { return graph_ == nullptr ? nullptr : graph_->raw(); }

 private:
  explicit Graph(detail::GraphPointer graph) { graph_ = std::move(graph); }

  struct Parser {
    const ParseOptions& options;
    detail::Caught caught;

    static std::int32_t constant(void* user, const char* name, std::size_t name_size, std::int32_t dtype,
                                 const std::int64_t* dims, std::size_t rank, void* data, std::size_t size) noexcept {
      auto* self = static_cast<Parser*>(user);
      bool available = false;
      self->caught.run([&] {
        available =
            self->options.constant({name, name_size}, static_cast<DType>(dtype), Span<const std::int64_t>(dims, rank),
                                   {static_cast<unsigned char*>(data), size});
      });
      return available ? 0 : 1;
    }
  };

  struct Progress {
    const CompileOptions& options;
    detail::Caught caught;

    static std::int32_t report(void* user, const char* phase, double done) noexcept {
      auto* self = static_cast<Progress*>(user);
      bool go_on = false;
      self->caught.run([&] { go_on = self->options.progress(phase, done); });
      return go_on;
    }
  };

  template <typename F>
  Result<void> compile_with(const CompileOptions& options, F function) const {
    if (auto good = status(); !good) return good;
    if (!options.secret_key.empty() && options.secret_key.size() != 64) {
      return detail::invalid("secret_key has " + std::to_string(options.secret_key.size()) + " bytes, not 64");
    }
    std::vector<const char*> targets, donated, without;
    for (const std::string& target : options.targets) {
      if (auto text = detail::text_without_nul("target", target); !text) return text;
      targets.push_back(target.c_str());
    }
    for (const std::string& input : options.donated) {
      if (auto text = detail::text_without_nul("donated", input); !text) return text;
      donated.push_back(input.c_str());
    }
    for (const std::string& pass : options.without) {
      if (auto text = detail::text_without_nul("without", pass); !text) return text;
      without.push_back(pass.c_str());
    }
    if (auto text = detail::text_without_nul("worker", options.worker); !text) return text;
    Progress progress = {options, {}};
    tailor_compile_options c;
    tailor_compile_options_init(&c);
    c.targets = targets.data();
    c.target_count = targets.size();
    if (options.progress) c.progress = Progress::report;
    c.progress_user = &progress;
    c.threads = options.threads;
    c.secret_key = options.secret_key.empty() ? nullptr : options.secret_key.data();
    c.max_versions = options.max_versions;
    c.max_code_bytes = options.max_code_bytes;
    c.donated = donated.data();
    c.donated_count = donated.size();
    c.device = options.device.kind;
    c.device_ordinal = options.device.ordinal;
    c.offer_products = options.offer_products;
    c.direct_convolutions = options.direct_convolutions;
    c.allow_tf32 = options.allow_tf32;
    c.memory_limit = options.memory_limit;
    c.isolated = options.isolated;
    c.worker = options.worker.empty() ? nullptr : options.worker.c_str();
    c.optimize = options.optimize;
    c.without = without.data();
    c.without_count = without.size();
    c.cost_profile = options.cost_profile.empty() ? nullptr : options.cost_profile.data();
    c.cost_profile_size = options.cost_profile.size();
    c.denormals = static_cast<std::int64_t>(options.denormals);
    const detail::GraphPointer held = graph_;  // the callback may end this object
    Result<void> done = detail::check(function(held->raw(), &c));
    progress.caught.rethrow();
    return done;
  }

  static tailor_status* add_constant(tailor_graph* graph, std::string_view name, DType dtype, const Shape& shape,
                                     const void* data, std::size_t size, void (*released)(void*), void* user,
                                     tailor_value* out) {
    static constexpr std::int64_t kTooMany[TAILOR_MAX_RANK + 1] = {};
    // A shape with too many dims keeps only their number, which the library refuses.
    const std::int64_t* dims = shape.valid() ? shape.dims().data() : kTooMany;
    const std::size_t rank = shape.valid() ? shape.rank() : TAILOR_MAX_RANK + 1;
    return tailor_graph_constant(graph, name.data(), name.size(), static_cast<std::int32_t>(dtype), dims, rank, data,
                                 size, released, user, out);
  }

  // Hands the error of a region on to this graph. False if there is one.
  bool adopt(const Graph& region) const {
    if (graph_ == nullptr) return false;
    if (auto good = region.status(); !good) {
      graph_->fail(good.error());
      return false;
    }
    return true;
  }
  std::vector<Value> invalid_values(std::size_t count) const {
    return std::vector<Value>(count, detail::MakeValue::of(graph_, 0));
  }

  class RegionDims;
  // The region that `function` builds on inputs of the types of `values`. See tailor/hpp/regions.hpp.
  Graph region(const char* name, Span<const Value> values, const Body& function) const;
  // The dims of a value of this graph; of another's there are none, and the error is this graph's.
  std::vector<Dim> shape_of(const Value& value) const { return detail::MakeValue::of(graph_, value.get()).shape(); }
};

}  // namespace TAILOR_HPP
}  // namespace tailor

#include "tailor/hpp/regions.hpp"

#endif  // TAILOR_HPP_GRAPH_HPP_
