#include "codegen/plan/verify_kernel_plan.h"

#include <functional>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/plan/parse_kernel_plan.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/plan_corpus.h"

namespace tailor {
namespace {

TEST(VerifyKernelPlan, AcceptsEveryPlanOfTheCorpus) {
  ForEachPlanOfCorpus([](const KernelPlan& plan) {
    const absl::Status status = VerifyKernelPlan(plan);
    if (!status.ok() && !testing::Test::HasFailure()) ADD_FAILURE() << status << "\n" << plan.Text();
  });
}

std::string ProblemOf(const std::string& text) {
  const auto plan = ParseKernelPlan(text);
  if (!plan.ok()) return std::string(plan.status().message());
  return std::string(VerifyKernelPlan(*plan).message());
}

TEST(VerifyKernelPlan, SaysWhatIsWrong) {
  const std::string begin = R"(kernel axes [a0: d0 parallel, a1: 64 tile]
  in b0: f32[d0, 64]
  out b1: f32[d0]
  local b2: f32[]
)";
  const std::string sum = "  stage over [a1]\n    b2[] = reduce add in f32 b0[a0, a1]\n";
  EXPECT_EQ(ProblemOf(begin + sum + "  stage over []\n    b1[a0] = b2[]\n"), "");
  EXPECT_EQ(ProblemOf(begin + sum), "kernel plan : b1: nothing stores it");
  EXPECT_EQ(ProblemOf(begin + "  stage over []\n    b1[a0] = b2[]\n" + sum),
            "kernel plan : stage 0, statement 0: a value is read before it is stored");
  EXPECT_EQ(ProblemOf(begin + sum + "  stage over []\n    b1[a1] = b2[]\n"),
            "kernel plan : stage 1, statement 0: an index depends on an axis that is out of scope");
  EXPECT_EQ(ProblemOf(begin + sum + "  stage over []\n    b1[a0] = b0[a0, a1]\n"),
            "kernel plan : stage 1, statement 0: an axis is out of scope");
  EXPECT_EQ(ProblemOf(begin + sum + "  stage over []\n    b1[a0] = cast<f16>(b2[])\n"),
            "kernel plan : stage 1, statement 0: the buffer's dtype differs from that of the stored value");
  EXPECT_EQ(
      ProblemOf(
          "kernel axes [a0: 9 parallel]\n  in b0: f32[8]\n  out b1: f32[9]\n  stage over []\n    b1[a0] = b0[a0]\n"),
      "kernel plan : expression 1: an index lies beyond the buffer");
  EXPECT_EQ(ProblemOf(begin + sum + "  stage over []\n    b0[a0, 0] = b2[]\n"),
            "kernel plan : stage 1, statement 0: it stores to an input");
  EXPECT_EQ(ProblemOf(begin + sum + "  stage over []\n    b1[a0] = add<f16>(b2[], b2[])\n"),
            "kernel plan : expression 4: its dtype is not the result dtype of its op");
  EXPECT_EQ(ProblemOf(begin + sum + "  stage over []\n    b1[a0] = mul(b2[], param(d1))\n"), "");
  EXPECT_EQ(ProblemOf(begin + sum + "  stage over []\n    b1[a0] = mul(b2[], param(7))\n"),
            "kernel plan : expression 4: parameters are dim slots");
  EXPECT_EQ(ProblemOf(begin + sum + "  stage over []\n    b1[a0] = cast<f32>(param<u8>(d1))\n"),
            "kernel plan : expression 3: parameters are f32, i32 or i16");
  EXPECT_EQ(ProblemOf("kernel axes [a0: 4 tile, a1: 4 parallel]\n"),
            "kernel plan : a1: a parallel axis lies inside another");
  EXPECT_EQ(ProblemOf("kernel axes [a0: 4 contract]\n  in b0: f32[4]\n  out b1: f32[]\n  stage over [a0]\n"
                      "    b1[] = reduce add in f32 b0[a0]\n"),
            "kernel plan : axes: only contractions and attention contract an axis");
}

// One field of one part of a plan, taken at random, is set to a random value of its type.
class Corrupter {
 public:
  explicit Corrupter(uint64_t seed) : random_(seed) {}

  // By field: changes `plan`; false where the plan has no such part, or the value stayed.
  std::map<std::string, std::function<bool(KernelPlan&)>> Fields() {
    std::map<std::string, std::function<bool(KernelPlan&)>> fields;
    const auto number = [&](auto& field) { return Set(field); };
    const auto each = [&](const std::string& name, auto parts, auto field) {
      fields[name] = [this, parts, field](KernelPlan& plan) {
        auto* list = parts(plan);
        return list != nullptr && !list->empty() && field((*list)[Below(list->size())]);
      };
    };
    const auto axes = [](KernelPlan& p) { return &p.axes; };
    each("axis.dim size.constant", axes, [=](Axis& a) { return number(a.dim_size.constant); });
    each("axis.dim size.slot", axes, [=](Axis& a) { return number(a.dim_size.slot); });
    each("axis.role", axes, [=](Axis& a) { return number(a.role); });
    const auto dims = [](KernelPlan& p) { return &p.dims; };
    each("slot.divisor", dims, [=](DimSlot& d) { return number(d.divisor); });
    each("slot.max", dims, [=](DimSlot& d) { return number(d.max); });
    const auto buffers = [](KernelPlan& p) { return &p.buffers; };
    each("buffer.kind", buffers, [=](Buffer& b) { return number(b.kind); });
    each("buffer.dtype", buffers, [=](Buffer& b) { return number(b.dtype); });
    each("buffer.layout", buffers, [=](Buffer& b) { return number(b.layout); });
    const auto buffer_dims = [this](KernelPlan& p) { return p.buffers.empty() ? nullptr : &Any(p.buffers).dims; };
    each("buffer.dims.constant", buffer_dims, [=](DimSize& e) { return number(e.constant); });
    each("buffer.dims.slot", buffer_dims, [=](DimSize& e) { return number(e.slot); });
    const auto exprs = [](KernelPlan& p) { return &p.exprs; };
    each("expr.kind", exprs, [=](Expr& e) { return number(e.kind); });
    each("expr.dtype", exprs, [=](Expr& e) { return number(e.dtype); });
    each("expr.op", exprs, [=](Expr& e) { return number(e.op); });
    each("expr.ref", exprs, [=](Expr& e) { return number(e.ref); });
    each("expr.dim size.constant", exprs, [=](Expr& e) { return number(e.dim_size.constant); });
    each("expr.dim size.slot", exprs, [=](Expr& e) { return number(e.dim_size.slot); });
    each("expr.bits", exprs, [=](Expr& e) { return number(e.bits); });
    each("expr.predicate", exprs, [=](Expr& e) { return number(e.predicate); });
    each(
        "expr.args", [this](KernelPlan& p) { return p.exprs.empty() ? nullptr : &Any(p.exprs).args; }, number);
    each(
        "stage.axes", [this](KernelPlan& p) { return p.stages.empty() ? nullptr : &Any(p.stages).axes; }, number);
    const auto statements = [this](KernelPlan& p) { return p.stages.empty() ? nullptr : &Any(p.stages).statements; };
    each("statement.buffer", statements, [=](Statement& s) { return number(s.buffer); });
    each("statement.value", statements, [=](Statement& s) { return number(s.value); });
    each("statement.combiner", statements, [=](Statement& s) { return number(s.combiner); });
    each("statement.accumulate", statements, [=](Statement& s) { return number(s.accumulate); });
    each("statement.exclusive", statements, [](Statement& s) { return s.exclusive = !s.exclusive, true; });
    each("statement.indices", statements,
         [=, this](Statement& s) { return !s.indices.empty() && number(Any(s.indices)); });
    each("statement.reduce_axes", statements,
         [=, this](Statement& s) { return !s.reduce_axes.empty() && number(Any(s.reduce_axes)); });
    const auto links = [](KernelPlan& p) { return p.IsChain() ? &std::get<ChainForm>(p.form).links : nullptr; };
    each("link.buffers", links, [=, this](ChainLink& l) { return number(Any(l.buffers)); });
    each("link.dims", links, [=, this](ChainLink& l) { return !l.dims.empty() && number(Any(l.dims)); });
    fields["form"] = [this](KernelPlan& p) {
      const size_t before = p.form.index();
      switch (Below(4)) {
        case 0:
          p.form = LoopForm();
          break;
        case 1:
          p.form = ContractionForm{.m = Number(), .n = Number(), .k = Number(), .sum = Number()};
          break;
        case 2:
          p.form = AttentionForm{.m = Number(), .v = Number(), .n = Number(), .d = Number()};
          break;
        default:
          p.form = ChainForm();
      }
      return p.form.index() != before;
    };
    fields["contraction"] = [this](KernelPlan& p) {
      auto* form = std::get_if<ContractionForm>(&p.form);
      if (form == nullptr) return false;
      int* const parts[] = {&form->m, &form->n, &form->k, &form->fill, &form->sum, &form->dilation};
      return Set(*parts[Below(std::size(parts))]);
    };
    fields["attention"] = [this](KernelPlan& p) {
      auto* form = std::get_if<AttentionForm>(&p.form);
      if (form == nullptr) return false;
      int* const parts[] = {&form->m, &form->v, &form->n, &form->d};
      return Set(*parts[Below(std::size(parts))]);
    };
    fields["fault_count"] = [=](KernelPlan& p) { return number(p.fault_count); };
    return fields;
  }

 private:
  size_t Below(size_t count) { return random_() % count; }
  int Number() { return static_cast<int>(Below(6)); }
  template <typename T>
  T& Any(std::vector<T>& parts) {
    return parts[Below(parts.size())];
  }
  // Half of the integers are small: they may name another part that exists.
  template <typename T>
  bool Set(T& field) {
    const T before = field;
    const bool is_small = std::is_integral_v<T> && Below(2) == 0;
    field = static_cast<T>(is_small ? Below(24) : random_());
    return field != before;
  }

  std::mt19937_64 random_;
};

// Fields of which every value in range is a legal plan: facts, and a number of faults that gathers need not reach.
const std::map<std::string, std::string> kFacts = {
    {"slot.divisor", "another fact about a dim"},
    {"slot.max", "another fact about a dim"},
    {"fault_count", "a fault whose gather was folded away"},
};

// Of the others, what accepted values may be.
const std::map<std::string, std::string> kLegalChanges = {
    {"axis.dim size.constant", "fewer iterations, or more of which no constant says that they leave a buffer"},
    {"axis.dim size.slot", "the size of another dim, which may be the same"},
    {"buffer.dims.constant", "a larger buffer, or one indexed by what no constant bounds"},
    {"buffer.dims.slot", "the size of another dim, which may be the same"},
    {"expr.dim size.constant", "another number in an index of which no constant bounds the rest"},
    {"expr.dim size.slot", "the size of another dim, which may be the same"},
    {"expr.bits", "another literal of the type"},
    {"expr.op", "another op on the same types"},
    {"expr.ref", "another axis in scope, buffer of equal type and rank, or fault"},
    {"expr.args", "another operand of the type"},
    {"expr.predicate", "another condition"},
    {"statement.value", "another value of the type"},
    {"statement.indices", "another index in scope"},
    {"statement.buffer", "another buffer of the type, where both are stored anyway"},
    {"statement.combiner", "add, mul, max or min"},
    {"statement.exclusive", "of a scan either"},
    {"stage.axes", "another inner axis, where none was used"},
    {"axis.role", "of an axis that no stage runs over, or a scan's turns that none depend on"},
    {"buffer.kind", "a row buffer without dims is a local"},
    {"buffer.layout", "other panels of the same shape, or none"},
    {"expr.kind", "another operation on indices"},
    {"expr.dtype", "of a cast, or of an expression that nothing uses"},
    {"link.dims", "the size of another dim, which may be the same"},
    {"link.buffers", "another buffer of equal type and rank"},
};

TEST(VerifyKernelPlan, RejectsFieldsThatAreCorrupted) {
  struct Count {
    int tried = 0, rejected = 0;
  };
  std::map<std::string, Count> counts;
  Corrupter corrupter(7);
  const auto fields = corrupter.Fields();
  ForEachPlanOfCorpus([&](const KernelPlan& plan) {
    for (const auto& [name, corrupt] : fields) {
      KernelPlan broken = plan;
      if (!corrupt(broken)) continue;
      Count& count = counts[name];
      ++count.tried;
      count.rejected += !VerifyKernelPlan(broken).ok();
    }
  });
  int tried = 0, rejected = 0;
  for (const auto& [name, count] : counts) {
    if (!kFacts.contains(name)) tried += count.tried, rejected += count.rejected;
    RecordProperty(name, absl::StrCat(count.rejected, " of ", count.tried));
    if (std::getenv("TAILOR_TEST_ALL") != nullptr)
      std::printf("%-24s %d of %d\n", name.c_str(), count.rejected, count.tried);
    if (!kLegalChanges.contains(name) && !kFacts.contains(name)) {
      EXPECT_EQ(count.rejected, count.tried) << name;
    }
  }
  EXPECT_EQ(counts.size(), fields.size());  // the corpus has every part
  EXPECT_GE(rejected, tried * 0.95);
  std::printf("%d of %d rejected\n", rejected, tried);
}

}  // namespace
}  // namespace tailor
