#include "bindings/frontend/error.h"

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tailor::frontend {

Error Error::At(std::string node) const {
  Error out = *this;
  if (out.node_.empty()) out.node_ = std::move(node);
  return out;
}

Error Error::Needing(std::vector<std::string> inputs) const {
  Error out = *this;
  out.inputs_ = std::move(inputs);
  return out;
}

void Fail(std::string reason) { throw Error(TAILOR_INVALID_ARGUMENT, std::move(reason)); }
void Unsupported(std::string reason) { throw Error(TAILOR_UNIMPLEMENTED, std::move(reason)); }

void Check(tailor_status* status) {
  if (status == nullptr) return;
  // What the front end calls the node at fault is more than the graph's name for it.
  Error error(tailor_status_code(status), tailor_status_message(status));
  tailor_status_release(status);
  throw error;
}

tailor_status* CurrentStatus() noexcept {
  const auto create = [](int32_t code, std::string_view message, std::string_view node) {
    return tailor_status_create(code, message.data(), message.size(), node.data(), node.size());
  };
  try {
    throw;
  } catch (const Error& error) {
    try {
      const std::string text = error.node().empty() ? error.reason() : error.node() + ": " + error.reason();
      return create(error.code(), text, error.node());
    } catch (...) {
      return create(TAILOR_RESOURCE_EXHAUSTED, "out of memory", "");
    }
  } catch (const std::bad_alloc&) {
    return create(TAILOR_RESOURCE_EXHAUSTED, "out of memory", "");
  } catch (const std::length_error&) {  // a container exceeded its maximum size
    return create(TAILOR_RESOURCE_EXHAUSTED, "out of memory", "");
  } catch (const std::exception& exception) {
    return create(TAILOR_INTERNAL, exception.what(), "");
  } catch (...) {
    return create(TAILOR_INTERNAL, "unknown exception", "");
  }
}

}  // namespace tailor::frontend
