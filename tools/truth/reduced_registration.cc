// Simulates a TensorFlow that registers only what an ops_to_register.h keeps, with a stock build.
//
// When preloaded, these functions replace the two through which TensorFlow 1.4 registers ops
// and kernels: what is kept is passed on to the real functions, the rest is dropped, as in a
// build with SELECTIVE_REGISTRATION. TFPORT_KEPT_OPS and TFPORT_KEPT_KERNELS name files with
// a name on each line; `*` keeps all.

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace {

std::string WithoutSpaces(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

std::set<std::string> Lines(const char* variable) {
  std::set<std::string> lines;
  std::ifstream file(std::getenv(variable));
  for (std::string line; std::getline(file, line);) lines.insert(WithoutSpaces(line));
  return lines;
}

bool KeepsOp(const std::string& name) {
  static const auto* kept = new std::set<std::string>(Lines("TFPORT_KEPT_OPS"));
  return kept->count("*") + kept->count(name) > 0;
}

bool KeepsKernel(const std::string& kernel_class) {
  static const auto* kept = new std::set<std::string>(Lines("TFPORT_KEPT_KERNELS"));
  return kept->count("*") + kept->count(WithoutSpaces(kernel_class)) > 0;
}

template <typename Function>
Function Real(const char* symbol) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, symbol));
}

}  // namespace

namespace tensorflow {
namespace register_op {

OpDefBuilderReceiver::OpDefBuilderReceiver(const OpDefBuilderWrapper<true>& wrapper) {
  OpRegistrationData data;
  wrapper.builder().Finalize(&data).IgnoreError();
  if (!KeepsOp(data.op_def.name())) return;
  using Constructor = void (*)(OpDefBuilderReceiver*, const OpDefBuilderWrapper<true>&);
  static const auto real = Real<Constructor>(
      "_ZN10tensorflow11register_op20OpDefBuilderReceiverC1ERKNS0_19OpDefBuilderWrapperILb1EEE");
  real(this, wrapper);
}

}  // namespace register_op

namespace kernel_factory {

void OpKernelRegistrar::InitInternal(const KernelDef* kernel_def, StringPiece kernel_class_name,
                                     Factory factory) {
  const bool is_system = kernel_def->op()[0] == '_' && KeepsOp(kernel_def->op());
  if (!is_system && !(KeepsOp(kernel_def->op()) && KeepsKernel(kernel_class_name.ToString()))) {
    delete kernel_def;
    return;
  }
  using Method = void (*)(OpKernelRegistrar*, const KernelDef*, StringPiece, Factory);
  static const auto real = Real<Method>(
      "_ZN10tensorflow14kernel_factory17OpKernelRegistrar12InitInternalEPKNS_9KernelDefENS_"
      "11StringPieceEPFPNS_8OpKernelEPNS_20OpKernelConstructionEE");
  real(this, kernel_def, kernel_class_name, factory);
}

}  // namespace kernel_factory
}  // namespace tensorflow
