// Early return on a failed absl::Status or absl::StatusOr.
#ifndef TAILOR_GRAPH_STATUS_MACROS_H_
#define TAILOR_GRAPH_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define TAILOR_RETURN_IF_ERROR(expression)                                                       \
  do {                                                                                           \
    if (absl::Status tailor_status_ = (expression); !tailor_status_.ok()) return tailor_status_; \
  } while (false)

#define TAILOR_CONCAT_INNER_(a, b) a##b
#define TAILOR_CONCAT_(a, b) TAILOR_CONCAT_INNER_(a, b)

// TAILOR_ASSIGN_OR_RETURN(Value v, graph.Append(...));
#define TAILOR_ASSIGN_OR_RETURN(target, expression) \
  TAILOR_ASSIGN_OR_RETURN_INNER_(TAILOR_CONCAT_(tailor_or_, __LINE__), target, expression)
#define TAILOR_ASSIGN_OR_RETURN_INNER_(result, target, expression) \
  auto result = (expression);                                      \
  if (!result.ok()) return result.status();                        \
  target = *std::move(result)

#endif  // TAILOR_GRAPH_STATUS_MACROS_H_
