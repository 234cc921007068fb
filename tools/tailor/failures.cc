#include "tools/tailor/failures.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "tools/handles.h"
#include "tools/provider_library.h"

namespace tailor {
namespace {

int Report(int32_t status, const char* message, int exit_code) {
  std::fprintf(stderr, "tailor: %s: %s\n", StatusName(status), message);
  return exit_code;
}

int32_t CodeOf(int error) { return error == ENOENT ? TAILOR_NOT_FOUND : TAILOR_FAILED_PRECONDITION; }

}  // namespace

void FailToRead(const std::string& path, int error) {
  throw FileError(CodeOf(error), "cannot read " + path + ": " + std::strerror(error));
}

void FailToWrite(const std::string& path, int error) {
  throw FileError(CodeOf(error), "cannot write " + path + ": " + std::strerror(error));
}

const char* StatusName(int32_t code) {
  switch (code) {
    case TAILOR_OK:
      return "OK";
    case TAILOR_CANCELLED:
      return "CANCELLED";
    case TAILOR_INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case TAILOR_DEADLINE_EXCEEDED:
      return "DEADLINE_EXCEEDED";
    case TAILOR_NOT_FOUND:
      return "NOT_FOUND";
    case TAILOR_RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    case TAILOR_FAILED_PRECONDITION:
      return "FAILED_PRECONDITION";
    case TAILOR_OUT_OF_RANGE:
      return "OUT_OF_RANGE";
    case TAILOR_UNIMPLEMENTED:
      return "UNIMPLEMENTED";
    case TAILOR_INTERNAL:
      return "INTERNAL";
    case TAILOR_DATA_LOSS:
      return "DATA_LOSS";
  }
  return "UNKNOWN";
}

int ReportFailure() {
  try {
    throw;
  } catch (const InterruptedError& failure) {
    return Report(TAILOR_CANCELLED, failure.what(), kExitInterrupted);
  } catch (const UsageError& failure) {
    return Report(TAILOR_INVALID_ARGUMENT, failure.what(), kExitUsage);
  } catch (const FileError& failure) {
    return Report(failure.code, failure.what(), kExitFile);
  } catch (const StatusError& failure) {
    return Report(failure.code(), failure.what(), failure.code() == TAILOR_NOT_FOUND ? kExitFile : kExitStatus);
  } catch (const NoProvider& failure) {
    return Report(TAILOR_NOT_FOUND, failure.what(), kExitUsage);
  } catch (const std::bad_alloc&) {
    return Report(TAILOR_RESOURCE_EXHAUSTED, "out of memory", kExitStatus);
  } catch (const std::exception& failure) {
    return Report(TAILOR_INTERNAL, failure.what(), kExitStatus);
  }
}

}  // namespace tailor
