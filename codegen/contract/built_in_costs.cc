// The built-in cost profiles, in the text form that `tailor tune profile --target LEVEL` writes. Only ratios matter
// for the choice of a tiling. The profiles of CPU levels were measured on one core of a Sapphire Rapids virtual machine
// at about 2.2 GHz.
#include <cassert>

#include "codegen/contract/cost_profile.h"

namespace tailor {
namespace {

constexpr std::string_view kV4 = R"(
cached_bytes 2097152
line 2.64
hidden 0
task 50
region 800
margin 0.03
tile 1x1 15.31 0.48 0.57
tile 1x2 0 1.07 1.13
tile 1x3 0 1.55 1.69
tile 1x4 5.8 2.02 2.25
tile 1x5 0 2.56 2.83
tile 1x6 0 3.15 3.46
tile 1x7 0 3.86 4.14
tile 1x8 0 4.32 4.82
tile 2x1 11.17 0.66 0.72
tile 2x2 7.19 1.4 1.43
tile 2x3 14.88 1.99 2.14
tile 2x4 19.6 2.66 2.83
tile 2x5 11.34 3.23 3.34
tile 2x6 0 3.96 4.09
tile 2x7 0 4.66 4.92
tile 2x8 0 5.41 5.77
tile 3x1 29.16 0.89 1.02
tile 3x2 47.88 1.82 2.01
tile 3x3 37.12 2.42 2.58
tile 3x4 42.2 3.08 3.17
tile 3x5 51.7 3.78 3.87
tile 3x6 47.44 4.61 4.65
tile 3x7 51.6 5.37 5.57
tile 3x8 54.05 6.09 6.46
tile 4x1 27.5 1.08 1.09
tile 4x2 37.56 2.17 2.14
tile 4x3 45.54 2.92 2.84
tile 4x4 61.56 3.79 3.68
tile 4x5 61.63 4.71 4.61
tile 4x6 73.84 5.61 5.63
tile 5x1 37.53 1.98 1.67
tile 5x2 49.36 2.46 2.44
tile 5x3 56.97 3.53 3.46
tile 5x4 60.21 4.72 4.57
tile 5x5 69.5 5.86 5.74
tile 6x1 40.15 2.05 2.01
tile 6x2 50.56 2.91 2.84
tile 6x3 59.66 4.26 4.12
tile 6x4 66.83 5.65 5.49
tile 7x1 48.64 2.37 2.34
tile 7x2 54.17 3.35 3.26
tile 7x3 62.73 5 4.8
tile 8x1 72.72 2.4 2.62
tile 8x2 60.05 3.81 3.68
tile 8x3 71.53 5.64 5.48
tile 9x1 47.8 2.87 2.85
tile 9x2 63.21 4.31 4.15
tile 9x3 81.31 6.32 6.17
tile 10x1 50.05 3.33 3.3
tile 10x2 65.08 4.75 4.6
tile 11x1 49.25 3.4 3.47
tile 11x2 69.76 5.23 5.06
tile 12x1 52.23 3.85 3.91
tile 12x2 78.85 5.67 5.53
tile 13x1 56.65 3.89 4.16
tile 13x2 128.55 12.93 12.32
tile 14x1 58.42 4.34 4.6
tile 14x2 74.08 9.35 9.1
tile 15x1 63.63 4.42 4.8
tile 16x1 68.93 4.87 5.26
)";

constexpr std::string_view kV3 = R"(
cached_bytes 2097152
line 2.64
hidden 0
task 50
region 800
margin 0.03
tile 1x1 7.72 0.6 0.67
tile 1x2 1.55 1.25 1.33
tile 1x3 0.19 1.83 1.99
tile 1x4 10.12 2.37 2.65
tile 1x5 0 3.05 3.34
tile 1x6 0 3.7 4.07
tile 2x1 13.68 1.02 0.97
tile 2x2 33.47 1.74 1.93
tile 2x3 32.77 2.55 2.52
tile 3x1 10.19 1.83 1.71
tile 4x1 24.98 1.77 1.74
tile 5x1 30.22 2.13 2.09
tile 6x1 29.56 2.52 2.47
)";

constexpr std::string_view kV2 = R"(
cached_bytes 2097152
line 2.64
hidden 0
task 50
region 800
margin 0.03
tile 1x1 20.36 1.19 1.16
tile 1x2 27.56 2.38 2.35
tile 1x3 33.19 3.44 3.4
tile 2x1 26.05 2.41 2.37
)";

// Tiles and `line` were measured on one core of a Zen 4 virtual machine at about 3.7 GHz; the other fields are those of
// the level. Tiles of ten rows or more are left out: in an 8-way L1 cache, they lose with panels from memory what they
// gain with panels in L2. `ahead` is set because its prefetchers load a lone tile's panels sooner than software
// prefetches.
constexpr std::string_view kZen4 = R"(
cached_bytes 2097152
line 2.98
hidden 0
task 50
region 800
margin 0.03
ahead 0
tile 1x1 0 1.04 1.15
tile 1x2 1.78 1.13 1.55
tile 1x3 0 1.63 2.35
tile 1x4 0 2.14 3.06
tile 1x5 0 2.74 3.88
tile 1x6 0 3.33 4.68
tile 1x7 0 4.03 5.54
tile 1x8 0 4.77 6.47
tile 2x1 1.79 1.01 1.15
tile 2x2 4.47 1.28 1.53
tile 2x3 3.51 1.97 2.22
tile 2x4 4.2 2.63 2.88
tile 2x5 0 3.48 3.55
tile 2x6 0 4.1 4.35
tile 2x7 0 5 5.18
tile 2x8 0 5.91 5.86
tile 3x1 3.68 1.08 1.13
tile 3x2 10.21 1.71 1.73
tile 3x3 12.66 2.52 2.53
tile 3x4 13.13 3.43 3.47
tile 3x5 18.02 4.28 4.17
tile 3x6 24.5 5.12 5.04
tile 3x7 29.45 5.91 5.83
tile 3x8 31.89 6.81 6.68
tile 4x1 5.98 1.1 1.13
tile 4x2 11.62 2.25 2.3
tile 4x3 13.93 3.36 3.36
tile 4x4 19.4 4.49 4.42
tile 4x5 24.71 5.66 5.5
tile 4x6 31.47 6.72 6.58
tile 5x1 6.03 1.38 1.41
tile 5x2 15.6 2.8 2.79
tile 5x3 18.12 4.21 4.12
tile 5x4 26.1 5.61 5.51
tile 5x5 33.56 7.01 6.8
tile 6x1 8.59 1.66 1.68
tile 6x2 13.86 3.38 3.33
tile 6x3 24.88 5.06 4.91
tile 6x4 32.56 6.68 6.55
tile 7x1 7.88 1.94 1.95
tile 7x2 17.89 3.93 3.86
tile 7x3 30.13 5.9 5.72
tile 8x1 10.51 2.22 2.21
tile 8x2 23.66 4.47 4.41
tile 8x3 32.52 6.69 6.53
tile 9x1 9.66 2.51 2.49
tile 9x2 24.8 5.04 4.95
tile 9x3 36.87 7.54 7.34
)";

// Measured on one core of a Zen 5 virtual machine (512-bit units) at about 4.1 GHz. Tiles of twelve rows or more are
// left out, and the margin is wide: with panels from memory, tall tiles beside one of few rows were up to 1.26 times as
// slow as the rule where they were predicted to be faster.
constexpr std::string_view kZen5 = R"(
cached_bytes 2097152
line 1.81
hidden 0
task 50
region 800
margin 0.15
ahead 64
tile 1x1 0.1245 0.7797 1.013
tile 1x2 2.5 0.8091 1.031
tile 1x3 2.068 0.9221 1.022
tile 1x4 1.702 1.071 1.507
tile 1x5 0 1.314 1.95
tile 1x6 0 1.639 2.599
tile 1x7 0 1.965 3.103
tile 1x8 0 2.38 4.667
tile 2x1 1.794 0.7972 1.026
tile 2x2 4.027 0.9033 1.01
tile 2x3 3.246 1.085 1.114
tile 2x4 2.647 1.296 1.572
tile 2x5 0 1.651 1.884
tile 2x6 0 2.019 2.542
tile 2x7 0 2.367 3.057
tile 2x8 0 3.019 5.133
tile 3x1 2.54 0.834 1.013
tile 3x2 4.572 1.014 1.055
tile 3x3 4.875 1.224 1.231
tile 3x4 4.033 1.617 1.617
tile 3x5 7.136 1.931 2.188
tile 3x6 4.245 2.522 2.727
tile 3x7 0 3.178 4.159
tile 3x8 0 3.928 4.792
tile 4x1 4.056 0.8676 1.009
tile 4x2 6.575 1.068 1.079
tile 4x3 5.879 1.497 1.524
tile 4x4 7.92 2.023 2.059
tile 4x5 8.87 2.508 2.635
tile 4x6 13.81 2.973 3.323
tile 5x1 5.795 0.9938 0.9807
tile 5x2 6.648 1.299 1.285
tile 5x3 8.768 1.836 1.85
tile 5x4 9.699 2.471 2.461
tile 5x5 14.29 3.064 3.123
tile 6x1 7.711 0.9791 1.038
tile 6x2 7.653 1.478 1.465
tile 6x3 10.07 2.197 2.19
tile 6x4 13.85 2.927 2.931
tile 7x1 8.485 1.067 1.109
tile 7x2 8.414 1.703 1.7
tile 7x3 11.88 2.541 2.534
tile 8x1 9.845 1.129 1.107
tile 8x2 9.505 1.951 1.922
tile 8x3 12.85 2.928 2.869
tile 9x1 10.09 1.247 1.248
tile 9x2 10.49 2.175 2.159
tile 9x3 19.18 3.239 3.253
tile 10x1 10.37 1.375 1.367
tile 10x2 9.772 2.41 2.363
tile 11x1 10.93 1.478 1.487
tile 11x2 11.67 2.633 2.627
)";

// One core of a Zen 3 virtual machine, at 3.5 GHz (`taskset -c 1 tailor tune profile --target x86-64-v3 --passes 100`).
// Zen 4 is of the same family, and takes this table where it runs code of this level.
constexpr std::string_view kZen3 = R"(
cached_bytes 2097152
line 2.56
hidden 0
task 50
region 800
margin 0.03
tile 1x1 2.775 1.21 1.32
tile 1x2 3.049 1.411 1.947
tile 1x3 0 1.966 3.035
tile 1x4 0 2.667 4.221
tile 1x5 0 3.411 5.23
tile 1x6 0 4.265 6.45
tile 2x1 4.546 1.257 1.325
tile 2x2 8.323 1.509 1.97
tile 2x3 4.044 2.457 2.923
tile 3x1 8.588 1.288 1.338
tile 4x1 11.79 1.302 1.335
tile 5x1 11.01 1.627 1.634
tile 6x1 11.88 1.938 2.007
)";

CostProfile Parsed(std::string_view text) {
  CostProfile profile;
  [[maybe_unused]] const std::string wrong = ParseCostProfile(text, &profile);
  assert(wrong.empty());
  return profile;
}

}  // namespace

const CostProfile& BuiltInCostProfile(std::string_view level) {
  static const CostProfile v4 = Parsed(kV4), v3 = Parsed(kV3), v2 = Parsed(kV2);
  if (level.starts_with("x86-64-v4")) return v4;
  return level.starts_with("x86-64-v3") ? v3 : v2;
}

const std::vector<MachineCosts>& BuiltInMachineCosts(std::string_view level) {
  static const std::vector<MachineCosts> v4 = {{"AuthenticAMD 25", Parsed(kZen4)}, {"AuthenticAMD 26", Parsed(kZen5)}},
                                         v3 = {{"AuthenticAMD 25", Parsed(kZen3)}}, none;
  if (level.starts_with("x86-64-v4")) return v4;
  return level.starts_with("x86-64-v3") ? v3 : none;
}

const CostProfile& BuiltInCostProfile(std::string_view level, std::string_view family) {
  return CostsForFamily(BuiltInMachineCosts(level), family, BuiltInCostProfile(level));
}

}  // namespace tailor
