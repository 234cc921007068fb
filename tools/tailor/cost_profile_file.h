// The file of --cost-profile.
#ifndef TAILOR_TOOLS_TAILOR_COST_PROFILE_FILE_H_
#define TAILOR_TOOLS_TAILOR_COST_PROFILE_FILE_H_

#include <string>

#include "tools/tailor/files.h"

namespace tailor {

class CostProfileFile {
 public:
  // Throws FileError. An empty path: no profile.
  explicit CostProfileFile(const std::string& path) : given_(!path.empty()), text_(given_ ? ReadFile(path) : "") {}

  // Sets the profile in options of compiling or loading, which then point into this object.
  template <typename Options>
  void SetIn(Options* options) const {
    if (!given_) return;
    options->cost_profile = text_.data();
    options->cost_profile_size = text_.size();
  }

 private:
  const bool given_;
  const std::string text_;
};

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_COST_PROFILE_FILE_H_
