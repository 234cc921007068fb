// Intermediate results on disk, when the environment asks for them.
#ifndef TAILOR_GRAPH_DUMP_H_
#define TAILOR_GRAPH_DUMP_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tailor {

// With TAILOR_DUMP=<dir> set, writes `text` to <dir>/<stage>.<number>.<pass>.txt; else does nothing.
absl::Status DumpPass(absl::string_view stage, int number, absl::string_view pass, const std::string& text);

// Whether TAILOR_DUMP is set: the text need not be made otherwise.
bool DumpWanted();

}  // namespace tailor

#endif  // TAILOR_GRAPH_DUMP_H_
