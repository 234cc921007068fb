#include "tools/tailor/keys.h"

#include <sodium.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "tailor/runtime.h"
#include "tools/tailor/failures.h"
#include "tools/tailor/files.h"

namespace tailor {
namespace {

// DER of RFC 8410, up to the 32 bytes of the key.
constexpr uint8_t kSecretPrefix[] = {0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
                                     0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};
constexpr uint8_t kPublicPrefix[] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
constexpr size_t kKeyBytes = 32;
constexpr char kSecretLabel[] = "PRIVATE KEY", kPublicLabel[] = "PUBLIC KEY";

static_assert(crypto_sign_SEEDBYTES == kKeyBytes && crypto_sign_PUBLICKEYBYTES == kKeyBytes &&
              crypto_sign_SECRETKEYBYTES == 2 * kKeyBytes);

// `key` has kKeyBytes.
std::string Pem(const std::string& label, std::span<const uint8_t> prefix, const uint8_t* key) {
  std::string der(prefix.begin(), prefix.end());
  der.append(reinterpret_cast<const char*>(key), kKeyBytes);
  char text[128];
  sodium_bin2base64(text, sizeof(text), reinterpret_cast<const uint8_t*>(der.data()), der.size(),
                    sodium_base64_VARIANT_ORIGINAL);
  return "-----BEGIN " + label + "-----\n" + text + "\n-----END " + label + "-----\n";
}

// The kKeyBytes of a PEM file's key.
std::array<uint8_t, kKeyBytes> ReadPem(const std::string& path, const std::string& label,
                                       std::span<const uint8_t> prefix) {
  const std::string text = ReadFile(path), begin = "-----BEGIN " + label + "-----", end = "-----END " + label;
  const size_t first = text.find(begin), last = text.find(end);
  uint8_t der[128];
  size_t size = 0;
  const bool decoded =
      first != std::string::npos && last != std::string::npos && first + begin.size() < last &&
      sodium_base642bin(der, sizeof(der), text.data() + first + begin.size(), last - first - begin.size(), "\r\n ",
                        &size, nullptr, sodium_base64_VARIANT_ORIGINAL) == 0;
  if (!decoded || size != prefix.size() + kKeyBytes || !std::equal(prefix.begin(), prefix.end(), der)) {
    throw FileError(TAILOR_INVALID_ARGUMENT, path + " holds no Ed25519 \"" + label + "\" in PEM");
  }
  std::array<uint8_t, kKeyBytes> key;
  std::copy_n(der + prefix.size(), kKeyBytes, key.begin());
  return key;
}

}  // namespace

SecretKey MakeSecretKey() {
  if (sodium_init() < 0) throw std::runtime_error("the system gives no random numbers");
  SecretKey key;
  PublicKey unused;
  crypto_sign_keypair(unused.data(), key.data());
  return key;
}

PublicKey PublicOf(const SecretKey& key) {
  PublicKey out;
  std::copy(key.begin() + kKeyBytes, key.end(), out.begin());
  return out;
}

std::string PemText(const SecretKey& key) { return Pem(kSecretLabel, kSecretPrefix, key.data()); }
std::string PemText(const PublicKey& key) { return Pem(kPublicLabel, kPublicPrefix, key.data()); }

std::string HexText(std::span<const uint8_t> bytes) {
  std::string text(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
  text.pop_back();
  return text;
}

SecretKey ReadSecretKey(const std::string& path) {
  const auto seed = ReadPem(path, kSecretLabel, kSecretPrefix);
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && (status.st_mode & 077) != 0) {
    std::fprintf(stderr, "tailor: warning: %s is readable by others; make it yours alone: chmod 600\n", path.c_str());
  }
  SecretKey key;
  PublicKey unused;
  crypto_sign_seed_keypair(unused.data(), key.data(), seed.data());
  return key;
}

PublicKey ReadPublicKey(const std::string& path_or_digits) {
  PublicKey key;
  size_t size = 0;
  const bool digits = path_or_digits.size() == 2 * kKeyBytes &&
                      sodium_hex2bin(key.data(), key.size(), path_or_digits.data(), path_or_digits.size(), nullptr,
                                     &size, nullptr) == 0 &&
                      size == kKeyBytes;
  return digits ? key : ReadPem(path_or_digits, kPublicLabel, kPublicPrefix);
}

}  // namespace tailor
