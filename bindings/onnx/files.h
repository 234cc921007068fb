// Files mapped into memory.
#ifndef TAILOR_BINDINGS_ONNX_FILES_H_
#define TAILOR_BINDINGS_ONNX_FILES_H_

#include <memory>
#include <string>
#include <string_view>

namespace tailor::onnx {

struct MappedFile {
  std::shared_ptr<const void> owner;  // of the memory
  std::string_view bytes;
  bool mapped = false;  // by MapFile
};

// Fails with the system's reason; `what` names the file in errors. NOT_FOUND if the file does not exist, or with
// `no_links`, which is for files that a model names, INVALID_ARGUMENT. `no_links` refuses a symbolic link.
MappedFile MapFile(const std::string& path, const std::string& what, bool no_links = false);

// `bytes` of the file. When the last owner of the part is gone, its whole pages leave the memory of the
// process: pages are resident once they are read. Whoever reads them again gets them from the file.
MappedFile PartOf(const MappedFile& file, std::string_view bytes);

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_FILES_H_
