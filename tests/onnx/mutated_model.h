// Mutations of ONNX models: of bytes, and of the structure that their protos have.
#ifndef TAILOR_TESTS_ONNX_MUTATED_MODEL_H_
#define TAILOR_TESTS_ONNX_MUTATED_MODEL_H_

#include <random>
#include <string>
#include <vector>

namespace tailor {

// A mutation of one of `seeds`, the bytes of models; others give parts to it. One to three edits.
std::string MutatedModel(const std::vector<std::string>& seeds, std::mt19937_64& random);

}  // namespace tailor

#endif  // TAILOR_TESTS_ONNX_MUTATED_MODEL_H_
