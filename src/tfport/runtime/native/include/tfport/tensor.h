// Tensors in kernels: DLPack types, and views with a shape.
#ifndef TFPORT_TENSOR_H_
#define TFPORT_TENSOR_H_

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "tfport/op.h needs C++17: compile with -std=c++17"
#endif

#include <tvm/ffi/c_api.h>

#include <complex>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// Only the entry points are visible: two libraries with this header do not share symbols.
#define TFPORT_HIDDEN __attribute__((visibility("hidden")))

namespace tfport TFPORT_HIDDEN {

using Shape = std::vector<int64_t>;

[[noreturn]] inline void fail(const std::string& why) { throw std::runtime_error(why); }

/// An element of a string tensor.
struct Bytes {
  const char* data;
  size_t size;
  operator std::string_view() const { return {data, size}; }
};

/// Element types without a C++ type, as their bits.
struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

template <typename T>
struct TypeOf;
#define TFPORT_TYPE(T, CODE, BITS)                     \
  template <>                                          \
  struct TypeOf<T> {                                   \
    static constexpr DLDataType value = {CODE, BITS, 1}; \
  };
TFPORT_TYPE(float, kDLFloat, 32)
TFPORT_TYPE(double, kDLFloat, 64)
TFPORT_TYPE(Half, kDLFloat, 16)
TFPORT_TYPE(BFloat16, kDLBfloat, 16)
TFPORT_TYPE(int8_t, kDLInt, 8)
TFPORT_TYPE(int16_t, kDLInt, 16)
TFPORT_TYPE(int32_t, kDLInt, 32)
TFPORT_TYPE(int64_t, kDLInt, 64)
TFPORT_TYPE(uint8_t, kDLUInt, 8)
TFPORT_TYPE(uint16_t, kDLUInt, 16)
TFPORT_TYPE(uint32_t, kDLUInt, 32)
TFPORT_TYPE(uint64_t, kDLUInt, 64)
TFPORT_TYPE(bool, kDLBool, 8)
TFPORT_TYPE(std::complex<float>, kDLComplex, 64)
TFPORT_TYPE(std::complex<double>, kDLComplex, 128)
TFPORT_TYPE(Bytes, kDLOpaqueHandle, 128)
#undef TFPORT_TYPE

template <typename T>
constexpr DLDataType type_of = TypeOf<T>::value;

constexpr bool operator==(DLDataType a, DLDataType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

inline std::string name_of(DLDataType type) {
  if (type == type_of<Bytes>) return "string";
  if (type == type_of<bool>) return "bool";
  const char* kind = type.code == kDLFloat     ? "float"
                     : type.code == kDLInt     ? "int"
                     : type.code == kDLUInt    ? "uint"
                     : type.code == kDLBfloat  ? "bfloat"
                     : type.code == kDLComplex ? "complex"
                                               : "type";
  return kind + std::to_string(type.bits);
}

/// The number of elements of a shape; an error if their size overflows.
inline int64_t count_of(const Shape& shape, int64_t element = 1) {
  int64_t count = 1, bytes = 0;
  for (int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) fail("invalid shape of a tensor");
  if (__builtin_mul_overflow(count, element, &bytes)) fail("invalid shape of a tensor");
  return count;
}

/// Elements in row-major order, and their shape.
template <typename T>
class View {
 public:
  View(T* data, Shape shape) : data_(data), size_(count_of(shape)), shape_(std::move(shape)) {}

  T* data() const { return data_; }
  int64_t size() const { return size_; }
  const Shape& shape() const { return shape_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t dim(int64_t axis) const { return shape_.at(static_cast<size_t>(axis)); }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }

  T& operator[](int64_t i) const {
#ifdef TFPORT_CHECKED  // tfport lib build --checked
    return at(i);
#else
    return data_[i];
#endif
  }
  T& at(int64_t i) const {
    if (i < 0 || i >= size_) fail("element " + std::to_string(i) + " is out of bounds for a tensor of size " + std::to_string(size_));
    return data_[i];
  }

 private:
  T* data_;
  int64_t size_;
  Shape shape_;
};

template <typename T>
using Input = View<const T>;
template <typename T>
using Output = View<T>;

/// Strings of an output; each is empty at first.
class StringOutput {
 public:
  explicit StringOutput(Shape shape) : strings_(static_cast<size_t>(count_of(shape))), shape_(std::move(shape)) {}
  std::string& operator[](int64_t i) { return strings_.at(static_cast<size_t>(i)); }
  int64_t size() const { return static_cast<int64_t>(strings_.size()); }
  const Shape& shape() const { return shape_; }
  const std::string* begin() const { return strings_.data(); }
  const std::string* end() const { return strings_.data() + strings_.size(); }

 private:
  std::vector<std::string> strings_;
  Shape shape_;
};

}  // namespace tfport

#endif  // TFPORT_TENSOR_H_
