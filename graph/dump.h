// Dumps of intermediate results to files, enabled by the environment variable TAILOR_DUMP.
#ifndef TAILOR_GRAPH_DUMP_H_
#define TAILOR_GRAPH_DUMP_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tailor {

// If TAILOR_DUMP=<dir> is set, writes `text` to <dir>/<stage>.<number>.<pass>.txt; else does nothing.
absl::Status DumpPass(absl::string_view stage, int number, absl::string_view pass, const std::string& text);

// Whether TAILOR_DUMP is set. Callers build the text only then.
bool DumpWanted();

}  // namespace tailor

#endif  // TAILOR_GRAPH_DUMP_H_
