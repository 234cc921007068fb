// Whole files of the command line tool.
#ifndef TAILOR_TOOLS_TAILOR_FILES_H_
#define TAILOR_TOOLS_TAILOR_FILES_H_

#include <string>
#include <string_view>

namespace tailor {

// Throws FileError.
std::string ReadFile(const std::string& path);

// Writes a temporary file beside `path`, then fsync and rename: on failure, `path` is as before. Symbolic links are
// followed. A device or FIFO is written to directly. A new file has `mode`, less the umask. Throws FileError.
void WriteFile(const std::string& path, std::string_view content, unsigned mode = 0666);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_FILES_H_
