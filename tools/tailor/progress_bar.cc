#include "tools/tailor/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace tailor {
namespace {

constexpr int kCells = 32;
constexpr int kPhaseColumns = 32;
constexpr std::chrono::milliseconds kRedraw(50);

}  // namespace

ProgressBar::ProgressBar(bool forced) : terminal_(isatty(STDERR_FILENO) != 0), forced_(forced) {}

ProgressBar::~ProgressBar() {
  if (shown_ && terminal_) std::fputs("\r\033[K", stderr);
}

void ProgressBar::Show(const std::string& phase, double done) {
  const int percent = static_cast<int>(std::clamp(done, 0.0, 1.0) * 100);
  if (!terminal_) {
    if (!forced_ || percent / 10 == tenth_) return;
    tenth_ = percent / 10;
    std::fprintf(stderr, "%3d%% %s\n", percent, phase.c_str());
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (shown_ && now < next_) return;
  next_ = now + kRedraw;
  shown_ = true;
  const std::string filled(static_cast<size_t>(percent * kCells / 100), '#');
  std::fprintf(stderr, "\r\033[K[%-*s] %3d%% %.*s", kCells, filled.c_str(), percent, kPhaseColumns, phase.c_str());
  std::fflush(stderr);
}

}  // namespace tailor
