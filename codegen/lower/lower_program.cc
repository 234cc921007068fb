// Assembles a host program: one launch per lowered kernel, one call per control node, and buffers for values.
#include "codegen/lower/lower_program.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/contract/panels.h"
#include "codegen/jobs/job_pool.h"
#include "codegen/lower/chain_kernels.h"
#include "codegen/lower/host_decisions.h"
#include "codegen/lower/offered_gemm.h"
#include "codegen/lower/alias_buffers.h"
#include "codegen/lower/row_updates.h"
#include "fusion/fusion_context.h"
#include "fusion/node_class.h"
#include "graph/region_rules.h"
#include "graph/status_macros.h"

namespace tailor::lower {
namespace {

bool Any(const std::vector<bool>& flags) { return std::find(flags.begin(), flags.end(), true) != flags.end(); }

class ProgramLowering {
 public:
  ProgramLowering(const Graph& graph, const ShapeFacts& facts, const FusionPlan& plan, const ProgramRole& role,
                  const Graph* next, const LowerRegion& lower_region, LoweringTables& tables)
      : graph_(graph),
        facts_(facts),
        plan_(plan),
        uses_(Uses::Of(graph, plan)),
        role_(role),
        next_(next),
        lower_region_(lower_region),
        tables_(tables) {}

  absl::StatusOr<host::HostProgram> Run() {
    for (SymbolId id = 0; id < static_cast<SymbolId>(graph_.symbols().size()); ++id) {
      host_.symbols.push_back(graph_.DimText(DimExpr::Symbol(id)));
    }
    host_.bindings.assign(facts_.bindings().begin(), facts_.bindings().end());
    const auto is_needed = [&](const ShapeCheck& check) {
      const bool of_shape = check.input >= 0 && check.relation == ShapeCheck::Relation::kEqual;
      const auto known = static_cast<int>(role_.known_shapes.size());
      return !of_shape || check.input >= known || !role_.known_shapes[check.input];
    };
    std::copy_if(facts_.checks().begin(), facts_.checks().end(), std::back_inserter(host_.checks), is_needed);
    host_.shape_check_count = static_cast<int>(host_.checks.size());
    host_.outermost = role_.outermost;
    host_.donated = role_.donated;
    host_.donated.resize(graph_.inputs().size(), false);
    host_.counters = role_.counted.numbers;
    if (role_.own_workspace) host_.own_workspace = tables_.growable_blocks++;
    on_host_.emplace(graph_, facts_, plan_, host_.symbols);
    row_updates_.emplace(graph_, facts_, plan_, *on_host_);
    NumberOutputs();
    PlaceInputs();
    PlaceOutputs();
    std::map<int, const std::vector<int>*> chain_of;
    for (const std::vector<int>& chain : plan_.chains) {
      for (int g : chain) chain_of[g] = &chain;
    }
    int rest = -1;
    for (int g = 0; g < static_cast<int>(plan_.groups.size()); ++g) {
      if (const auto chain = chain_of.find(g); chain != chain_of.end()) {
        if (g == chain->second->back()) TAILOR_RETURN_IF_ERROR(AddChain(*chain->second));
      } else if (plan_.groups[g].kind != GroupKind::kControl) {
        if (!on_host_->IsOnHost(plan_.groups[g])) TAILOR_RETURN_IF_ERROR(AddKernels(g));
      } else if (const NodeId id = plan_.groups[g].dominant; graph_.node(id).op == OpKind::kWhile) {
        TAILOR_RETURN_IF_ERROR(AddWhile(id));
      } else if (graph_.node(id).op == OpKind::kIf) {
        TAILOR_RETURN_IF_ERROR(AddIf(id));
      } else if (graph_.node(id).op == OpKind::kCustom) {
        AddCustom(id);
      } else {
        rest = id;
      }
    }
    if (rest >= 0) TAILOR_RETURN_IF_ERROR(AddContinuation(rest));
    TAILOR_RETURN_IF_ERROR(CheckSizes());
    return std::move(host_);
  }

 private:
  using Place = host::HostBuffer::Place;
  using Kind = host::CarriedValue::Kind;

  Shape Canonical(const Shape& shape) const {
    Shape result;
    for (const DimExpr& dim : shape) result.push_back(facts_.Canonical(dim));
    return result;
  }

  int AddBuffer(Place place, int index, DType dtype, const Shape& shape) {
    host_.buffers.push_back({.place = place, .index = index, .dtype = dtype, .shape = Canonical(shape)});
    return static_cast<int>(host_.buffers.size()) - 1;
  }

  int AddBlock(DType dtype, const Shape& shape) {
    const int id = AddBuffer(Place::kWorkspace, workspace_blocks_++, dtype, shape);
    host_.buffers[id].first_step = host_.buffers[id].last_step = step();
    return id;
  }

  int step() const { return static_cast<int>(host_.steps.size()); }

  // Extends the lifetime of the buffer, and of all buffers that it may alias, to the next step.
  int Use(int id) {
    host_.buffers[id].last_step = step();
    for (int behind : behind_[id]) Use(behind);
    return id;
  }

  // The product of large dim sizes may overflow a DimExpr.
  absl::Status CheckSizes() const {
    for (const host::HostBuffer& buffer : host_.buffers) {
      if (host::BytesOf(buffer).valid()) continue;
      return absl::ResourceExhaustedError(absl::StrCat("the number of elements of ", tailor::NameOf(buffer.dtype),
                                                       graph_.ShapeText(buffer.shape),
                                                       " is too long an expression over symbols"));
    }
    return absl::OkStatus();
  }

  // ---- Signature ----

  host::HostProgram::Output SourceOf(int number) const {
    return number < static_cast<int>(role_.outputs.size()) ? role_.outputs[number]
                                                           : host::HostProgram::Output::kRuntime;
  }

  // Outputs of the continuation have the numbers in its attribute, outputs of this program the others.
  void NumberOutputs() {
    std::vector<int64_t> of_continuation;
    for (const Node& node : graph_.nodes()) {
      if (node.op == OpKind::kContinuation) of_continuation = node.i64s("outputs");
    }
    const size_t count = graph_.outputs().size() + of_continuation.size();
    std::vector<int> numbers = role_.numbers;
    for (size_t i = numbers.size(); i < count; ++i) numbers.push_back(static_cast<int>(i));
    for (size_t i = 0; i < count; ++i) {
      if (std::find(of_continuation.begin(), of_continuation.end(), static_cast<int64_t>(i)) == of_continuation.end()) {
        host_.output_numbers.push_back(numbers[i]);
        host_.output_sources.push_back(SourceOf(numbers[i]));
      }
    }
    for (int64_t i : of_continuation) continuation_numbers_.push_back(numbers[i]);
    for (int number : numbers) host_.memory_of.resize(std::max<size_t>(host_.memory_of.size(), number + 1), -1);
    if (!role_.body) return;
    host_.carried.assign(graph_.inputs().size(), Kind::kInvariant);
    for (int number : numbers) host_.carried[number] = Kind::kSwapped;
  }

  void PlaceInputs() {
    for (int i = 0; i < static_cast<int>(graph_.inputs().size()); ++i) {
      const Value v{graph_.inputs()[i], 0};
      buffer_of_[v] = AddBuffer(Place::kInput, i, graph_.type(v).dtype, graph_.type(v).shape);
    }
  }

  // Every output is a separate computed value (SeparateOutputs): its kernel writes to the output's memory.
  void PlaceOutputs() {
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Value v = graph_.outputs()[i].value;
      const TensorType& type = graph_.type(v);
      const int number = host_.output_numbers[i];
      host_.output_dims.push_back(Canonical(type.shape));
      assert(!buffer_of_.contains(v) && graph_.node(v.node).op != OpKind::kConstant);
      if (IsUpdateOf(v, number)) {
        host_.carried[number] = Kind::kInPlace;
        host_.output_sources[i] = host::HostProgram::Output::kCaller;
        buffer_of_[v] = buffer_of_.at({graph_.inputs()[number], 0});
      } else {
        buffer_of_[v] = AddBuffer(Place::kOutput, number, type.dtype, type.shape);
        UpdateDonated(v, number);
      }
    }
  }

  // If `v`, output `number`, is a donated input after one or more scatters, and these read their operands last, the
  // scatters update the input's memory.
  void UpdateDonated(Value v, int number) {
    Value from = v;
    std::vector<Value> between;
    while (IsScatter(graph_.node(from.node)) && IsReadLast(graph_.node(from.node).operands[0], from.node)) {
      between.push_back(from);
      from = graph_.node(from.node).operands[0];
    }
    const auto& inputs = graph_.inputs();
    const auto input = std::find(inputs.begin(), inputs.end(), from.node) - inputs.begin();
    if (between.empty() || input == static_cast<int64_t>(inputs.size()) || !host_.donated[input]) return;
    host_.memory_of[number] = static_cast<int>(input);
    for (Value updated : between) buffer_of_[updated] = buffer_of_.at(v);
  }

  // Whether `reader`, the dominant node of a group, is the only node of its group that reads `v`, and does so after all
  // other groups. Then it may write the memory of `v`. A loop's invariant result aliases its operand, so that result
  // must be unused.
  bool IsReadLast(Value v, NodeId reader) const {
    const auto& operands = graph_.node(reader).operands;
    if (std::count(operands.begin(), operands.end(), v) != 1) return false;
    if (on_host_->IsOutput(v)) return false;
    bool found = false;  // of the groups so far, whether one is the reader's
    for (const FusionGroup& group : plan_.groups) {
      const bool reads = std::find(group.inputs.begin(), group.inputs.end(), v) != group.inputs.end();
      if (reads && group.kind == GroupKind::kControl) {
        const OpKind op = graph_.node(group.dominant).op;
        if (op == OpKind::kContinuation || (op == OpKind::kWhile && HandsOn(group.dominant, v))) return false;
      }
      if (group.dominant == reader) {
        const auto reads_too = [&](NodeId id) {  // views of `v`, which the updates or indices are computed from
          const std::vector<Value>& read = graph_.node(id).operands;
          return id != reader && std::find(read.begin(), read.end(), v) != read.end();
        };
        if (std::any_of(group.nodes.begin(), group.nodes.end(), reads_too)) return false;
        found = true;
      } else if (reads && (found || IsChained(group))) {
        return false;
      }
    }
    return found;
  }

  // Whether a result of loop `id` whose operand is `v` is read.
  bool HandsOn(NodeId id, Value v) const {
    const std::vector<Value>& operands = graph_.node(id).operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] == v && on_host_->IsRead({id, static_cast<int32_t>(i)})) return true;
    }
    return false;
  }

  // Groups of a chain run at the place of its last group.
  bool IsChained(const FusionGroup& group) const {
    const int number = static_cast<int>(&group - plan_.groups.data());
    return std::any_of(plan_.chains.begin(), plan_.chains.end(), [&](const std::vector<int>& chain) {
      return std::find(chain.begin(), chain.end(), number) != chain.end();
    });
  }

  // Whether `v` is a scatter into argument `argument` of a loop's body that nothing reads after it.
  bool IsUpdateOf(Value v, int argument) const {
    if (!role_.body || !IsScatter(graph_.node(v.node))) return false;
    const Value before{graph_.inputs()[argument], 0};
    return graph_.node(v.node).operands[0] == before && IsReadLast(before, v.node);
  }

  bool InPlace(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!IsScatter(node)) return false;
    const auto from = buffer_of_.find(node.operands[0]), to = buffer_of_.find({id, 0});
    if (from == buffer_of_.end() || to == buffer_of_.end()) return false;
    const host::HostBuffer &before = host_.buffers[from->second], &after = host_.buffers[to->second];
    const bool donated =
        before.place == Place::kInput && after.place == Place::kOutput && host_.memory_of[after.index] == before.index;
    return from->second == to->second || donated;
  }

  // ---- Launches ----

  absl::Status AddKernels(int g) {
    if (done_.contains(plan_.groups[g].dominant)) return absl::OkStatus();
    LowerGroupOptions options = tables_.groups;
    options.in_place = plan_.groups[g].kind == GroupKind::kScatter && InPlace(plan_.groups[g].dominant);
    TAILOR_ASSIGN_OR_RETURN(auto kernels, LowerGroup(graph_, facts_, plan_, g, options));
    packed_.clear();  // packed blocks belong to one group
    if (tables_.offer_products && plan_.groups[g].kind == GroupKind::kContraction) {
      const std::optional<OfferedGemm> offered =
          OfferGemm(graph_, facts_, plan_.groups[g], kernels, tables_.external_f16_gemm);
      if (offered) return AddOfferedGemm(g, *offered, std::move(kernels));
    }
    for (NodeId scatter : row_updates_->of(g)) {
      if (InPlace(scatter) && row_updates_->Add(scatter, kernels.back())) done_.insert(scatter);
    }
    for (LoweredKernel& kernel : kernels) AddLaunch(std::move(kernel));
    return absl::OkStatus();
  }

  // Adds an external gemm and the loops after it, and the group's kernels as the alternative if the runtime declines.
  absl::Status AddOfferedGemm(int g, const OfferedGemm& offered, std::vector<LoweredKernel> kernels) {
    const int number = static_cast<int>(host_.gemms.size());
    const auto add_launch = [&](LoweredKernel kernel, host::Step::When when) {
      AddLaunch(std::move(kernel));
      host_.steps.back().gemm = number;
      host_.steps.back().when = when;
    };
    for (LoweredKernel& kernel : kernels) add_launch(std::move(kernel), host::Step::When::kNotTaken);
    const int launch = static_cast<int>(host_.launches.size()) - 1;
    std::vector<LoweredKernel> loops;
    const FusionPlan after{.groups = GroupsAfterGemm(graph_, plan_.groups[g])};
    for (int i = 0; i < static_cast<int>(after.groups.size()); ++i) {
      TAILOR_ASSIGN_OR_RETURN(auto lowered, LowerGroup(graph_, facts_, after, i, tables_.groups));
      std::move(lowered.begin(), lowered.end(), std::back_inserter(loops));
    }
    if (loops.size() == 1 && tables_.rows_in_place) ShareMemory(offered.out.value, loops[0]);
    const auto canonical = [&](const DimExpr& dim) { return facts_.Canonical(dim); };
    host::ExternalGemm gemm{.launch = launch,
                            .dtype = offered.out.dtype,
                            .lhs = BufferOf(offered.lhs),
                            .rhs = BufferOf(offered.rhs),
                            .out = BufferOf(offered.out),
                            .rhs_layout = offered.rhs.layout,
                            .batch = canonical(offered.batch),
                            .m = canonical(offered.m),
                            .n = canonical(offered.n),
                            .k = canonical(offered.k)};
    std::transform(std::begin(offered.lhs_strides), std::end(offered.lhs_strides), gemm.lhs_strides, canonical);
    std::transform(std::begin(offered.rhs_strides), std::end(offered.rhs_strides), gemm.rhs_strides, canonical);
    host_.gemms.push_back(std::move(gemm));
    host_.steps.push_back({.gemm = number, .when = host::Step::When::kTaken});
    for (LoweredKernel& loop : loops) {
      loop.plan.name = absl::StrCat(host_.launches[launch].name, "_after");
      add_launch(std::move(loop), host::Step::When::kTaken);
    }
    return absl::OkStatus();
  }

  // If the output of `loop` can alias the gemm's result, the gemm writes to the output's memory.
  void ShareMemory(Value gemm, const LoweredKernel& loop) {
    if (buffer_of_.contains(gemm)) return;  // it is an output
    const auto reads = [&](const LoweredKernel::Operand& operand) { return operand.value == gemm; };
    const auto input = std::find_if(loop.operands.begin(), loop.operands.end(), reads) - loop.operands.begin();
    const auto output = static_cast<int>(loop.operands.size()) - 1;
    if (input < output && CanAlias(loop.plan, static_cast<int>(input), output)) {
      buffer_of_[gemm] = BufferOf(loop.operands[output]);
    }
  }

  // Adds the packing kernels of the links' matmuls, then the chain.
  absl::Status AddChain(const std::vector<int>& chain) {
    packed_.clear();
    if (tables_.join_chains) {
      TAILOR_ASSIGN_OR_RETURN(LoweredKernel joined, LowerJoined(graph_, facts_, plan_, chain));
      AddLaunch(std::move(joined));
      return absl::OkStatus();
    }
    std::vector<LoweredKernel> packing, links;
    LowerGroupOptions options = tables_.groups;
    TAILOR_RETURN_IF_ERROR(LowerLinks(chain, options, packing, links));
    if (!HaveTheSameRows(links)) {
      options.merge_rows = false;
      TAILOR_RETURN_IF_ERROR(LowerLinks(chain, options, packing, links));
    }
    for (LoweredKernel& kernel : packing) AddLaunch(std::move(kernel));
    AddLaunch(ChainKernels(std::move(links)));
    return absl::OkStatus();
  }

  // Whether a block of rows is one of all matmuls of a chain: MergeRowsOfOneRhs may have merged those of some.
  static bool HaveTheSameRows(const std::vector<LoweredKernel>& links) {
    std::optional<DimExpr> first;
    for (const LoweredKernel& link : links) {
      if (!link.plan.IsContraction()) continue;
      const DimSize& m = link.plan.axes[std::get<ContractionForm>(link.plan.form).m].dim_size;
      const DimExpr rows = m.is_constant() ? DimExpr(m.constant) : link.plan.dims[m.slot].value;
      if (!first) first = rows;
      if (rows != *first) return false;
    }
    return true;
  }

  // The kernels of a chain's groups: those that pack, and the links.
  absl::Status LowerLinks(const std::vector<int>& chain, const LowerGroupOptions& options,
                          std::vector<LoweredKernel>& packing, std::vector<LoweredKernel>& links) const {
    packing.clear();
    links.clear();
    for (size_t link = 0; link < chain.size(); ++link) {
      TAILOR_ASSIGN_OR_RETURN(auto kernels, LowerGroup(graph_, facts_, plan_, chain[link], options));
      for (LoweredKernel& kernel : kernels) {
        for (LoweredKernel::Operand& operand : kernel.operands) {
          if (operand.packed >= 0) operand.packed = static_cast<int>(link);
        }
      }
      links.push_back(std::move(kernels.back()));
      kernels.pop_back();
      std::move(kernels.begin(), kernels.end(), std::back_inserter(packing));
    }
    return absl::OkStatus();
  }

  int ConstantBuffer(const LoweredKernel::Operand& operand) {
    const Node& node = graph_.node(operand.value.node);
    // Artifacts have one panel layout per dtype; a device that needs another converts it.
    const bool panels = operand.layout == ConstantLayout::kPanels16 || operand.layout == ConstantLayout::kWordPanels16;
    LoweredProgram::Constant constant{node.string("name"), graph_.type(operand.value),
                                      graph_.constant_data(operand.value.node),
                                      panels ? PanelLayout(operand.dtype) : operand.layout, operand.transpose,
                                      operand.taps_first};
    const int index = tables_.constants.NumberOf(std::move(constant), tables_.program.constants);
    auto [it, added] = constant_buffers_.try_emplace(index, -1);
    if (added) it->second = AddBuffer(Place::kConstant, index, operand.dtype, operand.shape);
    return it->second;
  }

  int BufferOf(const LoweredKernel::Operand& operand) {
    if (operand.packed >= 0) {
      auto [it, added] = packed_.try_emplace(operand.packed, -1);
      if (added) it->second = AddBlock(operand.dtype, operand.shape);
      return Use(it->second);
    }
    if (graph_.node(operand.value.node).op == OpKind::kConstant) return ConstantBuffer(operand);
    auto [it, added] = buffer_of_.try_emplace(operand.value, -1);
    if (added) it->second = AddBlock(operand.dtype, operand.shape);
    return Use(it->second);
  }

  int BufferOf(Value v) { return BufferOf({.value = v, .dtype = graph_.type(v).dtype, .shape = graph_.type(v).shape}); }

  // Text() recurses along expressions: large plans are printed on a thread with its own large stack.
  static std::string TextOf(const KernelPlan& plan) {
    constexpr size_t kFewExpressions = 256;
    if (plan.exprs.size() <= kFewExpressions) return plan.Text();
    std::string text;
    const absl::Status written = RunJob([&] {
      text = plan.Text();
      return absl::OkStatus();
    });
    assert(written.ok()), (void)written;
    return text;
  }

  int KernelIndex(KernelPlan plan) {
    auto& kernels = tables_.program.kernels;
    auto [it, added] = tables_.kernel_of.try_emplace(TextOf(plan), static_cast<int>(kernels.size()));
    if (added) kernels.push_back(std::move(plan));
    return it->second;
  }

  // Operands become buffers; the launch's step extends their lifetimes.
  void AddLaunch(LoweredKernel kernel) {
    host::Launch launch{.name = kernel.plan.name};
    for (const LoweredKernel::Operand& operand : kernel.operands) launch.buffers.push_back(BufferOf(operand));
    for (const DimSlot& slot : kernel.plan.dims) launch.dims.push_back(slot.value);
    if (!kernel.faults.empty()) launch.first_fault_check = static_cast<int32_t>(host_.checks.size());
    for (const LoweredKernel::Fault& fault : kernel.faults) {
      host_.checks.push_back({.relation = ShapeCheck::Relation::kAtMost, .message = fault.message, .node = fault.node});
    }
    launch.kernel = KernelIndex(std::move(kernel.plan));
    host_.steps.push_back({false, static_cast<int>(host_.launches.size())});
    host_.launches.push_back(std::move(launch));
  }

  // ---- Calls ----

  void AddCall(host::Call call) {
    host_.steps.push_back({true, static_cast<int>(host_.calls.size())});
    host_.calls.push_back(std::move(call));
  }

  std::string CallName(NodeId id) const {
    return absl::StrCat(InfoOf(graph_.node(id).op).text, " ", graph_.NameOf({id, 0}));
  }

  // The shape of `v`; a loop-invariant result has the shape of the operand.
  Shape ShapeOf(Value v) const {
    const auto kept = kept_.find(v);
    return kept == kept_.end() ? Canonical(graph_.type(v).shape) : ShapeOf(kept->second);
  }

  host::CallArgument ArgumentOf(Value v) {
    host::CallArgument argument{.buffer = BufferOf(v), .shape = ShapeOf(v)};
    argument.data_dependent = data_dependent_.contains(argument.buffer);
    return argument;
  }

  absl::StatusOr<int> LowerInner(NodeId id, int region, bool own_workspace,
                                 std::vector<host::HostProgram::Output> outputs) {
    return lower_region_(id, region, {.own_workspace = own_workspace, .outputs = std::move(outputs)});
  }

  static std::vector<host::HostProgram::Output> SourcesOf(const std::vector<std::vector<bool>>& data_dependent) {
    std::vector<host::HostProgram::Output> sources;
    for (const std::vector<bool>& dim_sizes : data_dependent) {
      sources.push_back(Any(dim_sizes) ? host::HostProgram::Output::kGrowable : host::HostProgram::Output::kCaller);
    }
    return sources;
  }

  // Adds the buffer of a call's result whose memory the call determines.
  int AddResult(NodeId id, int r, bool data_dependent, std::vector<int> behind) {
    const TensorType& type = graph_.type({id, r});
    const int result = AddBuffer(Place::kResult, r, type.dtype, type.shape);
    host_.buffers[result].call = static_cast<int>(host_.calls.size());
    behind_[result] = std::move(behind);
    if (data_dependent) data_dependent_.insert(result);
    buffer_of_[{id, r}] = result;
    return result;
  }

  absl::Status AddWhile(NodeId id) {
    const Node& node = graph_.node(id);
    const std::vector<std::vector<bool>> data_dependent = DataDependentDims(graph_, node);
    const bool grows = std::any_of(data_dependent.begin(), data_dependent.end(), Any);
    host::Call call{.kind = host::Call::Kind::kWhile, .name = CallName(id)};
    ProgramRole of_body{.body = true, .own_workspace = grows, .outputs = SourcesOf(data_dependent)};
    if (const CountedLoop* counted = on_host_->Counted(id)) {
      call.counters = counted->counters;
      call.decided = counted->goes_on;
      of_body.counted.below = counted->below;
      for (const host::Counter& counter : call.counters) of_body.counted.numbers.push_back(counter.argument);
      for (size_t i = 0; i < node.operands.size(); ++i) {
        of_body.counted.is_read.push_back(on_host_->IsRead({id, static_cast<int32_t>(i)}));
      }
    } else {
      TAILOR_ASSIGN_OR_RETURN(const int condition, LowerInner(id, 0, grows, {host::HostProgram::Output::kCaller}));
      call.programs.push_back(condition);
    }
    TAILOR_ASSIGN_OR_RETURN(const int body, lower_region_(id, 1, of_body));
    call.programs.push_back(body);
    const std::vector<Kind> kinds = tables_.program.programs[body].carried;
    std::vector<int> places(node.operands.size(), -1);  // kInPlace
    packed_.clear();
    for (size_t i = 0; i < node.operands.size(); ++i) {
      if (kinds[i] == Kind::kInPlace) places[i] = PlaceToUpdate(id, static_cast<int>(i));
    }
    for (size_t i = 0; i < node.operands.size(); ++i) {
      host::CallArgument argument;
      if (on_host_->IsCounter(id, i)) {
        if (kinds[i] == Kind::kSwapped) argument.buffer = BufferOf(node.operands[i]);
        argument.shape = {*on_host_->ValueOf(node.operands[i])};
      } else {
        argument = ArgumentOf(node.operands[i]);
      }
      if (places[i] >= 0) argument.buffer = Use(places[i]);
      call.carried.push_back({.kind = kinds[i]});
      host::CarriedValue& carried = call.carried.back();
      const Value result{id, static_cast<int32_t>(i)};
      if (carried.kind != Kind::kSwapped) {
        buffer_of_[result] = argument.buffer;
        kept_.emplace(result, node.operands[i]);
        if (carried.kind == Kind::kInvariant) shared_.insert(result);
      } else {
        const bool grown = Any(data_dependent[i]);
        std::vector<int> behind = {argument.buffer};
        for (int place = 0; place < 2; ++place) {
          if (grown) {
            carried.grown[place] = tables_.growable_blocks++;
          } else {
            carried.places[place] = AddBlock(graph_.type(result).dtype, graph_.type(result).shape);
            behind.push_back(carried.places[place]);
          }
        }
        AddResult(id, static_cast<int>(i), grown, std::move(behind));
      }
      call.arguments.push_back(std::move(argument));
    }
    if (!call.decided) call.condition = AddBlock(DType::kBool, {});
    AddCall(std::move(call));
    return absl::OkStatus();
  }

  // The buffer in which a loop may update its argument: the operand's memory if nothing else needs it, else a copy. A
  // loop-invariant result of an earlier loop aliases that loop's operand, which others may read.
  int PlaceToUpdate(NodeId id, int argument) {
    const Value operand = graph_.node(id).operands[argument];
    if (graph_.node(operand.node).op != OpKind::kConstant && !shared_.contains(operand) &&
        uses_.readers(operand.node).size() == 1 &&
        std::count(graph_.node(id).operands.begin(), graph_.node(id).operands.end(), operand) == 1) {
      const int buffer = BufferOf(operand);
      const host::HostBuffer& held = host_.buffers[buffer];
      if (held.place == Place::kWorkspace || (held.place == Place::kInput && host_.donated[held.index])) return buffer;
    }
    AddLaunch(LowerCopy(graph_, facts_, operand, argument));
    return packed_.at(argument);
  }

  absl::Status AddIf(NodeId id) {
    const Node& node = graph_.node(id);
    const std::vector<std::vector<bool>> data_dependent = DataDependentDims(graph_, node);
    host::Call call{.kind = host::Call::Kind::kIf, .name = CallName(id)};
    for (int region = 0; region < 2; ++region) {
      TAILOR_ASSIGN_OR_RETURN(const int program, LowerInner(id, region, false, SourcesOf(data_dependent)));
      call.programs.push_back(program);
    }
    call.decided = on_host_->ValueOf(node.operands[0]);
    if (!call.decided) call.condition = BufferOf(node.operands[0]);
    for (size_t i = 1; i < node.operands.size(); ++i) call.arguments.push_back(ArgumentOf(node.operands[i]));
    for (size_t r = 0; r < node.results.size(); ++r) {
      const TensorType& type = node.results[r];
      host::Call::Result result{.shape = Canonical(type.shape)};
      if (Any(data_dependent[r])) {
        result.grown = tables_.growable_blocks++;
        AddResult(id, static_cast<int>(r), true, {});
      } else {
        result.place = AddBlock(type.dtype, type.shape);
        buffer_of_[{id, static_cast<int32_t>(r)}] = result.place;
      }
      call.results.push_back(std::move(result));
    }
    AddCall(std::move(call));
    return absl::OkStatus();
  }

  // The operator writes its results to their own memory, that of outputs included.
  void AddCustom(NodeId id) {
    const Node& node = graph_.node(id);
    ProgramCustomCall described{
        .name = node.string("name"), .attributes = node.string("attributes"), .node = node.name};
    host::Call call{.kind = host::Call::Kind::kCustom, .name = CallName(id)};
    packed_.clear();
    const auto add = [&](Value v, std::vector<ProgramCustomCall::Tensor>& tensors) {
      tensors.push_back({graph_.type(v).dtype, graph_.type(v).rank()});
      call.arguments.push_back(ArgumentOf(v));
    };
    for (Value v : node.operands) add(v, described.operands);
    for (int32_t r = 0; r < static_cast<int32_t>(node.results.size()); ++r) add({id, r}, described.results);
    call.custom = static_cast<int>(tables_.program.custom_calls.size());
    tables_.program.custom_calls.push_back(std::move(described));
    AddCall(std::move(call));
  }

  absl::Status AddContinuation(NodeId id) {
    const Node& node = graph_.node(id);
    host::Call call{.kind = host::Call::Kind::kContinuation, .name = "continuation"};
    std::vector<bool> known_shapes;
    for (Value v : node.operands) known_shapes.push_back(!IsControl(graph_.node(v.node)));
    for (const int64_t count : node.i64s("counts")) known_shapes.push_back(count < 0);
    TAILOR_ASSIGN_OR_RETURN(const int program, lower_region_(id, 0,
                                                             {.versions = role_.versions,
                                                              .own_workspace = true,
                                                              .outputs = role_.outputs,
                                                              .numbers = continuation_numbers_,
                                                              .known_shapes = std::move(known_shapes)}));
    call.programs = {program};
    for (Value v : node.operands) call.arguments.push_back(ArgumentOf(v));
    for (size_t i = 0; i < node.dims("extents").size(); ++i) {
      host::CallArgument argument{.shape = Canonical({node.dims("extents")[i]})};
      if (const int64_t count = node.i64s("counts")[i]; count >= 0) {
        argument.count = static_cast<int>(count);
        argument.count_check = static_cast<int32_t>(host_.checks.size());
        const std::string name = next_->node(next_->inputs()[node.operands.size() + i]).name;
        host_.checks.push_back({.relation = ShapeCheck::Relation::kAtLeast,
                                .message = absl::StrCat(name, " is {lhs}, but must be at least {rhs}"),
                                .node = graph_.node(node.operands[count].node).name});
      }
      call.arguments.push_back(std::move(argument));
    }
    AddCall(std::move(call));
    return absl::OkStatus();
  }

  const Graph& graph_;
  const ShapeFacts& facts_;
  const FusionPlan& plan_;
  const Uses uses_;
  const ProgramRole& role_;
  const Graph* next_;
  const LowerRegion& lower_region_;
  LoweringTables& tables_;
  host::HostProgram host_;
  std::vector<int> continuation_numbers_;
  std::map<Value, int> buffer_of_;
  std::map<Value, Value> kept_;             // loop results that alias their operands: in-place or loop-invariant
  std::set<Value> shared_;                  // the loop-invariant ones
  std::map<int, int> constant_buffers_;     // by constant index
  std::map<int, int> packed_;               // by number
  std::map<int, std::vector<int>> behind_;  // by result: the buffers that it may alias
  std::set<int> data_dependent_;            // results with data-dependent dims
  std::optional<HostDecisions> on_host_;
  std::optional<RowUpdates> row_updates_;
  std::set<NodeId> done_;  // scatters that kernels of other groups do
  int workspace_blocks_ = 0;
};

}  // namespace

absl::StatusOr<host::HostProgram> LowerProgram(const Graph& graph, const ShapeFacts& facts, const FusionPlan& plan,
                                               const ProgramRole& role, const Graph* next,
                                               const LowerRegion& lower_region, LoweringTables& tables) {
  return ProgramLowering(graph, facts, plan, role, next, lower_region, tables).Run();
}

}  // namespace tailor::lower
