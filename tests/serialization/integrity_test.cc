#include "serialization/integrity.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <cstring>
#include <string>

namespace tailor {
namespace {

std::string Hex(std::span<const uint8_t> bytes) {
  std::string text;
  for (uint8_t b : bytes) {
    text += "0123456789abcdef"[b >> 4];
    text += "0123456789abcdef"[b & 15];
  }
  return text;
}

TEST(Integrity, HashesAreBlake2b256) {
  const std::string abc = "abc";
  EXPECT_EQ(Hex(HashOf(std::as_bytes(std::span(abc)))),
            "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  EXPECT_EQ(Hex(HashOf({})), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
}

TEST(Integrity, HashMatchesOnlyItsBytes) {
  const std::string abc = "abc", abd = "abd";
  uint8_t expected[kHashBytes];
  std::memcpy(expected, HashOf(std::as_bytes(std::span(abc))).data(), kHashBytes);
  EXPECT_TRUE(HashMatches(std::as_bytes(std::span(abc)), expected));
  EXPECT_FALSE(HashMatches(std::as_bytes(std::span(abd)), expected));
}

TEST(Integrity, SignaturesFitOneKeyAndOneIdentity) {
  uint8_t public_key[32], secret_key[64], other_public[32], other_secret[64];
  crypto_sign_keypair(public_key, secret_key);
  crypto_sign_keypair(other_public, other_secret);
  uint8_t identity[kHashBytes] = {1, 2, 3}, signature[kSignatureBytes];
  std::memcpy(signature, Sign(identity, secret_key).data(), kSignatureBytes);
  EXPECT_TRUE(SignatureMatches(identity, signature, public_key));
  EXPECT_FALSE(SignatureMatches(identity, signature, other_public));
  identity[0] ^= 1;
  EXPECT_FALSE(SignatureMatches(identity, signature, public_key));
}

TEST(Integrity, ChunksCoverAConstant) {
  EXPECT_EQ(ChunkCount(0), 0u);
  EXPECT_EQ(ChunkCount(64), 1u);
  EXPECT_EQ(ChunkCount(kChunkBytes), 1u);
  EXPECT_EQ(ChunkCount(kChunkBytes + 64), 2u);
}

}  // namespace
}  // namespace tailor
