// Describes a program as JSON, for people and tools: symbols, signature, facts, checks, constants, variants with their
// launches, provenance, sizes.
#ifndef TAILOR_EXEC_DESCRIBE_H_
#define TAILOR_EXEC_DESCRIBE_H_

#include <string>

#include "codegen/contract/program.h"

namespace tailor {

// `in_use` is one of program.variants, or null. `artifact_bytes` is the size of the file; `constants_hash` is the hash
// of all constants' bytes, in hex.
std::string DescribeAsJson(const Program& program, const Variant* in_use, uint64_t artifact_bytes,
                           const std::string& constants_hash);

}  // namespace tailor

#endif  // TAILOR_EXEC_DESCRIBE_H_
