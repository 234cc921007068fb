#include "exec/session.h"

#include <algorithm>
#include <string>

#include "exec/cache_size.h"
#include "exec/float_mode.h"
#include "exec/fork.h"

namespace tailor {

Failure Session::Create(const Executable& executable, const Options& options, std::unique_ptr<Session>* out) {
  const uint64_t threads = std::max<uint64_t>(options.threads, 1);
  if (threads > kMaxThreads) {
    return {Code::kInvalidArgument,
            "threads is " + std::to_string(threads) + ", at most " + std::to_string(kMaxThreads), ""};
  }
  Parallelism parallelism{threads, nullptr, options.host_for, options.host_user, options.sleep, ForkGeneration()};
  if (threads > 1 && options.host_for == nullptr) {
    parallelism.team = executable.runtime().Team(threads);
    if (parallelism.team == nullptr) {
      return {Code::kResourceExhausted, "the system does not give " + std::to_string(threads) + " threads", ""};
    }
  }
  out->reset(new Session(executable, options, std::move(parallelism)));
  return {};
}

Session::Session(const Executable& executable, const Options& options, Parallelism parallelism)
    : executable_(executable),
      run_(executable.run()),
      api_(options.trace != nullptr ? TracingRtApi() : HostRtApi()),
      parallelism_(std::move(parallelism)),
      input_use_(options.copy_strided ? InputUse::kCopyStrided : InputUse::kDense),
      workspace_(executable.runtime().allocator()),
      memo_(std::max<uint64_t>(executable.variant().memo_slots, 1)),
      first_(executable.program(), executable.runtime().allocator()),
      second_(executable.program(), executable.runtime().allocator()) {
  for (size_t i = 0; i < executable.program().outputs.size(); ++i) {
    output_buffers_.emplace_back(executable.runtime().allocator());
  }
  for (uint64_t i = 0; i < executable.variant().grown_blocks; ++i) {
    blocks_.emplace_back(executable.runtime().allocator());
  }
  state_.context.struct_size = sizeof(RtContext);
  state_.context.constants = executable.constants();
  state_.context.memo = memo_.data();
  state_.context.workers = static_cast<int64_t>(parallelism_.threads);
  state_.context.streamed_bytes = StreamedBytes();
  state_.context.costs = &executable.variant().costs;
  state_.workspace = &workspace_;
  state_.outputs = &output_buffers_;
  state_.blocks = &blocks_;
  state_.parallelism = &parallelism_;
  state_.tracing = {options.trace, options.trace_user};
}

int32_t Session::Execute(Arguments* arguments) {
  state_.arguments = arguments;
  arguments->ClearOutputs();
  arguments->CopyStrided();
  runs_.Add();
  const DefaultFloatMode mode;
  const int32_t code = run_(&api_, &state_.context, arguments->in(), arguments->out());
  if (code != 0) [[unlikely]] {
    memo_[0] = 0;  // what the program remembers may describe a workspace that it did not get
  }
  return code;
}

Failure Session::Run(InputList inputs, OutputList outputs, OutputUse use) {
  state_.fault = {};
  if (Failure f = free_->SetInputs(inputs, input_use_); !f.ok()) return f;
  if (Failure f = free_->SetOutputs(outputs, use); !f.ok()) return f;
  if (Failure f = free_->CheckOverlap(output_buffers_); !f.ok()) return f;
  if (Execute(free_) != 0) return DescribeFault(executable_.program(), state_.fault);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const size_t rank = free_->output_rank(i);
    if (free_->output(i).given) {
      std::copy_n(free_->out()[i].dims, rank, outputs[i].dims);
      continue;
    }
    outputs[i].rank = static_cast<int32_t>(rank);
    outputs[i].dtype = static_cast<int32_t>(executable_.program().outputs[i].dtype);
    outputs[i].data = free_->out()[i].data;
    outputs[i].data_bytes = SizeOf(executable_.program().outputs[i].dtype);
    for (size_t d = 0; d < rank; ++d) {
      outputs[i].dims[d] = free_->out()[i].dims[d];
      outputs[i].data_bytes *= static_cast<uint64_t>(outputs[i].dims[d]);
    }
  }
  return {};
}

Failure Session::Bind(InputList inputs, OutputList outputs) {
  if (Failure f = free_->SetInputs(inputs, input_use_); !f.ok()) return f;
  if (Failure f = free_->SetOutputs(outputs, OutputUse::kNeedExtents); !f.ok()) return f;
  if (Failure f = free_->CheckOverlap(output_buffers_); !f.ok()) return f;
  bound_ = free_;
  free_ = bound_ == &first_ ? &second_ : &first_;
  return {};
}

Failure Session::BoundFailure() const {
  if (bound_ == nullptr) return {Code::kFailedPrecondition, "no buffers are bound: call tailor_session_bind", ""};
  return DescribeFault(executable_.program(), state_.fault);
}

Failure Session::Reserve(InputList inputs) {
  state_.fault = {};
  if (Failure f = free_->SetInputs(inputs, InputUse::kShapesOnly); !f.ok()) return f;
  memo_[0] = 0;  // what the program remembers describes the workspace before
  PlanResult plan{sizeof(PlanResult), 0, nullptr};
  if (executable_.plan()(&api_, &state_.context, free_->in(), free_->out(), &plan) != 0 ||
      api_.grow(&state_.context, 0, plan.workspace_bytes) != 0) {
    return DescribeFault(executable_.program(), state_.fault);
  }
  return {};
}

}  // namespace tailor
