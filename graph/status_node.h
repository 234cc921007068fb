// The name of the graph node that caused a failed absl::Status, carried as a payload beside the message.
#ifndef TAILOR_GRAPH_STATUS_NODE_H_
#define TAILOR_GRAPH_STATUS_NODE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

namespace tailor {

inline constexpr absl::string_view kStatusNodePayload = "tailor/node";

// `status` with the user's name of the node at fault; a name set earlier (an inner node's) stays.
inline absl::Status WithNode(absl::Status status, absl::string_view node) {
  if (!node.empty() && !status.GetPayload(kStatusNodePayload)) {
    status.SetPayload(kStatusNodePayload, absl::Cord(node));
  }
  return status;
}

// "" if unknown.
inline std::string NodeOf(const absl::Status& status) {
  auto payload = status.GetPayload(kStatusNodePayload);
  return payload ? std::string(*payload) : "";
}

}  // namespace tailor

#endif  // TAILOR_GRAPH_STATUS_NODE_H_
