#include "tools/tailor/compilation.h"

namespace tailor {

CompilationProgress::CompilationProgress(bool forced, tailor_compile_options* options) : bar_(forced) {
  options->progress = Advance;
  options->progress_user = this;
}

int32_t CompilationProgress::Advance(void* self, const char* phase, double done) {
  static_cast<CompilationProgress*>(self)->bar_.Show(phase, done);
  return InterruptGuard::Interrupted() ? 0 : 1;
}

}  // namespace tailor
