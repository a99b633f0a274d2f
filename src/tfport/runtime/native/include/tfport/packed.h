// What the host passes: a node as 64-bit words with texts padded to words, and DLPack tensors.
// `packing.py` packs it.
#ifndef TFPORT_PACKED_H_
#define TFPORT_PACKED_H_

#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "tfport/tensor.h"

namespace tfport TFPORT_HIDDEN {
namespace detail {

/// The host has already set an error; it only has to be passed on.
struct Raised {};

inline TVMFFIAny nothing() {
  TVMFFIAny made;
  made.type_index = kTVMFFINone;
  made.zero_padding = 0;
  made.v_int64 = 0;
  return made;
}

/// Words in the memory of the host, read in order.
class Words {
 public:
  Words() = default;
  explicit Words(std::string_view packed) : at_(packed.data()), end_(packed.data() + packed.size()) {}

  int64_t next() {
    int64_t word;
    std::memcpy(&word, take(sizeof word), sizeof word);
    return word;
  }
  double real() {
    double word;
    std::memcpy(&word, take(sizeof word), sizeof word);
    return word;
  }
  std::string_view text() {
    const size_t size = static_cast<size_t>(next());
    return {take((size + 7) / 8 * 8), size};
  }
  Shape sizes() {
    Shape shape(static_cast<size_t>(next()));
    for (int64_t& size : shape) size = next();
    return shape;
  }

 private:
  const char* take(size_t size) {
    if (size > static_cast<size_t>(end_ - at_)) fail("tfport and the library have different formats of a call; rebuild the library");
    const char* taken = at_;
    at_ += size;
    return taken;
  }
  const char *at_ = nullptr, *end_ = nullptr;
};

inline DLDataType unpacked_type(int64_t word) {
  return {static_cast<uint8_t>(word), static_cast<uint8_t>(word >> 8), static_cast<uint16_t>(word >> 16)};
}

/// An attribute of a node: a letter for its kind, then its values.
template <typename T>
struct Kind;
#define TFPORT_KIND(T, LETTER, NAME, READ)            \
  template <>                                         \
  struct Kind<T> {                                    \
    static constexpr char letter = LETTER;            \
    static constexpr const char* name = NAME;         \
    static T read(Words& words) { return READ; }      \
  };
TFPORT_KIND(int64_t, 'i', "int", words.next())
TFPORT_KIND(double, 'f', "float", words.real())
TFPORT_KIND(bool, 'b', "bool", words.next() != 0)
TFPORT_KIND(std::string, 's', "string", std::string(words.text()))
TFPORT_KIND(DLDataType, 't', "type", unpacked_type(words.next()))
TFPORT_KIND(Shape, 'h', "shape", words.sizes())
#undef TFPORT_KIND

template <typename T>
struct ElementOf {
  static constexpr bool is_list = false;
  using type = T;
};
template <typename T>
struct ElementOf<std::vector<T>> {
  static constexpr bool is_list = true;
  using type = T;
};

/// The attributes of a node, searched by name.
class Attributes {
 public:
  Attributes() = default;
  explicit Attributes(Words words) : words_(words) {}

  template <typename T>
  T get(std::string_view name) const {
    Words words = words_;
    for (int64_t left = words.next(); left > 0; --left) {
      const std::string_view key = words.text();
      const char letter = static_cast<char>(words.next());
      const bool is_list = words.next() != 0;
      Words value(words.text());
      if (key == name) return read<T>(value, name, letter, is_list);
    }
    fail("the op has no attribute " + std::string(name));
  }

 private:
  template <typename T>
  static T read(Words& value, std::string_view name, char letter, bool is_list) {
    using Element = typename ElementOf<T>::type;
    if constexpr (std::is_same_v<T, Shape>) {
      if (letter == 'h' && !is_list) return value.sizes();
    }
    const bool is_empty = letter == '\0';
    if ((letter != Kind<Element>::letter && !is_empty) || is_list != ElementOf<T>::is_list)
      fail("attribute " + std::string(name) + " is not of type " + Kind<Element>::name +
           (ElementOf<T>::is_list ? " list" : ""));
    if constexpr (ElementOf<T>::is_list) {
      T all;
      for (int64_t left = value.next(); left > 0; --left) all.push_back(Kind<Element>::read(value));
      return all;
    } else {
      return Kind<T>::read(value);
    }
  }
  Words words_;
};

/// A tensor argument of a call.
inline DLTensor tensor_of(const TVMFFIAny& value) {
  if (value.type_index == kTVMFFIDLTensorPtr) return *static_cast<const DLTensor*>(value.v_ptr);
  if (value.type_index == kTVMFFITensor) return *reinterpret_cast<const DLTensor*>(value.v_obj + 1);
  fail("tfport and the library have different formats of a call; rebuild the library");
}

/// The state that nodes keep between runs.
struct States {
  std::mutex lock;
  std::unordered_map<int64_t, std::shared_ptr<void>> by_node;
};
inline States& states() {
  static States* all = new States;  // never destroyed: a thread may still run when the process ends
  return *all;
}

}  // namespace detail
}  // namespace tfport

#endif  // TFPORT_PACKED_H_
