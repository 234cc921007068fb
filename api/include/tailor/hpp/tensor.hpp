// Element types, shapes, views of the caller's memory, and tensors that own theirs. Part of tailor/runtime.hpp; C++17.
//
//     std::vector<float> x(8);
//     tailor::view(x, {2, 4})            // a TensorView: memory that runs may write
//     tailor::Tensor::zeros<float>({2, 4})
//
// The element type follows from the C++ type. A view whose shape does not fit its memory is an error of the call that
// it is passed to, which names the input or output; nothing is read or written then.
#ifndef TAILOR_HPP_TENSOR_HPP_
#define TAILOR_HPP_TENSOR_HPP_

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tailor/hpp/result.hpp"

namespace tailor {
inline namespace TAILOR_HPP {

enum class DType : std::int32_t {
  kBool = TAILOR_BOOL,
  kI8 = TAILOR_I8,
  kI16 = TAILOR_I16,
  kI32 = TAILOR_I32,
  kI64 = TAILOR_I64,
  kU8 = TAILOR_U8,
  kU16 = TAILOR_U16,
  kU32 = TAILOR_U32,
  kU64 = TAILOR_U64,
  kF16 = TAILOR_F16,
  kBF16 = TAILOR_BF16,
  kF32 = TAILOR_F32,
  kF64 = TAILOR_F64,
};

// "f32"; "dtype 99" for a number that is none.
inline std::string name_of(DType dtype) {
  static constexpr const char* kNames[] = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                                           "u32",  "u64", "f16", "bf16", "f32", "f64"};
  const auto number = static_cast<std::int32_t>(dtype);
  return number >= TAILOR_BOOL && number <= TAILOR_F64 ? kNames[number - 1] : "dtype " + std::to_string(number);
}

// In bytes; 0 for a number that is no dtype.
inline std::int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kI8:
    case DType::kU8:
      return 1;
    case DType::kI16:
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kI32:
    case DType::kU32:
    case DType::kF32:
      return 4;
    case DType::kI64:
    case DType::kU64:
    case DType::kF64:
      return 8;
  }
  return 0;
}

// Elements of f16 and bf16 tensors, as bits.
struct F16 {
  std::uint16_t bits;
};
struct BF16 {
  std::uint16_t bits;
};

// The element type of a C++ type: bool, integers, float, double, F16, BF16. Others do not compile.
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return DType::kBool;
  } else if constexpr (std::is_same_v<T, float>) {
    return DType::kF32;
  } else if constexpr (std::is_same_v<T, double>) {
    return DType::kF64;
  } else if constexpr (std::is_same_v<T, F16>) {
    return DType::kF16;
  } else if constexpr (std::is_same_v<T, BF16>) {
    return DType::kBF16;
  } else {
    constexpr bool character = std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char16_t> ||
                               std::is_same_v<T, char32_t>;
    static_assert(std::is_integral_v<T> && !character && sizeof(T) <= 8, "T is not the element type of a tensor");
    constexpr int width = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<DType>((std::is_signed_v<T> ? TAILOR_I8 : TAILOR_U8) + width);
  }
}

// Dim sizes, at most TAILOR_MAX_RANK. More are remembered as an error of the call that the shape is passed to.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(Span<const std::int64_t>(dims)) {}
  Shape(Span<const std::int64_t> dims) : rank_(dims.size()) {  // NOLINT(runtime/explicit)
    for (std::size_t i = 0; i < dims.size() && i < TAILOR_MAX_RANK; ++i) dims_[i] = dims[i];
  }
  Shape(const std::vector<std::int64_t>& dims) : Shape(Span<const std::int64_t>(dims)) {}  // NOLINT(runtime/explicit)

  std::size_t rank() const { return rank_; }
  bool valid() const { return rank_ <= TAILOR_MAX_RANK; }
  Span<const std::int64_t> dims() const { return {dims_, valid() ? rank_ : 0}; }
  // Dim size `index`; a rank that is too small throws or aborts as Result::value.
  std::int64_t operator[](std::size_t index) const {
    if (index >= dims().size()) {
      detail::raise(Error(Code::kOutOfRange, "shape " + text() + " has no dim " + std::to_string(index)));
    }
    return dims_[index];
  }
  // The number of elements; nullopt for a negative dim size, more than int64 holds, or too many dims.
  std::optional<std::int64_t> elements() const {
    if (!valid()) return std::nullopt;
    std::int64_t count = 1;
    bool empty = false, overflow = false;
    for (const std::int64_t dim : dims()) {
      if (dim < 0) return std::nullopt;
      if (dim == 0) {
        empty = true;
      } else {
        overflow |= __builtin_mul_overflow(count, dim, &count);
      }
    }
    if (empty) return 0;
    return overflow ? std::nullopt : std::optional<std::int64_t>(count);
  }
  // "[2, 4]"
  std::string text() const {
    if (!valid()) return "of " + std::to_string(rank_) + " dims";
    std::string out = "[";
    for (const std::int64_t dim : dims()) out += (out.size() > 1 ? ", " : "") + std::to_string(dim);
    return out + "]";
  }
  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (std::size_t i = 0; i < a.dims().size(); ++i) {
      if (a.dims_[i] != b.dims_[i]) return false;
    }
    return true;
  }
  friend bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }

 private:
  std::int64_t dims_[TAILOR_MAX_RANK] = {};
  std::size_t rank_ = 0;
};

namespace detail {

struct ViewAccess;

// What both kinds of views hold: a tailor_tensor, and why it cannot be used.
class View {
 public:
  DType dtype() const { return static_cast<DType>(raw_.dtype); }
  // A dim size of -1 is open, until a run has filled it in.
  Shape shape() const { return Span<const std::int64_t>(raw_.dims, static_cast<std::size_t>(raw_.rank)); }

 protected:
  View() { tailor_tensor_init(&raw_); }
  View(void* data, std::uint64_t bytes, DType dtype, const Shape& shape, bool writable) : View() {
    writable_ = writable;
    raw_.data = data;
    raw_.data_bytes = bytes;
    raw_.dtype = static_cast<std::int32_t>(dtype);
    raw_.rank = static_cast<std::int32_t>(shape.dims().size());
    std::memcpy(raw_.dims, shape.dims().data(), sizeof(std::int64_t) * shape.dims().size());
    problem_ = problem_of(shape);
  }

  // Strided views: `offset` is the element at index 0 of all dims.
  void set_strides(Span<const std::int64_t> strides, std::int64_t offset) {
    const std::int64_t size = size_of(dtype());
    if (!problem_.empty() && !short_) return;
    problem_.clear();
    if (strides.size() != static_cast<std::size_t>(raw_.rank)) {
      problem_ = std::to_string(strides.size()) + " strides are given for " + std::to_string(raw_.rank) + " dims";
      return;
    }
    std::int64_t least = offset, most = offset;
    bool empty = false, overflow = false;
    for (std::size_t i = 0; i < strides.size(); ++i) {
      std::int64_t reach = 0;
      empty |= raw_.dims[i] == 0;
      if (raw_.dims[i] > 1) overflow |= __builtin_mul_overflow(raw_.dims[i] - 1, strides[i], &reach);
      std::int64_t& end = reach < 0 ? least : most;
      overflow |= __builtin_add_overflow(end, reach, &end);
      strides_[i] = strides[i];
    }
    const auto count = static_cast<std::int64_t>(raw_.data_bytes / static_cast<std::uint64_t>(size));
    if (!empty && (overflow || least < 0 || most >= count)) {
      problem_ = "strides and offset reach elements outside of the " + std::to_string(count) + " that are given";
      return;
    }
    strided_ = true;
    if (empty) return;
    raw_.data = static_cast<char*>(raw_.data) + offset * size;
    raw_.data_bytes = static_cast<std::uint64_t>(most - least + 1) * static_cast<std::uint64_t>(size);
  }

 private:
  friend struct ViewAccess;

  std::string problem_of(const Shape& shape) {
    if (!shape.valid()) {
      return "it has " + std::to_string(shape.rank()) + " dims, more than " + std::to_string(TAILOR_MAX_RANK);
    }
    if (size_of(dtype()) == 0) return "it has " + name_of(dtype()) + ", which is no element type";
    for (const std::int64_t dim : shape.dims()) {
      if (dim == -1) return {};  // open: the run checks the capacity
    }
    const std::optional<std::int64_t> wanted = shape.elements();
    if (!wanted) return {};  // the library's message names the dim
    const std::uint64_t given = raw_.data_bytes / static_cast<std::uint64_t>(size_of(dtype()));
    if (given == static_cast<std::uint64_t>(*wanted)) return {};
    short_ = true;
    return "it has " + std::to_string(given) + " elements, but its shape " + shape.text() + " has " +
           std::to_string(*wanted);
  }

  tailor_tensor raw_;
  std::int64_t strides_[TAILOR_MAX_RANK] = {};
  std::string problem_ = "it is an empty view";
  bool strided_ = false;
  bool short_ = false;  // only the number of elements is wrong
  bool writable_ = false;
};

struct ViewAccess {
  static tailor_tensor raw(const View& view) {
    tailor_tensor out = view.raw_;
    out.strides = view.strided_ ? view.strides_ : nullptr;
    return out;
  }
  static const std::string& problem(const View& view) { return view.problem_; }
  static bool writable(const View& view) { return view.writable_; }
  static void set_dims(View& view, const tailor_tensor& run) {
    view.raw_.rank = run.rank;
    std::memcpy(view.raw_.dims, run.dims, sizeof(run.dims));
  }
  static void set_device(View& view, std::int64_t device) { view.raw_.device = device; }
};

}  // namespace detail

// Memory of the caller that runs may write: outputs, donated inputs. Refers to the memory, which must outlive the run.
class TensorView : public detail::View {
 public:
  TensorView() = default;
  template <typename T, typename = std::enable_if_t<!std::is_const_v<T>>>
  TensorView(Span<T> elements, const Shape& shape)
      : View(elements.data(), elements.size() * sizeof(T), dtype_of<T>(), shape, true) {}
  // Memory whose element type is known only at run time.
  TensorView(void* data, std::size_t bytes, DType dtype, const Shape& shape) : View(data, bytes, dtype, shape, true) {}
  // Memory of the executable's device.
  static TensorView on_device(void* data, std::size_t bytes, DType dtype, const Shape& shape) {
    TensorView out(data, bytes, dtype, shape);
    detail::ViewAccess::set_device(out, 1);
    return out;
  }
};

// Memory of the caller that runs read.
class ConstTensorView : public detail::View {
 public:
  ConstTensorView() = default;
  ConstTensorView(const TensorView& view) : View(view) {}  // NOLINT(runtime/explicit)
  template <typename T>
  ConstTensorView(Span<T> elements, const Shape& shape)
      : View(const_cast<std::remove_const_t<T>*>(elements.data()), elements.size() * sizeof(T),
             dtype_of<std::remove_const_t<T>>(), shape, !std::is_const_v<T>) {}
  ConstTensorView(const void* data, std::size_t bytes, DType dtype, const Shape& shape)
      : View(const_cast<void*>(data), bytes, dtype, shape, false) {}
  static ConstTensorView on_device(const void* data, std::size_t bytes, DType dtype, const Shape& shape) {
    ConstTensorView out(data, bytes, dtype, shape);
    detail::ViewAccess::set_device(out, 1);
    return out;
  }
  // Elements that are not dense: index [i, j] is elements[offset + i * strides[0] + j * strides[1]]. For sessions with
  // SessionOptions::copy_strided. Negative strides and 0 are allowed; elements outside of the span are an error.
  template <typename T>
  static ConstTensorView strided(Span<T> elements, const Shape& shape, Span<const std::int64_t> strides,
                                 std::int64_t offset = 0) {
    ConstTensorView out(elements, shape);
    out.set_strides(strides, offset);
    return out;
  }
};

// A view of a vector, an array or a Span. Without a shape it has one dim.
template <typename C, typename P = decltype(std::data(std::declval<C&>()))>
auto view(C& elements, const Shape& shape) {
  using T = std::remove_pointer_t<P>;
  using View = std::conditional_t<std::is_const_v<T>, ConstTensorView, TensorView>;
  return View(Span<T>(std::data(elements), std::size(elements)), shape);
}
template <typename C, typename P = decltype(std::data(std::declval<C&>()))>
auto view(C& elements) {
  return view(elements, Shape{static_cast<std::int64_t>(std::size(elements))});
}
template <typename T>
auto view(Span<T> elements, const Shape& shape) {
  using View = std::conditional_t<std::is_const_v<T>, ConstTensorView, TensorView>;
  return View(elements, shape);
}
// A view of a container that is about to end.
template <typename C>
void view(const C&& elements, const Shape& shape) = delete;

// A dense tensor that owns its memory, which is aligned to 64 bytes. Move-only; empty after a move.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Tensor&& other) noexcept { swap(other); }
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor(std::move(other)).swap(*this);
    return *this;
  }
  ~Tensor() {
    if (owner_ != nullptr) release_(owner_);
  }

  static Result<Tensor> zeros(DType dtype, const Shape& shape) {
    const std::optional<std::int64_t> count = shape.elements();
    if (!count || size_of(dtype) == 0) {
      return detail::invalid("a tensor of " + name_of(dtype) + " and shape " + shape.text() + " cannot be made");
    }
    std::int64_t bytes = 0;
    void* memory = nullptr;
    if (!__builtin_mul_overflow(*count, size_of(dtype), &bytes) &&
        bytes <= std::numeric_limits<std::int64_t>::max() - 64) {
      memory = ::operator new (static_cast<std::size_t>(bytes) + 1, std::align_val_t{64}, std::nothrow);
    }
    if (memory == nullptr) {
      return Error(Code::kResourceExhausted, "there is no memory for " + name_of(dtype) + shape.text());
    }
    std::memset(memory, 0, static_cast<std::size_t>(bytes));
    return Tensor(memory, static_cast<std::size_t>(bytes), dtype, shape, memory,
                  [](void* owner) { ::operator delete (owner, std::align_val_t{64}); });
  }
  template <typename T>
  static Result<Tensor> zeros(const Shape& shape) {
    return zeros(dtype_of<T>(), shape);
  }
  template <typename T>
  static Result<Tensor> copy_of(Span<T> elements, const Shape& shape) {
    Result<Tensor> out = zeros<std::remove_const_t<T>>(shape);
    if (!out) return out;
    if (out->bytes_ != elements.size() * sizeof(T)) {
      return detail::invalid(std::to_string(elements.size()) + " elements are given for shape " + shape.text());
    }
    if (out->bytes_ != 0) std::memcpy(out->data_, elements.data(), out->bytes_);
    return out;
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::size_t bytes() const { return bytes_; }
  // Of the memory; of a device if the tensor is an output that was taken there.
  void* data() const { return data_; }
  bool on_device() const { return on_device_; }
  // INVALID_ARGUMENT for another element type, an empty tensor, and on a device.
  template <typename T>
  Result<Span<T>> elements() const {
    if (on_device_) return detail::invalid("the tensor is in the device's memory: see data()");
    if (dtype_ != dtype_of<std::remove_const_t<T>>() || owner_ == nullptr) {
      return detail::invalid("the tensor has " + (owner_ == nullptr ? std::string("no memory") : name_of(dtype_)) +
                             ", not " + name_of(dtype_of<std::remove_const_t<T>>()));
    }
    return Span<T>(static_cast<T*>(data_), bytes_ / sizeof(T));
  }
  TensorView view() const {
    if (owner_ == nullptr) return {};
    return on_device_ ? TensorView::on_device(data_, bytes_, dtype_, shape_)
                      : TensorView(data_, bytes_, dtype_, shape_);
  }
  operator TensorView() const { return view(); }       // NOLINT(runtime/explicit)
  operator ConstTensorView() const { return view(); }  // NOLINT(runtime/explicit)

 private:
  friend class Outputs;
  using Release = void (*)(void* owner);

  Tensor(void* data, std::size_t bytes, DType dtype, const Shape& shape, void* owner, Release release)
      : data_(data), bytes_(bytes), dtype_(dtype), shape_(shape), owner_(owner), release_(release) {}
  void swap(Tensor& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(dtype_, other.dtype_);
    std::swap(shape_, other.shape_);
    std::swap(owner_, other.owner_);
    std::swap(release_, other.release_);
    std::swap(on_device_, other.on_device_);
  }

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  DType dtype_ = DType::kF32;
  Shape shape_;
  void* owner_ = nullptr;
  Release release_ = nullptr;
  bool on_device_ = false;
};

}  // namespace TAILOR_HPP
}  // namespace tailor

#endif  // TAILOR_HPP_TENSOR_HPP_
