// The ABI of DLPack 1.x, by which libraries exchange tensors without copies. Declared here because the build systems
// have older headers. Fields have our names and dlpack.h's offsets.
#ifndef TAILOR_API_DLPACK_H_
#define TAILOR_API_DLPACK_H_

#include <cstddef>
#include <cstdint>

namespace tailor::dlpack {

enum DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3 };
enum TypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

struct DlDevice {
  int32_t type;
  int32_t ordinal;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DlTensor {
  void* data;
  DlDevice device;
  int32_t rank;
  DataType dtype;
  int64_t* dims;
  int64_t* strides;  // in elements; null: dense
  uint64_t byte_offset;
};

}  // namespace tailor::dlpack

// Opaque in tailor/runtime.h, under dlpack.h's names. `deleter` may be null.
struct DLManagedTensor {
  tailor::dlpack::DlTensor tensor;
  void* manager;
  void (*deleter)(DLManagedTensor* self);
};

struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* manager;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  tailor::dlpack::DlTensor tensor;
};

namespace tailor::dlpack {

static_assert(sizeof(DlTensor) == 48 && offsetof(DlTensor, device) == 8 && offsetof(DlTensor, rank) == 16);
static_assert(offsetof(DlTensor, dtype) == 20 && offsetof(DlTensor, dims) == 24 &&
              offsetof(DlTensor, byte_offset) == 40);
static_assert(sizeof(DLManagedTensor) == 64 && offsetof(DLManagedTensor, deleter) == 56);
static_assert(sizeof(DLManagedTensorVersioned) == 80 && offsetof(DLManagedTensorVersioned, flags) == 24);

}  // namespace tailor::dlpack

#endif  // TAILOR_API_DLPACK_H_
