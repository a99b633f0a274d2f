// Ops and kernels for tfport in C++17, on a C ABI: calls as tvm-ffi makes them, tensors as DLPack describes them.
//
//   #include <tfport/op.h>
//
//   TFPORT_OP("MyMul: (x: T, y: T) -> z: T; T: {float, double}");
//
//   template <typename T>
//   void my_mul(tfport::Context& c) {
//     auto x = c.input<T>(0), y = c.input<T>(1);
//     if (x.shape() != y.shape()) throw std::invalid_argument("x and y have different shapes");
//     auto z = c.output<T>(0, x.shape());
//     for (int64_t i = 0; i < z.size(); ++i) z[i] = x[i] * y[i];
//   }
//   TFPORT_KERNEL(MyMul, "T=float", my_mul<float>);
//   TFPORT_KERNEL(MyMul, "T=double", my_mul<double>);
//
// What is registered stands in the file as data, to be read without loading it. A kernel may
// throw: its text reaches whoever runs the model. It runs without Python's lock, and several
// threads may be in it at once. context.h says what a kernel can ask for.
#ifndef TFPORT_OP_H_
#define TFPORT_OP_H_

#include "tfport/context.h"

#define TFPORT_ABI_VERSION 1
#define TFPORT_HEADER_MAJOR 1
#define TFPORT_HEADER_MINOR 0

#define TFPORT_JOIN_(a, b) a##b
#define TFPORT_JOIN(a, b) TFPORT_JOIN_(a, b)
#define TFPORT_REGISTER_(TEXT, KERNEL)                                                                      \
  alignas(16) static const ::tfport::detail::Registration TFPORT_JOIN(tfport_registration_, __COUNTER__)    \
      __attribute__((used, section("tfport_ops"))) = {TEXT, KERNEL}

/// Register an op: `Name: (inputs) -> outputs; attributes`, as REGISTER_OP writes each.
#define TFPORT_OP(SPEC) TFPORT_REGISTER_("op " SPEC, nullptr)

/// Register a kernel: the op, what it is for (`"T=float,double; label=fast; priority=1"`, or `""`), the function.
#define TFPORT_KERNEL(OP, FOR, ...) TFPORT_REGISTER_("kernel " #OP " " FOR, (__VA_ARGS__))

#define TFPORT_ENTRY extern "C" __attribute__((weak, used, visibility("default")))

namespace tfport TFPORT_HIDDEN {
namespace detail {

struct Registration {
  const char* text;
  void (*kernel)(Context&);
};
static_assert(sizeof(Registration) == 16, "tfport is for machines of 64 bits");

/// What can be read from the file: who made it, and where its registrations are.
struct About {
  char magic[8];
  uint32_t abi, header_major, header_minor, ffi_major, ffi_minor, ffi_patch;
  const Registration *first, *end;
};

/// Bytes as Python hands them over.
inline std::string_view bytes_of(const TVMFFIAny& value) {
  if (value.type_index == kTVMFFISmallBytes) return {value.v_bytes, value.small_str_len};
  const TVMFFIByteArray* array = value.type_index == kTVMFFIByteArrayPtr
                                     ? static_cast<const TVMFFIByteArray*>(value.v_ptr)
                                     : reinterpret_cast<const TVMFFIByteArray*>(value.v_obj + 1);
  return {array->data, array->size};
}

/// A function of tvm-ffi itself.
inline TVMFFIObjectHandle global(const char* name) {
  const TVMFFIByteArray text{name, std::strlen(name)};
  TVMFFIObjectHandle found = nullptr;
  if (TVMFFIFunctionGetGlobal(&text, &found) != 0) throw Raised();
  if (found == nullptr) fail(std::string("this tvm-ffi has no ") + name);
  return found;
}

/// One answer as it is, several as an array, which takes a share of each.
inline void give(std::vector<TVMFFIAny> answers, TVMFFIAny* result) {
  if (answers.size() == 1) {
    *result = answers[0];
  } else if (!answers.empty()) {
    static const TVMFFIObjectHandle array = global("ffi.Array");
    const int code = TVMFFIFunctionCall(array, answers.data(), static_cast<int32_t>(answers.size()), result);
    for (TVMFFIAny& one : answers) TVMFFIObjectDecRef(one.v_obj);
    if (code != 0) throw Raised();
  }
}

/// Run something for the host; whatever it throws becomes an error there.
template <typename F>
int guarded(F&& run) {
  try {
    run();
    return 0;
  } catch (const Raised&) {
  } catch (const std::exception& error) {
    TVMFFIErrorSetRaisedFromCStr("RuntimeError", error.what());
  } catch (...) {
    TVMFFIErrorSetRaisedFromCStr("RuntimeError", "the kernel threw something that is no std::exception");
  }
  return -1;
}

}  // namespace detail
}  // namespace tfport

extern "C" {
extern const ::tfport::detail::Registration __start_tfport_ops[] __attribute__((weak, visibility("hidden")));
extern const ::tfport::detail::Registration __stop_tfport_ops[] __attribute__((weak, visibility("hidden")));
}

extern "C" __attribute__((weak, visibility("default"))) const ::tfport::detail::About tfport_abi;
const ::tfport::detail::About tfport_abi __attribute__((used)) = {
    {'t', 'f', 'p', 'o', 'r', 't', '\n', '\0'},
    TFPORT_ABI_VERSION,
    TFPORT_HEADER_MAJOR,
    TFPORT_HEADER_MINOR,
    TVM_FFI_VERSION_MAJOR,
    TVM_FFI_VERSION_MINOR,
    TVM_FFI_VERSION_PATCH,
    __start_tfport_ops,
    __stop_tfport_ops,
};

/// What the library registers, a line each, as it stands in the file.
TFPORT_ENTRY int __tvm_ffi_tfport_registrations(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  return ::tfport::detail::guarded([&] {
    std::string all;
    for (auto one = __start_tfport_ops; one != __stop_tfport_ops; ++one) all.append(one->text).append("\n");
    const TVMFFIByteArray text{all.data(), all.size()};
    if (TVMFFIStringFromByteArray(&text, result) != 0) throw ::tfport::detail::Raised();
  });
}

/// Run a registered kernel: (registration, node, node id, tensors…); the answer is a tensor, or an array of them.
TFPORT_ENTRY int __tvm_ffi_tfport_call(void*, const TVMFFIAny* given, int32_t count, TVMFFIAny* result) {
  return ::tfport::detail::guarded([&] {
    const ::tfport::detail::Words node(::tfport::detail::bytes_of(given[1]));
    ::tfport::Context context(node, given[2].v_int64, given + 3, count - 3);
    __start_tfport_ops[given[0].v_int64].kernel(context);
    ::tfport::detail::give(context.answers(), result);
  });
}

/// Let go of what a node kept between runs: (node id).
TFPORT_ENTRY int __tvm_ffi_tfport_forget(void*, const TVMFFIAny* given, int32_t, TVMFFIAny*) {
  return ::tfport::detail::guarded([&] {
    auto& all = ::tfport::detail::states();
    std::shared_ptr<void> last;  // let go after the lock
    std::lock_guard<std::mutex> hold(all.lock);
    const auto found = all.by_node.find(given[0].v_int64);
    if (found == all.by_node.end()) return;
    last = std::move(found->second);
    all.by_node.erase(found);
  });
}

#endif  // TFPORT_OP_H_
