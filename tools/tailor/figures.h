// Time since construction, and times as text.
#ifndef TAILOR_TOOLS_TAILOR_FIGURES_H_
#define TAILOR_TOOLS_TAILOR_FIGURES_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace tailor {

// Monotonic.
inline int64_t NowNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class Stopwatch {
 public:
  int64_t Nanoseconds() const { return NowNanoseconds() - begin_; }
  double Seconds() const { return static_cast<double>(Nanoseconds()) * 1e-9; }

 private:
  int64_t begin_ = NowNanoseconds();
};

// Three significant digits: "412 ns", "4.12 us", "41.2 ms", "412 s".
std::string TimeText(double seconds);
// "412 B", "41.2 KiB", "4.12 MiB".
std::string ByteText(int64_t bytes);
// Three significant digits, no exponent from 10^-4 to 10^15: "0.0123", "12.3", "12300".
std::string NumberText(double number);
// The same with thousands apart: "12,345".
std::string RateText(double number);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_FIGURES_H_
