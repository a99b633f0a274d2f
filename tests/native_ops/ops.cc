// One op of each kind, and kernels that go wrong in every way that is contained.
#include <tfport/op.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>

// element-wise, by type, with an attribute
TFPORT_OP("Native>Scale: (x: T) -> y: T; T: {float, double, int32, bool, half, bfloat16}; by: float = 2.0");
template <typename T>
void scale(tfport::Context& c) {
  const auto x = c.input<T>(0);
  const double by = c.attr<double>("by");
  auto y = c.output<T>(0, x.shape());
  for (int64_t i = 0; i < x.size(); ++i) y[i] = static_cast<T>(x[i] * by);
}
TFPORT_KERNEL(Native>Scale, "T=float", scale<float>);
TFPORT_KERNEL(Native>Scale, "T=double", scale<double>);
void scale_bits(tfport::Context& c) {  // negates, to see that the bits arrive
  const auto x = c.input<tfport::BFloat16>(0);
  auto y = c.output<tfport::BFloat16>(0, x.shape());
  for (int64_t i = 0; i < x.size(); ++i) y[i].bits = x[i].bits ^ 0x8000;
}
TFPORT_KERNEL(Native>Scale, "T=bfloat16", scale_bits);
void scale_badly(tfport::Context& c) { c.input<float>(0); }
TFPORT_KERNEL(Native>Scale, "T=int32", scale_badly);

// a kernel of one of TensorFlow's own ops
void softsign(tfport::Context& c) {
  const auto x = c.input<float>(0);
  auto y = c.output<float>(0, x.shape());
  for (int64_t i = 0; i < x.size(); ++i) y[i] = 42;
}
TFPORT_KERNEL(Softsign, "T=float; priority=3", softsign);

// a shape that depends on the data
TFPORT_OP("Native>Distinct: (x: int64) -> y: int64");
void distinct(tfport::Context& c) {
  const auto x = c.input<int64_t>(0);
  const std::set<int64_t> found(x.begin(), x.end());
  auto y = c.output<int64_t>(0, {static_cast<int64_t>(found.size())});
  std::copy(found.begin(), found.end(), y.begin());
}
TFPORT_KERNEL(Native>Distinct, "", distinct);

// several outputs of different types
TFPORT_OP("Native>Extremes: (x: float) -> least: float, most: float, count: int32, any: bool");
void extremes(tfport::Context& c) {
  const auto x = c.input<float>(0);
  if (x.size() == 0) tfport::fail("nothing has no extremes");
  c.output<float>(0, {})[0] = *std::min_element(x.begin(), x.end());
  c.output<float>(1, {})[0] = *std::max_element(x.begin(), x.end());
  c.output<int32_t>(2, {})[0] = static_cast<int32_t>(x.size());
  c.output<bool>(3, {})[0] = true;
}
TFPORT_KERNEL(Native>Extremes, "", extremes);

// strings
TFPORT_OP("Native>Repeat: (text: string, times: int32) -> out: string, lengths: int64; between: string = ''");
void repeat(tfport::Context& c) {
  const auto text = c.input<tfport::Bytes>(0);
  const int32_t times = c.input<int32_t>(1)[0];
  const std::string between = c.attr<std::string>("between");
  auto& out = c.strings(0, text.shape());
  auto lengths = c.output<int64_t>(1, text.shape());
  for (int64_t i = 0; i < text.size(); ++i) {
    for (int32_t k = 0; k < times; ++k) out[i].append(k ? between : "").append(std::string_view(text[i]));
    lengths[i] = static_cast<int64_t>(out[i].size());
  }
}
TFPORT_KERNEL(Native>Repeat, "", repeat);

// lists of tensors, in and out
TFPORT_OP("Native>Halves: (first: float, xs: N*T) -> sums: T, parts: N*T; N: int >= 1; T: {float, double}");
template <typename T>
void halves(tfport::Context& c) {
  const auto xs = c.list<T>(1);
  auto sums = c.output<T>(0, {c.count(1)});
  for (int64_t i = 0; i < c.count(1); ++i) {
    auto part = c.output<T>(1 + i, xs[i].shape());
    sums[i] = c.input<float>(0)[0];
    for (int64_t k = 0; k < part.size(); ++k) sums[i] += 2 * (part[k] = xs[i][k] / 2);
  }
}
TFPORT_KERNEL(Native>Halves, "T=float", halves<float>);
TFPORT_KERNEL(Native>Halves, "T=double", halves<double>);

// state: how often a node ran in its session
TFPORT_OP("Native>Count: () -> n: int64; stateful");
std::atomic<int64_t> living{0};
struct Counter {
  std::atomic<int64_t> count{0};
  Counter() { ++living; }
  ~Counter() { --living; }
};
TFPORT_OP("Native>Living: () -> n: int64; stateful");
void count_living(tfport::Context& c) { c.output<int64_t>(0, {})[0] = living; }
TFPORT_KERNEL(Native>Living, "", count_living);
void count(tfport::Context& c) { c.output<int64_t>(0, {})[0] = ++c.state<Counter>().count; }
TFPORT_KERNEL(Native>Count, "", count);

// every kind of attribute
TFPORT_OP(
    "Native>Attributes: () -> said: string; i: int; f: float; b: bool; s: string; t: type; h: shape; "
    "is: list(int); ss: list(string); none: list(float) = []");
void attributes(tfport::Context& c) {
  std::string said = std::to_string(c.attr<int64_t>("i")) + " " + std::to_string(c.attr<double>("f")) + " " +
                     (c.attr<bool>("b") ? "yes " : "no ") + c.attr<std::string>("s") + " " +
                     tfport::name_of(c.attr<DLDataType>("t"));
  for (int64_t size : c.attr<tfport::Shape>("h")) said += " " + std::to_string(size);
  for (int64_t one : c.attr<std::vector<int64_t>>("is")) said += " " + std::to_string(one);
  for (const std::string& one : c.attr<std::vector<std::string>>("ss")) said += " " + one;
  said += " " + std::to_string(c.attr<std::vector<double>>("none").size());
  c.strings(0, {})[0] = said;
}
TFPORT_KERNEL(Native>Attributes, "", attributes);

// what goes wrong
TFPORT_OP("Native>Wrong: (x: float) -> y: float; how: string");
void wrong(tfport::Context& c) {
  const auto x = c.input<float>(0);
  const std::string how = c.attr<std::string>("how");
  if (how == "throws") throw std::invalid_argument("x must be positive, \xc3\xa4h");
  if (how == "throws a number") throw 42;
  if (how == "makes none") return;
  if (how == "asks for another type") c.input<double>(0);
  if (how == "asks for another attribute") c.attr<int64_t>("how");
  if (how == "asks for none such") c.attr<int64_t>("nothing");
  if (how == "asks for another input") c.input<float>(1);
  if (how == "makes another output") c.output<float>(1, {});
  if (how == "makes another type") c.output<double>(0, {});
  if (how == "has a negative size") c.output<float>(0, {2, -1});
  if (how == "has no memory") c.output<float>(0, {int64_t{1} << 40, 1 << 20});
  if (how == "overflows") c.output<float>(0, {int64_t{1} << 40, int64_t{1} << 40});
  auto y = c.output<float>(0, x.shape());
  if (how == "makes it twice") c.output<float>(0, x.shape());
  if (how == "looks beyond") y.at(y.size());
  std::copy(x.begin(), x.end(), y.begin());
  if (how == "writes behind") y.data()[y.size() + 3] = 1;
  if (how == "writes before") y.data()[-1] = 1;
}
TFPORT_KERNEL(Native>Wrong, "", wrong);

// runs until another thread has counted, which needs Python's lock
TFPORT_OP("Native>Wait: (x: int64) -> y: bool; stateful");
void wait(tfport::Context& c) {
  const auto x = c.input<int64_t>(0);
  const volatile int64_t* watched = x.data();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (*watched == 0 && std::chrono::steady_clock::now() < end) {
  }
  c.output<bool>(0, {})[0] = *watched != 0;
}
TFPORT_KERNEL(Native>Wait, "", wait);
