// Custom ops and kernels for tfport in C++17, on a C ABI: tvm-ffi calls, DLPack tensors.
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
// Registrations are data in the file, so they can be read without loading it. If a kernel throws,
// the message becomes the error of the run. It runs without Python's GIL, and several threads may
// call it at once. context.h declares what a kernel can access.
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

/// Register an op: `Name: (inputs) -> outputs; attributes`, each written as for REGISTER_OP.
#define TFPORT_OP(SPEC) TFPORT_REGISTER_("op " SPEC, nullptr)

/// Register a kernel: the op, its constraints (`"T=float,double; label=fast; priority=1"`, or `""`), the function.
#define TFPORT_KERNEL(OP, FOR, ...) TFPORT_REGISTER_("kernel " #OP " " FOR, (__VA_ARGS__))

#define TFPORT_ENTRY extern "C" __attribute__((weak, used, visibility("default")))

namespace tfport TFPORT_HIDDEN {
namespace detail {

struct Registration {
  const char* text;
  void (*kernel)(Context&);
};
static_assert(sizeof(Registration) == 16, "tfport needs a 64-bit machine");

/// The record of the library, readable from the file: versions, and the table of registrations.
struct LibraryRecord {
  char magic[8];
  uint32_t abi, header_major, header_minor, ffi_major, ffi_minor, ffi_patch;
  const Registration *first, *end;
};

/// The bytes of a Python object.
inline std::string_view bytes_of(const TVMFFIAny& value) {
  if (value.type_index == kTVMFFISmallBytes) return {value.v_bytes, value.small_str_len};
  const TVMFFIByteArray* array = value.type_index == kTVMFFIByteArrayPtr
                                     ? static_cast<const TVMFFIByteArray*>(value.v_ptr)
                                     : reinterpret_cast<const TVMFFIByteArray*>(value.v_obj + 1);
  return {array->data, array->size};
}

/// A global function of tvm-ffi.
inline TVMFFIObjectHandle global(const char* name) {
  const TVMFFIByteArray text{name, std::strlen(name)};
  TVMFFIObjectHandle function = nullptr;
  if (TVMFFIFunctionGetGlobal(&text, &function) != 0) throw Raised();
  if (function == nullptr) fail(std::string("this tvm-ffi has no ") + name);
  return function;
}

/// Return one output as it is, several as an array, which takes a reference to each.
inline void return_outputs(std::vector<TVMFFIAny> outputs, TVMFFIAny* result) {
  if (outputs.size() == 1) {
    *result = outputs[0];
  } else if (!outputs.empty()) {
    static const TVMFFIObjectHandle array = global("ffi.Array");
    const int code = TVMFFIFunctionCall(array, outputs.data(), static_cast<int32_t>(outputs.size()), result);
    for (TVMFFIAny& output : outputs) TVMFFIObjectDecRef(output.v_obj);
    if (code != 0) throw Raised();
  }
}

/// Run a function; what it throws becomes an error of the host.
template <typename F>
int guarded(F&& run) {
  try {
    run();
    return 0;
  } catch (const Raised&) {
  } catch (const std::exception& error) {
    TVMFFIErrorSetRaisedFromCStr("RuntimeError", error.what());
  } catch (...) {
    TVMFFIErrorSetRaisedFromCStr("RuntimeError", "the kernel threw something that is not a std::exception");
  }
  return -1;
}

}  // namespace detail
}  // namespace tfport

extern "C" {
extern const ::tfport::detail::Registration __start_tfport_ops[] __attribute__((weak, visibility("hidden")));
extern const ::tfport::detail::Registration __stop_tfport_ops[] __attribute__((weak, visibility("hidden")));
}

extern "C" __attribute__((weak, visibility("default"))) const ::tfport::detail::LibraryRecord tfport_abi;
const ::tfport::detail::LibraryRecord tfport_abi __attribute__((used)) = {
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

/// The texts of the registrations, one per line.
TFPORT_ENTRY int __tvm_ffi_tfport_registrations(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  return ::tfport::detail::guarded([&] {
    std::string all;
    for (auto entry = __start_tfport_ops; entry != __stop_tfport_ops; ++entry) all.append(entry->text).append("\n");
    const TVMFFIByteArray text{all.data(), all.size()};
    if (TVMFFIStringFromByteArray(&text, result) != 0) throw ::tfport::detail::Raised();
  });
}

/// Run a registered kernel: (registration, node, node id, tensors…); returns a tensor, or an array of tensors.
TFPORT_ENTRY int __tvm_ffi_tfport_call(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  return ::tfport::detail::guarded([&] {
    const ::tfport::detail::Words node(::tfport::detail::bytes_of(args[1]));
    ::tfport::Context context(node, args[2].v_int64, args + 3, count - 3);
    __start_tfport_ops[args[0].v_int64].kernel(context);
    ::tfport::detail::return_outputs(context.take_outputs(), result);
  });
}

/// Release the state that a node keeps between runs: (node id).
TFPORT_ENTRY int __tvm_ffi_tfport_forget(void*, const TVMFFIAny* args, int32_t, TVMFFIAny*) {
  return ::tfport::detail::guarded([&] {
    auto& all = ::tfport::detail::states();
    std::shared_ptr<void> last;  // destroyed after the lock is released
    std::lock_guard<std::mutex> hold(all.lock);
    const auto state = all.by_node.find(args[0].v_int64);
    if (state == all.by_node.end()) return;
    last = std::move(state->second);
    all.by_node.erase(state);
  });
}

#endif  // TFPORT_OP_H_
