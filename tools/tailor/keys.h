// Ed25519 keys in PEM files, as OpenSSL writes them: PKCS #8 ("PRIVATE KEY") and SubjectPublicKeyInfo ("PUBLIC KEY").
#ifndef TAILOR_TOOLS_TAILOR_KEYS_H_
#define TAILOR_TOOLS_TAILOR_KEYS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace tailor {

using PublicKey = std::array<uint8_t, 32>;  // as tailor_load_options.public_key
using SecretKey = std::array<uint8_t, 64>;  // as tailor_compile_options.secret_key: seed, then public key

SecretKey MakeSecretKey();
PublicKey PublicOf(const SecretKey& key);

std::string PemText(const SecretKey& key);
std::string PemText(const PublicKey& key);
std::string HexText(std::span<const uint8_t> bytes);

// Throws FileError. Warns on stderr if others than the file's owner may read it.
SecretKey ReadSecretKey(const std::string& path);
// From a PEM file, or 64 hex digits. Throws FileError.
PublicKey ReadPublicKey(const std::string& path_or_digits);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_KEYS_H_
