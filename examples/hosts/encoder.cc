// Runs a sentence encoder: encoder ARTIFACT INPUTS OUTPUTS. INPUTS has i64 numbers: B, S, ids[B, S], mask[B, S] of one
// batch after the other. Prints the milliseconds until the artifact is loaded and until the first result.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <vector>

#include "tailor/runtime.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

bool read(std::ifstream& in, std::vector<std::int64_t>& numbers) {
  return !!in.read(reinterpret_cast<char*>(numbers.data()), static_cast<std::streamsize>(8 * numbers.size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    const Clock::time_point begin = Clock::now();
    const tailor::Executable executable = tailor::Executable::load(argv[1]).value();
    tailor::Session session = executable.session().value();
    const double loaded = milliseconds_since(begin);
    double first = 0;
    std::ifstream in(argv[2], std::ios::binary);
    std::ofstream out(argv[3], std::ios::binary);
    for (std::vector<std::int64_t> size(2); read(in, size);) {
      const tailor::Shape shape{size[0], size[1]};
      std::vector<std::int64_t> ids(static_cast<std::size_t>(size[0] * size[1])), mask(ids.size());
      if (!read(in, ids) || !read(in, mask)) return 1;
      tailor::Outputs outputs = session.run({tailor::view(ids, shape), tailor::view(mask, shape)}).value();
      if (first == 0) first = milliseconds_since(begin);
      const tailor::Span<const float> embedding = outputs.get<float>("embedding").value();
      out.write(reinterpret_cast<const char*>(embedding.data()), static_cast<std::streamsize>(4 * embedding.size()));
    }
    std::printf("%.2f %.2f\n", loaded, first);
    return out.flush() ? 0 : 1;
  } catch (const tailor::Error& error) {
    std::fprintf(stderr, "encoder: %s\n", error.what());
    return 1;
  }
}
