#include "serialization/integrity.h"

#include <sodium.h>

#include <cstring>

#ifndef __GLIBC__
// Debian's archive of libsodium calls this function of glibc, which musl lacks.
extern "C" void __explicit_bzero_chk(void* bytes, size_t size, size_t) { explicit_bzero(bytes, size); }
#endif

namespace tailor {
namespace {

static_assert(crypto_sign_BYTES == kSignatureBytes);

// Lets libsodium choose its fastest code for this CPU, once. If that fails, its portable code is used.
void PrepareSodium() {
  static const int prepared = sodium_init();
  (void)prepared;
}

const unsigned char* AsUnsigned(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

Hash HashOf(std::span<const std::byte> bytes) {
  PrepareSodium();
  Hash hash;
  crypto_generichash_blake2b(hash.data(), hash.size(), AsUnsigned(bytes), bytes.size(), nullptr, 0);
  return hash;
}

static_assert(sizeof(crypto_generichash_blake2b_state) <= 384 && alignof(crypto_generichash_blake2b_state) <= 64);

Hasher::Hasher() {
  PrepareSodium();
  auto* state = reinterpret_cast<crypto_generichash_blake2b_state*>(state_);
  crypto_generichash_blake2b_init(state, nullptr, 0, kHashBytes);
}

void Hasher::Add(std::span<const std::byte> bytes) {
  auto* state = reinterpret_cast<crypto_generichash_blake2b_state*>(state_);
  crypto_generichash_blake2b_update(state, AsUnsigned(bytes), bytes.size());
}

Hash Hasher::Finish() {
  Hash hash;
  auto* state = reinterpret_cast<crypto_generichash_blake2b_state*>(state_);
  crypto_generichash_blake2b_final(state, hash.data(), hash.size());
  return hash;
}

bool HashMatches(std::span<const std::byte> bytes, const uint8_t (&expected)[kHashBytes]) {
  return std::memcmp(HashOf(bytes).data(), expected, kHashBytes) == 0;
}

Signature Sign(const uint8_t (&identity)[kHashBytes], const uint8_t* secret_key) {
  PrepareSodium();
  Signature signature;
  crypto_sign_detached(signature.data(), nullptr, identity, kHashBytes, secret_key);
  return signature;
}

bool SignatureMatches(const uint8_t (&identity)[kHashBytes], const uint8_t (&signature)[kSignatureBytes],
                      const uint8_t* public_key) {
  PrepareSodium();
  return crypto_sign_verify_detached(signature, identity, kHashBytes, public_key) == 0;
}

}  // namespace tailor
