// The progress of a compilation, on a terminal, and its end by Ctrl-C.
#ifndef TAILOR_TOOLS_TAILOR_COMPILATION_H_
#define TAILOR_TOOLS_TAILOR_COMPILATION_H_

#include "tailor/compiler.h"
#include "tools/tailor/interrupt.h"
#include "tools/tailor/progress_bar.h"

namespace tailor {

// Sets the progress function of `options`, which must not be used after the destructor.
class CompilationProgress {
 public:
  // `forced`: also where stderr is no terminal.
  CompilationProgress(bool forced, tailor_compile_options* options);

 private:
  static int32_t Advance(void* self, const char* phase, double done);

  InterruptGuard guard_;
  ProgressBar bar_;
};

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_COMPILATION_H_
