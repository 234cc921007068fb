#include "serialization/validator.h"

#include <gtest/gtest.h>

#include <cmath>

#include <climits>
#include <functional>

#include "tests/support/sample_program.h"

namespace tailor {
namespace {

std::string ProblemAfter(const std::function<void(Program*)>& change) {
  Program program = SampleProgram();
  change(&program);
  return FindProblem(program);
}

TEST(Validator, FindsNothingWrongWithTheSample) { EXPECT_EQ(FindProblem(SampleProgram()), ""); }

TEST(Validator, Symbols) {
  const auto after = [](const std::function<void(ProgramSymbol*)>& change) {
    return ProblemAfter([&](Program* p) { change(&p->symbols[0]); });
  };
  EXPECT_EQ(after([](ProgramSymbol* s) { s->name = ""; }), "symbol \"\": name is empty");
  EXPECT_EQ(after([](ProgramSymbol* s) { s->name = "\xff"; }), "symbol \"?\": name is not UTF-8 text");
  EXPECT_EQ(after([](ProgramSymbol* s) { s->name = std::string("a\0b", 3); }), "symbol \"?\": name is not UTF-8 text");
  EXPECT_EQ(after([](ProgramSymbol* s) { s->min = -1; }), "symbol \"N\": range is empty or negative");
  EXPECT_EQ(after([](ProgramSymbol* s) { s->max = -1; }), "symbol \"N\": range is empty or negative");
  EXPECT_EQ(after([](ProgramSymbol* s) { s->multiple_of = 0; }), "symbol \"N\": multiple_of is below 1");
  EXPECT_EQ(after([](ProgramSymbol* s) { s->likely = {1 << 21}; }), "symbol \"N\": a likely value is out of range");
  EXPECT_EQ(ProblemAfter([](Program* p) { p->symbols.push_back(p->symbols[0]); }), "symbol \"N\": name is used twice");
}

TEST(Validator, Tensors) {
  const auto after = [](const std::function<void(ProgramTensor*)>& change) {
    return ProblemAfter([&](Program* p) { change(&p->inputs[0]); });
  };
  EXPECT_EQ(after([](ProgramTensor* t) { t->dtype = DType::kInvalid; }), "input \"x\": dtype is unknown");
  EXPECT_EQ(after([](ProgramTensor* t) { t->dims.resize(9, t->dims[0]); }), "input \"x\": rank is above 8");
  EXPECT_EQ(after([](ProgramTensor* t) { t->dims[0].symbol = 1; }), "input \"x\": a dim names no symbol");
  EXPECT_EQ(after([](ProgramTensor* t) { t->dims[0].symbol = -2; }), "input \"x\": a dim names no symbol");
  EXPECT_EQ(after([](ProgramTensor* t) { t->dims[0].dim_size = 4; }), "input \"x\": a dim's dim size is wrong");
  EXPECT_EQ(after([](ProgramTensor* t) { t->dims[1].dim_size = -2; }), "input \"x\": a dim's dim size is wrong");
  EXPECT_EQ(after([](ProgramTensor* t) { t->dims[1].text = ""; }), "input \"x\": a dim has no text");
  EXPECT_EQ(after([](ProgramTensor* t) { t->name = "mask"; }), "input \"mask\": name is used twice");
  EXPECT_EQ(ProblemAfter([](Program* p) { p->outputs[1].name = "y"; }), "output \"y\": name is used twice");
  EXPECT_EQ(ProblemAfter([](Program* p) { p->outputs.clear(); }), "there is no output");
}

TEST(Validator, Constants) {
  const auto after = [](const std::function<void(ProgramConstant*)>& change) {
    return ProblemAfter([&](Program* p) { change(&p->constants[0]); });
  };
  EXPECT_EQ(after([](ProgramConstant* c) { c->dtype = static_cast<DType>(200); }),
            "constant \"scale\": dtype is unknown");
  EXPECT_EQ(after([](ProgramConstant* c) { c->dims = {5}; }),
            "constant \"scale\": wrong number of bytes for its type, dims and layout");
  EXPECT_EQ(after([](ProgramConstant* c) { c->dims = {-4}; }), "constant \"scale\": dims do not fit its layout");
  EXPECT_EQ(after([](ProgramConstant* c) { c->dims.assign(9, 1); }), "constant \"scale\": rank is above 8");
  EXPECT_EQ(after([](ProgramConstant* c) { c->layout = ConstantLayout::kPanels16; }),
            "constant \"scale\": dims do not fit its layout");
  EXPECT_EQ(after([](ProgramConstant* c) { c->layout = static_cast<ConstantLayout>(9); }),
            "constant \"scale\": dims do not fit its layout");
  EXPECT_EQ(ProblemAfter([](Program* p) { p->constants.push_back(p->constants[0]); }),
            "constant \"scale\": name is used twice");
}

TEST(Validator, Variants) {
  const auto after = [](const std::function<void(Variant*)>& change) {
    return ProblemAfter([&](Program* p) { change(&p->variants[0]); });
  };
  EXPECT_EQ(ProblemAfter([](Program* p) { p->variants.clear(); }), "variants: there is no variant");
  EXPECT_EQ(ProblemAfter([](Program* p) { p->variants.push_back(p->variants[0]); }),
            "variant \"x86-64\": name is used twice");
  EXPECT_EQ(after([](Variant* v) { v->run_offset = v->image.size(); }),
            "variant \"x86-64\": the run entry lies outside the image");
  EXPECT_EQ(after([](Variant* v) { v->plan_offset = UINT64_MAX; }),
            "variant \"x86-64\": the plan entry lies outside the image");
  EXPECT_EQ(after([](Variant* v) { v->image = {}; }), "variant \"x86-64\": the run entry lies outside the image");
  EXPECT_EQ(after([](Variant* v) { v->shape_cache_slots = UINT64_MAX; }),
            "variant \"x86-64\": shape_cache_slots is too large");
  EXPECT_EQ(after([](Variant* v) { v->growable_blocks = UINT64_MAX; }),
            "variant \"x86-64\": growable_blocks is too large");
  EXPECT_EQ(after([](Variant* v) {
              v->features = {"sse2", "sse2"};
            }),
            "variant \"x86-64\": a feature is empty or listed twice");
  EXPECT_EQ(after([](Variant* v) { v->launches[0].versions.clear(); }),
            "variant \"x86-64\": a launch has no kernel or no version");
  EXPECT_EQ(after([](Variant* v) { v->launches[0].kernel = "\xc0\x80"; }),
            "variant \"x86-64\": a kernel name is not UTF-8 text");
  EXPECT_EQ(after([](Variant* v) { v->launches[1].dropped = {"\xc0\x80"}; }),
            "variant \"x86-64\": a version is not UTF-8 text");
  EXPECT_EQ(after([](Variant* v) { v->launches[1].code = 2; }), "variant \"x86-64\": a launch names no kernel's code");
  EXPECT_EQ(after([](Variant* v) { v->launches[1].code = -1; }), "variant \"x86-64\": a launch names no kernel's code");
  EXPECT_EQ(after([](Variant* v) { v->kernel_bytes.clear(); }), "");
  EXPECT_EQ(after([](Variant* v) { v->kernel_bytes[0] = UINT64_MAX; }),
            "variant \"x86-64\": a kernel's code is too large");
}

TEST(Validator, Devices) {
  const auto after = [](const std::function<void(Variant*)>& change) {
    return ProblemAfter([&](Program* p) {
      p->variants.push_back(SampleDeviceVariant());
      change(&p->variants[1]);
    });
  };
  const auto image = [&after](size_t i, std::string_view bytes) {
    return after([&](Variant* v) { v->device_images[i].bytes = std::as_bytes(std::span(bytes)); });
  };
  const auto threads = [&after](int32_t n) { return after([n](Variant* v) { v->device_kernels[1].threads = n; }); };
  const auto fault = [&after](int64_t word) { return after([word](Variant* v) { v->fault_word = word; }); };
  EXPECT_EQ(after([](Variant*) {}), "");
  EXPECT_EQ(after([](Variant* v) { v->device_kernels.clear(); }), "");
  EXPECT_EQ(after([](Variant* v) { v->device_images.clear(); }), "variant \"cuda\": its device kernels have no image");
  EXPECT_EQ(image(0, "\177EL"), "variant \"cuda\": a cubin does not begin as an ELF file");
  EXPECT_EQ(image(1, ".version 7.0"), "variant \"cuda\": PTX does not end in a zero byte");
  EXPECT_EQ(image(1, ""), "variant \"cuda\": PTX does not end in a zero byte");
  EXPECT_EQ(image(2, "; ModuleID"), "variant \"cuda\": an image of IR does not begin as bitcode");
  EXPECT_EQ(after([](Variant* v) { v->device_images[0].kind = static_cast<DeviceImageKind>(3); }),
            "variant \"cuda\": a device image is of unknown kind");
  EXPECT_EQ(after([](Variant* v) { v->device_images[0].target = ""; }),
            "variant \"cuda\": a device image has no target");
  EXPECT_EQ(after([](Variant* v) { v->device_kernels[0].symbol = ""; }),
            "variant \"cuda\": a device kernel has no symbol");
  EXPECT_EQ(after([](Variant* v) { v->device_kernels[0].symbol = std::string("k\0", 2); }),
            "variant \"cuda\": a device kernel's symbol is not UTF-8 text");
  EXPECT_EQ(threads(0), "variant \"cuda\": a device kernel's threads are not 1 to 1024");
  EXPECT_EQ(threads(1024), "");
  EXPECT_EQ(threads(1025), "variant \"cuda\": a device kernel's threads are not 1 to 1024");
  EXPECT_EQ(after([](Variant* v) { v->device_kernels[0].parameters = -1; }),
            "variant \"cuda\": a device kernel's parameters are not 0 to 4095");
  const auto map = [&after](const std::function<void(TensorMap*)>& change) {
    return after([&](Variant* v) {
      TensorMap sound{.address = 4, .factors = {{2, 3, 16}}, .box = {16, 64, 256}, .swizzle_bytes = 32};
      change(&sound);
      v->device_kernels[0].maps = {sound};
    });
  };
  EXPECT_EQ(map([](TensorMap*) {}), "");
  const std::string malformed = "variant \"cuda\": a device kernel has a malformed tensor map";
  EXPECT_EQ(map([](TensorMap* m) { m->address = 5; }), malformed);
  EXPECT_EQ(map([](TensorMap* m) { m->factors[0].dim = 3; }), malformed);
  EXPECT_EQ(map([](TensorMap* m) { m->factors[0].slot = 5; }), malformed);
  EXPECT_EQ(map([](TensorMap* m) { m->factors[0].number = 0; }), malformed);
  EXPECT_EQ(map([](TensorMap* m) { m->factors[0].number = INT32_MAX; }), "");
  EXPECT_EQ(map([](TensorMap* m) { m->factors[0].number = INT64_MAX; }), malformed);
  EXPECT_EQ(map([](TensorMap* m) { m->box[2] = 257; }), malformed);
  EXPECT_EQ(map([](TensorMap* m) { m->swizzle_bytes = 16; }), malformed);
  EXPECT_EQ(after([](Variant* v) { v->device_kernels[0].maps.resize(9, {.swizzle_bytes = 32}); }),
            "variant \"cuda\": a device kernel has more than 8 tensor maps");
  EXPECT_EQ(fault(-1), "");
  EXPECT_EQ(fault(0), "");
  for (int64_t outside : {int64_t{-2}, int64_t{3}, INT64_MAX}) {
    EXPECT_EQ(fault(outside), "variant \"cuda\": its fault record lies outside the shape cache");
  }
  for (int32_t output : {-1, 0, 2}) {  // none is in an input's memory
    EXPECT_EQ(after([output](Variant* v) { v->outputs_to_copy = {output}; }),
              "variant \"cuda\": an output is apart that is in no input's memory, or on no device");
  }
  const auto after_call = [](const ProgramCustomCall& call) {
    return ProblemAfter([&](Program* p) { p->variants[0].custom_calls = {call}; });
  };
  EXPECT_EQ(after_call({"op", "", "", {}, {{DType::kF32, 1}}}), "");
  for (const ProgramCustomCall& call :
       {ProgramCustomCall{"", "", "", {}, {{DType::kF32, 1}}}, ProgramCustomCall{"op", "", "", {}, {}},
        ProgramCustomCall{"op", "", "", {{DType::kInvalid, 1}}, {{DType::kF32, 1}}},
        ProgramCustomCall{"op", "", "", {}, {{DType::kF32, 9}}},
        ProgramCustomCall{"op", "\xff", "", {}, {{DType::kF32, 1}}}}) {
    EXPECT_THAT(after_call(call), testing::HasSubstr("custom operator")) << call.name;
  }
  EXPECT_EQ(ProblemAfter([](Program* p) { p->variants[0].reads_back = true; }),
            "variant \"x86-64\": it reads back, but has no device image");
  EXPECT_EQ(ProblemAfter([](Program* p) { p->variants[0].fault_word = 0; }),
            "variant \"x86-64\": it has a fault record, but no device image");
}

TEST(Validator, OutputsInTheMemoryOfInputs) {
  const auto after = [](const std::function<void(Program*)>& change) {
    return ProblemAfter([&](Program* p) {
      p->inputs[0].donated = true;
      p->outputs[0].memory_of = 0;
      change(p);
    });
  };
  EXPECT_EQ(after([](Program*) {}), "");
  EXPECT_EQ(after([](Program* p) { p->outputs[0].memory_of = -2; }),
            "outputs: two are in one input's memory, or in that of none");
  for (const int32_t outside : {0, 1, 1 << 30, -2}) {  // of an input, whose memory is always its own
    EXPECT_EQ(after([outside](Program* p) { p->inputs[1].memory_of = outside; }), "inputs: one is in another's memory");
  }
  EXPECT_EQ(after([](Program* p) {
              p->variants.push_back(SampleDeviceVariant());
              p->variants[1].outputs_to_copy = {0, 0};
            }),
            "variant \"cuda\": an output is apart twice");
  EXPECT_EQ(after([](Program* p) { p->outputs[1].donated = true; }), "outputs: one is donated");
  EXPECT_EQ(after([](Program* p) { p->outputs[0].memory_of = 2; }),
            "outputs: two are in one input's memory, or in that of none");
  EXPECT_EQ(after([](Program* p) { p->outputs[1].memory_of = 0; }),
            "outputs: two are in one input's memory, or in that of none");
  EXPECT_EQ(after([](Program* p) { p->inputs[0].donated = false; }), "outputs: one is in memory that is not its");
  EXPECT_EQ(after([](Program* p) { p->outputs[0].dtype = DType::kF64; }), "outputs: one is in memory that is not its");
}

TEST(Validator, Costs) {
  const auto changed = [](const std::function<void(CostProfile*)>& change) {
    return ProblemAfter([&](Program* p) { change(&p->variants[0].costs); });
  };
  const std::string problem = "variant \"x86-64\": a number of its cost profile is negative or not finite";
  EXPECT_EQ(changed([](CostProfile* costs) { costs->Of(16, 8) = {1, 2, 3, 0}; }), "");
  EXPECT_EQ(changed([](CostProfile* costs) { costs->line_ns = -1; }), problem);
  EXPECT_EQ(changed([](CostProfile* costs) { costs->prefetch_distance = 16384; }),
            "variant \"x86-64\": how far a cost profile fetches ahead is no whole number below 16384");
  EXPECT_EQ(ProblemAfter([](Program* p) {
              p->variants[0].machine_costs = {{"AuthenticAMD 25", {}}};
              p->variants[0].machine_costs[0].costs.line_ns = -1;
            }),
            problem);
  EXPECT_EQ(ProblemAfter([](Program* p) {
              p->variants[0].machine_costs = {{"AuthenticAMD 25", {}}, {"AuthenticAMD 25", {}}};
            }),
            "variant \"x86-64\": the family of a cost profile is empty or listed twice");
  EXPECT_EQ(changed([](CostProfile* costs) { costs->margin = NAN; }), problem);
  EXPECT_EQ(changed([](CostProfile* costs) { costs->Of(6, 4).far_step = INFINITY; }), problem);
}

TEST(Validator, Texts) {
  EXPECT_EQ(ProblemAfter([](Program* p) { p->checks[0].message = ""; }), "checks: a message is empty");
  EXPECT_EQ(ProblemAfter([](Program* p) { p->checks[0].node = "\xed\xa0\x80"; }), "checks: a node is not UTF-8 text");
  EXPECT_EQ(ProblemAfter([](Program* p) { p->facts = {"\xf4\x90\x80\x80"}; }), "facts: a line is not UTF-8 text");
  EXPECT_EQ(ProblemAfter([](Program* p) { p->provenance.options = "\xe2\x82"; }),
            "provenance: a text is not UTF-8 text");
  EXPECT_EQ(ProblemAfter([](Program* p) { p->visits = {{"\xff", 1}}; }), "visits: a pass is not UTF-8 text");
  EXPECT_EQ(ProblemAfter([](Program* p) { p->facts = {"S ≥ 1, 𝔹 · é"}; }), "");
}

uint64_t BytesOf(DType dtype, std::vector<int64_t> dims, ConstantLayout layout) {
  uint64_t bytes = 12345;
  ProgramConstant constant = {"", dtype, std::move(dims), layout, {}};
  return PhysicalBytes(constant, &bytes) ? bytes : UINT64_MAX;
}

TEST(Validator, PhysicalBytes) {
  EXPECT_EQ(BytesOf(DType::kF32, {}, ConstantLayout::kRowMajor), 4u);
  EXPECT_EQ(BytesOf(DType::kF16, {3, 5}, ConstantLayout::kRowMajor), 30u);
  EXPECT_EQ(BytesOf(DType::kF32, {2, 10, 17}, ConstantLayout::kPanels16), 2u * 2 * 10 * 16 * 4);
  EXPECT_EQ(BytesOf(DType::kF32, {10, 0}, ConstantLayout::kPanels16), 0u);
  EXPECT_EQ(BytesOf(DType::kBF16, {2, 9, 17}, ConstantLayout::kWordPanels16), 2u * 2 * 10 * 16 * 2);
  EXPECT_EQ(BytesOf(DType::kI8, {2, 9, 17}, ConstantLayout::kWordPanels16), 2u * 2 * 12 * 16);
  EXPECT_EQ(BytesOf(DType::kBool, {2, 9, 17}, ConstantLayout::kWordPanels16), UINT64_MAX);
  EXPECT_EQ(BytesOf(DType::kBF16, {0, 17}, ConstantLayout::kWordPanels16), 0u);
  EXPECT_EQ(BytesOf(DType::kBF16, {17}, ConstantLayout::kWordPanels16), UINT64_MAX);
  EXPECT_EQ(BytesOf(DType::kF32, {9, 17}, ConstantLayout::kWordPanels16), UINT64_MAX);
  EXPECT_EQ(BytesOf(DType::kF32, {2, 27, 17}, ConstantLayout::kWinogradPanels16), 16u * 2 * 2 * 3 * 16 * 4);
  EXPECT_EQ(BytesOf(DType::kF32, {9, 16}, ConstantLayout::kWinogradPanels16), 16u * 16 * 4);
  EXPECT_EQ(BytesOf(DType::kF32, {0, 17}, ConstantLayout::kWinogradPanels16), 0u);
  EXPECT_EQ(BytesOf(DType::kF32, {9, 0}, ConstantLayout::kWinogradPanels16), 0u);
  EXPECT_EQ(BytesOf(DType::kF32, {9}, ConstantLayout::kWinogradPanels16), UINT64_MAX);
  EXPECT_EQ(BytesOf(DType::kF32, {10, 17}, ConstantLayout::kWinogradPanels16), UINT64_MAX);
  EXPECT_EQ(BytesOf(DType::kF64, {27, 17}, ConstantLayout::kWinogradPanels16), UINT64_MAX);
  EXPECT_EQ(BytesOf(DType::kF16, {27, 17}, ConstantLayout::kWinogradPanels16), UINT64_MAX);
  EXPECT_EQ(BytesOf(DType::kI32, {27, 17}, ConstantLayout::kWinogradPanels16), UINT64_MAX);
  EXPECT_EQ(BytesOf(DType::kF32, {9, INT64_MAX}, ConstantLayout::kWinogradPanels16), UINT64_MAX);
  EXPECT_EQ(BytesOf(DType::kF32, {INT64_MAX / 9 * 9, 1}, ConstantLayout::kWinogradPanels16), UINT64_MAX);
  EXPECT_EQ(BytesOf(DType::kF32, {9, 16}, static_cast<ConstantLayout>(4)), UINT64_MAX);
  EXPECT_EQ(BytesOf(DType::kF32, {0, INT64_MAX, INT64_MAX}, ConstantLayout::kRowMajor), 0u);
  EXPECT_EQ(BytesOf(DType::kF32, {INT64_MAX, INT64_MAX}, ConstantLayout::kRowMajor), UINT64_MAX);
}

}  // namespace
}  // namespace tailor
