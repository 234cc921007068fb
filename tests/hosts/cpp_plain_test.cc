// The C++ layer in two linked units, one as C++17 and one as C++20; compiled once with and once without exceptions and
// run-time types. Argument "abort": `value()` of an error, which ends a program without exceptions.
#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/hosts/cpp_units.hpp"

namespace {

int failures = 0;

void Expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", what);
  ++failures;
}

tailor::Result<float> Last(float value) {
  tailor::Graph graph("plain");
  const tailor::Value x = graph.input("x", tailor::DType::kF32, {graph.symbol("N")});
  graph.output("y", TwiceIn(graph, x));
  tailor::CompileOptions options;
  options.targets = {"host"};
  options.progress = [](std::string_view, double) { return true; };
  return graph.compile(options)
      .and_then([](const tailor::Executable& executable) { return executable.session(); })
      .and_then([&](tailor::Session session) -> tailor::Result<float> {
        const std::vector<float> elements = {1, value};
        tailor::Result<tailor::Outputs> outputs = RunIn(session, {tailor::view(elements)});
        if (!outputs) return outputs.error();
        return outputs->get<float>("y").transform([](tailor::Span<const float> y) { return y[1]; });
      });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "abort") == 0) {
    tailor::Executable::load("/nowhere.tlr").value();
    return 0;
  }
  Expect(Last(3).value_or(0) == 6, "a run");
  Expect(Last(-3).value_or(0) == -6, "the other branch");

  tailor::Runtime runtime = tailor::Runtime::create().value();
  const auto refuses = [](const tailor::CustomCall& call) -> tailor::Result<void> {
    tailor::Result<tailor::Span<const double>> x = call.operand<double>(0);
    return x ? tailor::Result<void>() : x.error();
  };
  Expect(runtime.register_operator("f", refuses).has_value(), "registration");
  tailor::Graph graph("custom");
  tailor::CustomResult type;
  type.dims = {2};
  graph.output("y", graph.custom("f", {graph.input("x", tailor::DType::kF32, {2})}, {type})[0]);
  tailor::CompileOptions options;
  options.targets = {"host"};
  options.runtime = &runtime;
  tailor::Session session = graph.compile(options).value().session().value();
  const std::vector<float> x(2);
  const tailor::Result<tailor::Outputs> failed = session.run({tailor::view(x)});
  Expect(!failed && failed.error().code() == tailor::Code::kInvalidArgument, "an operator's error");

  const tailor::Result<tailor::Executable> missing = tailor::Executable::load("/nowhere.tlr");
  Expect(!missing && missing.error().code() == tailor::Code::kNotFound, "an error");
#if defined(__cpp_exceptions)
  try {
    missing.value();
    Expect(false, "value() throws");
  } catch (const tailor::Error& error) {
    Expect(error.code() == tailor::Code::kNotFound, "the error that is thrown");
  }
#endif
  return failures == 0 ? 0 : 1;
}
