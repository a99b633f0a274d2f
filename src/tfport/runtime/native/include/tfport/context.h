// What one call of a kernel is given, and where it leaves its answers.
#ifndef TFPORT_CONTEXT_H_
#define TFPORT_CONTEXT_H_

#include "tfport/output.h"

namespace tfport TFPORT_HIDDEN {

class Context {
 public:
  /// `given` are the tensors of all arguments, one after another.
  Context(detail::Words node, int64_t node_id, const TVMFFIAny* given, int64_t count)
      : counts_(node.sizes()), node_id_(node_id) {
    for (int64_t type : node.sizes()) {
      if (--count < 0) fail("tfport and the library disagree about a call");
      inputs_.push_back(detail::given_tensor(*given++));
      inputs_.back().dtype = detail::unpacked_type(type);
      if (inputs_.back().dtype == type_of<Bytes>) --inputs_.back().ndim;  // the last are pointer and length
    }
    for (int64_t type : node.sizes()) outputs_.emplace_back(detail::unpacked_type(type));
    attributes_ = detail::Attributes(node);
  }

  /// How many tensors an argument of the op stands for: 1, or the length of a list.
  int64_t count(int64_t argument) const { return counts_.at(static_cast<size_t>(argument)); }

  /// The tensor of an argument, counted from 0. It is read, never written.
  template <typename T>
  Input<T> input(int64_t argument) const {
    const int64_t first = first_of(argument);
    if (count(argument) != 1) fail("input " + std::to_string(argument) + " is a list: use list<T>()");
    return given<T>(first);
  }

  /// The tensors of an argument that is a list.
  template <typename T>
  std::vector<Input<T>> list(int64_t argument) const {
    const int64_t first = first_of(argument);
    std::vector<Input<T>> found;
    for (int64_t i = 0; i < count(argument); ++i) found.push_back(given<T>(first + i));
    return found;
  }

  /// An input as DLPack has it, for kernels that take any type.
  const DLTensor& tensor(int64_t argument, int64_t place = 0) const {
    const int64_t first = first_of(argument);
    if (place < 0 || place >= count(argument)) fail("there is no such input");
    return inputs_[static_cast<size_t>(first + place)];
  }

  /// How many tensors the op answers with, those of lists counted each.
  int64_t outputs() const { return static_cast<int64_t>(outputs_.size()); }
  DLDataType output_type(int64_t place) { return output_at(place).type; }

  /// Memory for an answer, as soon as its shape is known.
  template <typename T>
  Output<T> output(int64_t place, Shape shape) {
    static_assert(!std::is_same_v<T, Bytes>, "strings are answered with strings()");
    detail::Made& made = output_at(place);
    expect("output", place, made.type, type_of<T>);
    if (made.is_there()) fail("output " + std::to_string(place) + " is made twice");
    char* memory = made.allocate(shape, static_cast<size_t>(count_of(shape, sizeof(T))) * sizeof(T));
    return Output<T>(reinterpret_cast<T*>(memory), std::move(shape));
  }

  /// Strings to be answered, each empty at first.
  StringOutput& strings(int64_t place, Shape shape) {
    detail::Made& made = output_at(place);
    expect("output", place, made.type, type_of<Bytes>);
    if (made.strings) fail("output " + std::to_string(place) + " is made twice");
    made.strings = std::make_unique<StringOutput>(std::move(shape));
    return *made.strings;
  }

  /// An attribute: int64_t, double, bool, std::string, DLDataType, Shape, or a std::vector of these.
  template <typename T>
  T attr(const char* name) const {
    return attributes_.get<T>(name);
  }

  /// What this node keeps between the runs of a session. Several threads may ask at once.
  template <typename T>
  T& state() {
    detail::States& all = detail::states();
    std::lock_guard<std::mutex> hold(all.lock);
    std::shared_ptr<void>& found = all.by_node[node_id_];
    if (!found) found = std::make_shared<T>();
    return *static_cast<T*>(found.get());
  }

  /// After the kernel: the answers, unless something was written beside them or one is missing.
  std::vector<TVMFFIAny> answers() {
    for (int64_t place = 0; place < outputs(); ++place) {
      detail::Made& made = output_at(place);
      if (made.strings) pack_strings(made);
      if (!made.is_there()) fail("the kernel made no output " + std::to_string(place));
      if (!made.is_intact()) fail("the kernel wrote outside the memory of output " + std::to_string(place));
    }
    std::vector<TVMFFIAny> found;
    for (detail::Made& made : outputs_)
      found.push_back(made.handed_over(made.strings                          ? type_of<int64_t>
                                       : made.type == type_of<BFloat16> ? type_of<uint16_t>
                                                                        : made.type));
    return found;
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
  Input<T> given(int64_t place) const {
    const DLTensor& one = inputs_[static_cast<size_t>(place)];
    expect("input", place, one.dtype, type_of<T>);
    const char* data = static_cast<const char*>(one.data) + one.byte_offset;
    return Input<T>(reinterpret_cast<const T*>(data), Shape(one.shape, one.shape + one.ndim));
  }

  detail::Made& output_at(int64_t place) {
    if (place < 0 || place >= outputs()) fail("there is no output " + std::to_string(place));
    return outputs_[static_cast<size_t>(place)];
  }

  static void expect(const char* what, int64_t place, DLDataType is, DLDataType asked) {
    if (!(is == asked))
      fail(std::string(what) + " " + std::to_string(place) + " is " + name_of(is) +
           ", and the kernel asks for " + name_of(asked));
  }

  /// Strings go as words: the rank, the sizes, the lengths, then all their bytes.
  static void pack_strings(detail::Made& made) {
    const StringOutput& strings = *made.strings;
    std::vector<int64_t> words{static_cast<int64_t>(strings.shape().size())};
    words.insert(words.end(), strings.shape().begin(), strings.shape().end());
    size_t size = 0;
    for (const std::string& one : strings) {
      words.push_back(static_cast<int64_t>(one.size()));
      size += one.size();
    }
    const size_t head = words.size() * sizeof(int64_t), whole = (head + size + 7) / 8;
    char* at = made.allocate({static_cast<int64_t>(whole)}, whole * 8);
    std::memcpy(at, words.data(), head);
    at += head;
    for (const std::string& one : strings) {
      std::memcpy(at, one.data(), one.size());
      at += one.size();
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
