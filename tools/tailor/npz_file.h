// A .npz file: a zip archive of .npy files, stored or deflated, as numpy.savez and savez_compressed write it.
#ifndef TAILOR_TOOLS_TAILOR_NPZ_FILE_H_
#define TAILOR_TOOLS_TAILOR_NPZ_FILE_H_

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tools/tailor/tensor_file.h"

namespace tailor {

// The constructor reads the archive's directory, Read one array. Not thread-safe.
class NpzFile {
 public:
  // Throws FileError, as Read does, naming the file and what is wrong with it.
  explicit NpzFile(const std::string& path);

  bool Has(const std::string& name) const { return entries_.count(name) > 0; }
  std::vector<std::string> Names() const;
  // Requires Has(name). Its checksum is verified.
  NamedTensor Read(const std::string& name);

 private:
  struct Entry {
    uint16_t flags, method;
    uint32_t crc;
    uint64_t compressed, size, offset;
  };

  [[noreturn]] void Fail(const std::string& problem) const;
  std::string Bytes(uint64_t offset, uint64_t size);
  void ReadDirectory(const std::string& directory, uint64_t count);

  std::string path_;
  std::ifstream in_;
  uint64_t file_size_ = 0;
  std::map<std::string, Entry> entries_;  // by name without ".npy"
};

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_NPZ_FILE_H_
