// Hashes and signatures of artifacts: BLAKE2b-256 and Ed25519 from libsodium. Thread-safe.
#ifndef TAILOR_SERIALIZATION_INTEGRITY_H_
#define TAILOR_SERIALIZATION_INTEGRITY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "serialization/layout.h"

namespace tailor {

using Hash = std::array<uint8_t, kHashBytes>;
using Signature = std::array<uint8_t, kSignatureBytes>;

Hash HashOf(std::span<const std::byte> bytes);

// Incremental hash over consecutive pieces.
class Hasher {
 public:
  Hasher();
  void Add(std::span<const std::byte> bytes);
  Hash Finish();

 private:
  alignas(64) std::byte state_[384];  // libsodium's state
};

bool HashMatches(std::span<const std::byte> bytes, const uint8_t (&expected)[kHashBytes]);

// The number of hash chunks of a constant with padded size `padded` bytes.
constexpr uint64_t ChunkCount(uint64_t padded) { return padded / kChunkBytes + (padded % kChunkBytes != 0); }

// `secret_key` has 64 bytes and `public_key` 32, as crypto_sign_keypair makes them.
Signature Sign(const uint8_t (&identity)[kHashBytes], const uint8_t* secret_key);
bool SignatureMatches(const uint8_t (&identity)[kHashBytes], const uint8_t (&signature)[kSignatureBytes],
                      const uint8_t* public_key);

}  // namespace tailor

#endif  // TAILOR_SERIALIZATION_INTEGRITY_H_
