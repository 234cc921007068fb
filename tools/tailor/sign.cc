#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "serialization/integrity.h"
#include "serialization/reader.h"
#include "tools/handles.h"
#include "tools/tailor/commands.h"
#include "tools/tailor/failures.h"
#include "tools/tailor/figures.h"
#include "tools/tailor/files.h"
#include "tools/tailor/keys.h"

namespace tailor {
namespace {

using nlohmann::json;

ArtifactHeader HeaderOf(const Artifact& artifact) {
  ArtifactHeader header;
  std::memcpy(&header, artifact.prefix.data(), sizeof(header));
  return header;
}

bool IsSigned(const ArtifactHeader& header) {
  constexpr uint8_t kNone[kSignatureBytes] = {};
  return std::memcmp(header.signature, kNone, kSignatureBytes) != 0;
}

// Reads and verifies all of `path`. A missing file is a FileError.
Failure ReadVerified(const std::string& path, const uint8_t* public_key, Artifact* out) {
  FileSource source;
  if (const Failure failure = source.Open(path); !failure.ok()) {
    throw FileError(static_cast<int32_t>(failure.code), failure.message);
  }
  return ReadArtifact(source, {.verify_constants = true, .copy_constants = true, .public_key = public_key}, out);
}

// The file's bytes, signed with `key`.
std::string Signed(const Artifact& artifact, const SecretKey& key) {
  ArtifactHeader header = HeaderOf(artifact);
  const Signature signature = Sign(header.identity, key.data());
  std::copy(signature.begin(), signature.end(), header.signature);
  const Hash seal = HashOf(std::as_bytes(std::span(&header, 1)).first(offsetof(ArtifactHeader, seal)));
  std::copy(seal.begin(), seal.end(), header.seal);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  const std::span<const std::byte> prefix = artifact.prefix.span(), constants = artifact.constants.bytes();
  bytes.append(reinterpret_cast<const char*>(prefix.data()) + sizeof(header), prefix.size() - sizeof(header));
  bytes.append(reinterpret_cast<const char*>(constants.data()), constants.size());
  return bytes;
}

}  // namespace

int Keygen(const KeygenArguments& arguments) {
  const size_t dot = arguments.path.rfind('.'), slash = arguments.path.rfind('/');
  const bool has = dot != std::string::npos && dot > 0 && (slash == std::string::npos || dot > slash + 1);
  const std::string public_path = arguments.path.substr(0, has ? dot : arguments.path.size()) + ".pub";
  for (const std::string& path : {arguments.path, public_path}) {
    if (access(path.c_str(), F_OK) != 0) continue;
    if (!arguments.force) throw UsageError(path + " exists; --force replaces it");
    unlink(path.c_str());
  }
  const SecretKey key = MakeSecretKey();
  WriteFile(arguments.path, PemText(key), 0600);
  WriteFile(public_path, PemText(PublicOf(key)));
  const std::string digits = HexText(PublicOf(key));
  if (arguments.json) {
    std::cout
        << json{{"secret_key_file", arguments.path}, {"public_key_file", public_path}, {"public_key", digits}}.dump(2)
        << "\n";
  } else {
    std::cout << arguments.path << " (secret, mode 0600)  " << public_path << " (public: " << digits << ")\n";
  }
  return kExitSuccess;
}

int Sign(const SignArguments& arguments) {
  const SecretKey key = ReadSecretKey(arguments.key);
  Artifact artifact;
  if (const Failure failure = ReadVerified(arguments.artifact, nullptr, &artifact); !failure.ok()) {
    throw FileError(static_cast<int32_t>(failure.code), arguments.artifact + ": " + failure.message);
  }
  const std::string path = arguments.output.empty() ? arguments.artifact : arguments.output;
  WriteFile(path, Signed(artifact, key));
  const std::string digits = HexText(PublicOf(key)), identity = HexText(HeaderOf(artifact).identity);
  if (arguments.json) {
    std::cout << json{{"artifact", path}, {"identity", identity}, {"public_key", digits}}.dump(2) << "\n";
  } else {
    std::cout << path << "  signed, public key " << digits << "\n";
  }
  return kExitSuccess;
}

int Verify(const VerifyArguments& arguments) {
  PublicKey key;
  const bool keyed = !arguments.public_key.empty();
  if (keyed) key = ReadPublicKey(arguments.public_key);
  Artifact artifact;
  const Failure failure = ReadVerified(arguments.artifact, keyed ? key.data() : nullptr, &artifact);
  if (!failure.ok()) {
    if (arguments.json) {
      std::cout << json{{"artifact", arguments.artifact},
                        {"valid", false},
                        {"status", StatusName(static_cast<int32_t>(failure.code))},
                        {"message", failure.message}}
                       .dump(2)
                << "\n";
    }
    std::cerr << "tailor: " << StatusName(static_cast<int32_t>(failure.code)) << ": " << arguments.artifact << ": "
              << failure.message << "\n";
    return kExitNo;
  }
  const ArtifactHeader header = HeaderOf(artifact);
  const bool is_signed = IsSigned(header);
  const uint64_t bytes = header.file_size;
  if (arguments.json) {
    std::cout << json{{"artifact", arguments.artifact},       {"valid", true},       {"bytes", bytes},
                      {"identity", HexText(header.identity)}, {"signed", is_signed}, {"signature_verified", keyed}}
                     .dump(2)
              << "\n";
  } else {
    std::cout << arguments.artifact << "  intact, " << ByteText(static_cast<int64_t>(bytes)) << ", "
              << (keyed       ? "signed by this key"
                  : is_signed ? "signed (give --public-key to verify by whom)"
                              : "not signed")
              << "\n";
  }
  return kExitSuccess;
}

}  // namespace tailor
