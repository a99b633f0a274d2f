// The inputs, attributes, outputs and state of one kernel call.
#ifndef TFPORT_CONTEXT_H_
#define TFPORT_CONTEXT_H_

#include "tfport/output.h"

namespace tfport TFPORT_HIDDEN {

class Context {
 public:
  /// `tensors` are those of all arguments, one after another.
  Context(detail::Words node, int64_t node_id, const TVMFFIAny* tensors, int64_t count)
      : counts_(node.sizes()), node_id_(node_id) {
    for (int64_t type : node.sizes()) {
      if (--count < 0) fail("tfport and the library have different formats of a call; rebuild the library");
      inputs_.push_back(detail::tensor_of(*tensors++));
      inputs_.back().dtype = detail::unpacked_type(type);
      if (inputs_.back().dtype == type_of<Bytes>) --inputs_.back().ndim;  // the last axis is pointer and length
    }
    for (int64_t type : node.sizes()) outputs_.emplace_back(detail::unpacked_type(type));
    attributes_ = detail::Attributes(node);
  }

  /// The number of tensors of an argument: 1, or the length of a list.
  int64_t count(int64_t argument) const { return counts_.at(static_cast<size_t>(argument)); }

  /// The tensor of an argument, counted from 0. It is read-only.
  template <typename T>
  Input<T> input(int64_t argument) const {
    const int64_t first = first_of(argument);
    if (count(argument) != 1) fail("input " + std::to_string(argument) + " is a list: use list<T>()");
    return input_at<T>(first);
  }

  /// The tensors of an argument that is a list.
  template <typename T>
  std::vector<Input<T>> list(int64_t argument) const {
    const int64_t first = first_of(argument);
    std::vector<Input<T>> tensors;
    for (int64_t i = 0; i < count(argument); ++i) tensors.push_back(input_at<T>(first + i));
    return tensors;
  }

  /// An input as a DLTensor, for kernels that take any type.
  const DLTensor& tensor(int64_t argument, int64_t index = 0) const {
    const int64_t first = first_of(argument);
    if (index < 0 || index >= count(argument)) fail("there is no such input");
    return inputs_[static_cast<size_t>(first + index)];
  }

  /// The number of output tensors, counting each tensor of a list.
  int64_t outputs() const { return static_cast<int64_t>(outputs_.size()); }
  DLDataType output_type(int64_t index) { return output_at(index).type; }

  /// Allocate an output, as soon as its shape is known.
  template <typename T>
  Output<T> output(int64_t index, Shape shape) {
    static_assert(!std::is_same_v<T, Bytes>, "for string outputs use strings()");
    detail::Made& made = output_at(index);
    expect("output", index, made.type, type_of<T>);
    if (made.is_allocated()) fail("output " + std::to_string(index) + " is allocated twice");
    char* memory = made.allocate(shape, static_cast<size_t>(count_of(shape, sizeof(T))) * sizeof(T));
    return Output<T>(reinterpret_cast<T*>(memory), std::move(shape));
  }

  /// Allocate an output of strings, each empty at first.
  StringOutput& strings(int64_t index, Shape shape) {
    detail::Made& made = output_at(index);
    expect("output", index, made.type, type_of<Bytes>);
    if (made.strings) fail("output " + std::to_string(index) + " is allocated twice");
    made.strings = std::make_unique<StringOutput>(std::move(shape));
    return *made.strings;
  }

  /// An attribute: int64_t, double, bool, std::string, DLDataType, Shape, or a std::vector of these.
  template <typename T>
  T attr(const char* name) const {
    return attributes_.get<T>(name);
  }

  /// The state that this node keeps between the runs of a session. Several threads may use it at once.
  template <typename T>
  T& state() {
    detail::States& all = detail::states();
    std::lock_guard<std::mutex> hold(all.lock);
    std::shared_ptr<void>& state = all.by_node[node_id_];
    if (!state) state = std::make_shared<T>();
    return *static_cast<T*>(state.get());
  }

  /// After the kernel: the outputs; an error if one is missing, or the kernel wrote outside of one.
  std::vector<TVMFFIAny> take_outputs() {
    for (int64_t index = 0; index < outputs(); ++index) {
      detail::Made& made = output_at(index);
      if (made.strings) pack_strings(made);
      if (!made.is_allocated()) fail("the kernel did not allocate output " + std::to_string(index));
      if (!made.is_intact()) fail("the kernel wrote outside the memory of output " + std::to_string(index));
    }
    std::vector<TVMFFIAny> outputs;
    for (detail::Made& made : outputs_)
      outputs.push_back(made.release_as(made.strings                          ? type_of<int64_t>
                                       : made.type == type_of<BFloat16> ? type_of<uint16_t>
                                                                        : made.type));
    return outputs;
  }

 private:
  int64_t first_of(int64_t argument) const {
    if (argument < 0 || argument >= static_cast<int64_t>(counts_.size()))
      fail("there is no input " + std::to_string(argument));
    int64_t first = 0;
    for (int64_t i = 0; i < argument; ++i) first += counts_[static_cast<size_t>(i)];
    return first;
  }

  template <typename T>
  Input<T> input_at(int64_t index) const {
    const DLTensor& tensor = inputs_[static_cast<size_t>(index)];
    expect("input", index, tensor.dtype, type_of<T>);
    const char* data = static_cast<const char*>(tensor.data) + tensor.byte_offset;
    return Input<T>(reinterpret_cast<const T*>(data), Shape(tensor.shape, tensor.shape + tensor.ndim));
  }

  detail::Made& output_at(int64_t index) {
    if (index < 0 || index >= outputs()) fail("there is no output " + std::to_string(index));
    return outputs_[static_cast<size_t>(index)];
  }

  static void expect(const char* what, int64_t index, DLDataType is, DLDataType expected) {
    if (!(is == expected))
      fail(std::string(what) + " " + std::to_string(index) + " is " + name_of(is) +
           "; the kernel expects " + name_of(expected));
  }

  /// Strings are passed as words: the rank, the sizes, the lengths, then all their bytes.
  static void pack_strings(detail::Made& made) {
    const StringOutput& strings = *made.strings;
    std::vector<int64_t> words{static_cast<int64_t>(strings.shape().size())};
    words.insert(words.end(), strings.shape().begin(), strings.shape().end());
    size_t size = 0;
    for (const std::string& text : strings) {
      words.push_back(static_cast<int64_t>(text.size()));
      size += text.size();
    }
    const size_t head = words.size() * sizeof(int64_t), whole = (head + size + 7) / 8;
    char* at = made.allocate({static_cast<int64_t>(whole)}, whole * 8);
    std::memcpy(at, words.data(), head);
    at += head;
    for (const std::string& text : strings) {
      std::memcpy(at, text.data(), text.size());
      at += text.size();
    }
  }

  Shape counts_;
  int64_t node_id_;
  std::vector<DLTensor> inputs_;
  std::vector<detail::Made> outputs_;
  detail::Attributes attributes_;
};

}  // namespace tfport

#endif  // TFPORT_CONTEXT_H_
