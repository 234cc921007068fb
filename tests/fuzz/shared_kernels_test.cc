// Layers that differ in their numbers of channels and in their scales, whose kernels are one each
// (codegen/lower/share_kernels.h), held against the reference.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/fuzz/expect_right.h"

namespace tailor {
namespace {

// A pointwise convolution from C to D channels, a depthwise one, a squeeze with its excitation, and scales of the
// layer.
constexpr char kLayer[] = R"(
  %w# = constant @w# : T[C, D]
  %b# = constant @b# : T[D, 1, 1]
  %k# = constant @k# : T[D, 3, 3]
  %r# = reshape %x< {shape = [B, C, H*W]}
  %t# = transpose %r# {permutation = [0, 2, 1]}
  %d# = dot %t#, %w#
  %u# = transpose %d# {permutation = [0, 2, 1]}
  %v# = reshape %u# {shape = [B, D, H, W]}
  %a# = add %v#, %b#
  %z# = max %a#, %zero
  %p# = pad %z#, %zero {low = [0, 0, 1, 1], high = [0, 0, 1, 1]}
  %f# = window %p# {axes = [2, 3], sizes = [3, 3], strides = [1, 1]}
  %l# = reshape %k# {shape = [D, 1, 1, 3, 3]}
  %m# = mul %f#, %l#
  %s# = reduce_sum %m# {axes = [4, 5]}
  %q# = reduce_max %s# {axes = [2, 3], keep_dims = 1}
  %e# = mul %s#, %q#
  %c# = constant 1.7# : T[]
  %g# = div %e#, %c#
  %h# = mul %s#, %c#
  %x# = sub %g#, %h#
)";

std::string Layers(const std::string& dtype, const std::vector<int>& channels) {
  std::string body;
  for (size_t i = 1; i < channels.size(); ++i) {
    body += absl::StrReplaceAll(kLayer, {{"#", absl::StrCat(i)},
                                         {"<", absl::StrCat(i - 1)},
                                         {"C,", absl::StrCat(channels[i - 1], ",")},
                                         {"D]", absl::StrCat(channels[i], "]")},
                                         {"D,", absl::StrCat(channels[i], ",")}});
  }
  const std::string graph = absl::StrCat("graph @g(%x0: T[B, ", channels[0],
                                         ", H, W]) where B in [1, 3], H in [1, 9], W in [1, 20] {\n"
                                         "  %zero = constant 0 : T[]\n",
                                         body, "  return %x", channels.size() - 1, "\n}");
  return absl::StrReplaceAll(graph, {{"T[", dtype + "["}});
}

TEST(SharedKernels, AgreeWithTheReference) {
  for (const std::vector<int>& channels : {std::vector{17, 24, 40, 72}, {16, 32, 48, 64}, {24, 1100, 24}}) {
    for (const char* dtype : {"f32", "bf16"}) {
      ExpectRight(Layers(dtype, channels));
    }
  }
}

// Attention, dequantized before and requantized after the softmax: a chain whose links have the scales and zero points
// of the layer.
constexpr char kAttention[] = R"(
  %c# = constant 0.1# : f32[]
  %i# = constant 0.0# : f32[]
  %z# = constant # : f32[]
  %o# = constant # : i32[]
  %s# = dot %q, %k
  %t# = mul %s#, %c#
  %m# = reduce_max %t# {axes = [1], keep_dims = 1}
  %d# = sub %t#, %m#
  %e# = exp %d#
  %n# = reduce_sum %e# {axes = [1], keep_dims = 1}
  %p# = div %e#, %n#
  %g# = dot %p#, %v
  %h# = div %g#, %i#
  %r# = round %h#
  %a# = add %r#, %z#
  %b# = cast %a# {dtype = i8}
  %w# = cast %b# {dtype = i32}
  %f# = sub %w#, %o#
  %x# = cast %f# {dtype = f32}
  %y# = mul %x#, %i#
)";

TEST(SharedKernels, ChainsOfOtherLiteralsAgreeWithTheReference) {
  std::string graph = "graph @g(%q: f32[M, 16], %k: f32[16, N], %v: f32[N, 16]) where M in [1, 40], N in [1, 40] {\n";
  for (const char* layer : {"3", "5", "7"}) graph += absl::StrReplaceAll(kAttention, {{"#", layer}});
  ExpectRight(graph + "  return %y3, %y5, %y7\n}");
}

}  // namespace
}  // namespace tailor
