// A progress bar on stderr.
#ifndef TAILOR_TOOLS_TAILOR_PROGRESS_BAR_H_
#define TAILOR_TOOLS_TAILOR_PROGRESS_BAR_H_

#include <chrono>
#include <string>

namespace tailor {

// On a terminal one line that is redrawn, at most 20 times a second, and erased at the end. Elsewhere, if forced, one
// line per tenth. Not thread-safe.
class ProgressBar {
 public:
  // `forced`: also where stderr is no terminal.
  explicit ProgressBar(bool forced);
  ProgressBar(const ProgressBar&) = delete;
  ~ProgressBar();

  void Show(const std::string& phase, double done);

 private:
  bool terminal_, forced_, shown_ = false;
  int tenth_ = -1;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_PROGRESS_BAR_H_
