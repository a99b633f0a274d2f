// The memory of an output: allocated when its shape is known, with guards, and owned by the host afterwards.
#ifndef TFPORT_OUTPUT_H_
#define TFPORT_OUTPUT_H_

#include "tfport/packed.h"

namespace tfport TFPORT_HIDDEN {
namespace detail {

/// An output: its memory, with guard bytes on both sides that no kernel may write.
class Made {
 public:
  static constexpr size_t FENCE = 1024;
  static constexpr unsigned char MARK = 0xA5;

  explicit Made(DLDataType of) : type(of) {}
  ~Made() { std::free(base_); }
  Made(Made&& other) noexcept : type(other.type), strings(std::move(other.strings)), shape_(std::move(other.shape_)),
        base_(std::exchange(other.base_, nullptr)), size_(other.size_) {}

  bool is_allocated() const { return base_ != nullptr; }
  bool is_intact() const { return is_marked(base_) && is_marked(base_ + FENCE + size_); }

  char* allocate(Shape shape, size_t size) {
    const size_t whole = (size + 2 * FENCE + 63) / 64 * 64;
    base_ = static_cast<char*>(whole < size ? nullptr : std::aligned_alloc(64, whole));
    if (base_ == nullptr) fail("not enough memory for an output of " + std::to_string(size) + " bytes");
    std::memset(base_, MARK, FENCE);
    std::memset(base_ + FENCE + size, MARK, FENCE);
    shape_ = std::move(shape);
    size_ = size;
    return base_ + FENCE;
  }

  /// The memory as a tensor of the host, which frees it.
  TVMFFIAny release_as(DLDataType as) {
    auto owner = std::make_unique<Owner>();
    owner->shape = std::move(shape_);
    owner->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    owner->managed.manager_ctx = owner.get();
    owner->managed.deleter = [](DLManagedTensorVersioned* self) {
      std::unique_ptr<Owner> last(static_cast<Owner*>(self->manager_ctx));
      std::free(last->base);
    };
    owner->managed.flags = 0;
    owner->managed.dl_tensor = {base_ + FENCE, {kDLCPU, 0}, static_cast<int32_t>(owner->shape.size()), as,
                                owner->shape.data(), nullptr, 0};
    TVMFFIObjectHandle tensor;
    if (TVMFFITensorFromDLPackVersioned(&owner->managed, 0, 0, &tensor) != 0) throw Raised();
    owner->base = std::exchange(base_, nullptr);
    owner.release();
    TVMFFIAny made = nothing();
    made.type_index = kTVMFFITensor;
    made.v_obj = static_cast<TVMFFIObject*>(tensor);
    return made;
  }

  const DLDataType type;
  std::unique_ptr<StringOutput> strings;

 private:
  struct Owner {
    DLManagedTensorVersioned managed;
    Shape shape;
    char* base = nullptr;
  };
  static bool is_marked(const char* from) {
    uint64_t word, first, differs = 0;
    std::memset(&first, MARK, sizeof first);
    for (size_t i = 0; i < FENCE; i += sizeof word) {
      std::memcpy(&word, from + i, sizeof word);
      differs |= word ^ first;
    }
    return differs == 0;
  }
  Shape shape_;
  char* base_ = nullptr;
  size_t size_ = 0;
};

}  // namespace detail
}  // namespace tfport

#endif  // TFPORT_OUTPUT_H_
