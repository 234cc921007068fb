#include "tests/emulator/device_functions.h"

namespace tailor::simt {

DeviceFunction FindDeviceFunction(std::string_view name) {
  for (auto functions : {ThreadFunctions(), AsyncCopyFunctions(), MatrixFunctions(), TransactionBarrierFunctions(),
                         WarpgroupFunctions()}) {
    for (const NamedDeviceFunction& row : functions) {
      if (name == row.name) return row.function;
    }
  }
  return nullptr;
}

}  // namespace tailor::simt
