#include "api/compiler_status.h"

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "graph/status_node.h"

namespace tailor {
namespace {

// The codes of tailor/runtime.h equal Abseil's. Abseil codes without a name there are the library's own faults:
// INTERNAL.
int32_t CodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kCancelled:
      return TAILOR_CANCELLED;
    case absl::StatusCode::kInvalidArgument:
      return TAILOR_INVALID_ARGUMENT;
    case absl::StatusCode::kNotFound:
      return TAILOR_NOT_FOUND;
    case absl::StatusCode::kResourceExhausted:
      return TAILOR_RESOURCE_EXHAUSTED;
    case absl::StatusCode::kFailedPrecondition:
      return TAILOR_FAILED_PRECONDITION;
    case absl::StatusCode::kOutOfRange:
      return TAILOR_OUT_OF_RANGE;
    case absl::StatusCode::kUnimplemented:
      return TAILOR_UNIMPLEMENTED;
    case absl::StatusCode::kDataLoss:
      return TAILOR_DATA_LOSS;
    default:
      return TAILOR_INTERNAL;
  }
}

tailor_status* Create(int32_t code, absl::string_view message, absl::string_view node) {
  return tailor_status_create(code, message.data(), message.size(), node.data(), node.size());
}

}  // namespace

tailor_status* ToC(const absl::Status& status) {
  if (status.ok()) return nullptr;
  return Create(CodeOf(status), status.message(), NodeOf(status));
}

tailor_status* ToC(const Failure& failure) {
  if (failure.ok()) return nullptr;
  return Create(static_cast<int32_t>(failure.code), failure.message, failure.node);
}

absl::Status FromC(tailor_status* status) {
  if (status == nullptr) return absl::OkStatus();
  absl::Status read(static_cast<absl::StatusCode>(tailor_status_code(status)), tailor_status_message(status));
  read = WithNode(std::move(read), tailor_status_node(status));
  tailor_status_release(status);
  return read;
}

tailor_status* CurrentExceptionToC() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Create(TAILOR_RESOURCE_EXHAUSTED, "out of memory", "");
  } catch (const std::length_error&) {  // a container exceeded its maximum size
    return Create(TAILOR_RESOURCE_EXHAUSTED, "out of memory", "");
  } catch (const std::exception& exception) {
    return Create(TAILOR_INTERNAL, exception.what(), "");
  } catch (...) {
    return Create(TAILOR_INTERNAL, "unknown exception", "");
  }
}

}  // namespace tailor
