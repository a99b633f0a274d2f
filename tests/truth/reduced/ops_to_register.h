// The ops and kernels that these models need from tensorflow 1.4.1 (cpu), written by tfport:
//   tests/truth/models.tar.xz/all_is_well.main
//   tests/truth/models.tar.xz/variables
//   tests/truth/models.tar.xz/ref_variables
//   tests/truth/models.tar.xz/parse_example
#ifndef OPS_TO_REGISTER
#define OPS_TO_REGISTER

namespace {
constexpr const char* skip(const char* x) { return *x == ' ' ? skip(x + 1) : x; }

constexpr bool isequal(const char* x, const char* y) {
  return *skip(x) == *skip(y) && (!*skip(x) || isequal(skip(x) + 1, skip(y) + 1));
}

constexpr bool find_in(const char* x, const char* const* list, int size) {
  return size < 2 ? size == 1 && isequal(x, *list)
                  : find_in(x, list, size / 2) || find_in(x, list + size / 2, size - size / 2);
}
}  // namespace

constexpr const char* kNecessaryOpKernelClasses[] = {
    "AssignOpT<CPUDevice, float>",
    "AssignVariableOp<Eigen::ThreadPoolDevice, float>",
    "BinaryOp<CPUDevice, functor::add<float>>",
    "ConstantOp",
    "ExampleParserOp",
    "IdentityOp",
    "MatMulOp<CPUDevice, float, false >",
    "NoOp",
    "PlaceholderOp",
    "ReadVariableOp",
    "RecvOp",
    "ResourceHandleOp<Var>",
    "RestoreV2",
    "SendOp",
    "VariableOp",
};
#define SHOULD_REGISTER_OP_KERNEL(clz) \
  (find_in(clz, kNecessaryOpKernelClasses, \
           sizeof(kNecessaryOpKernelClasses) / sizeof(*kNecessaryOpKernelClasses)))

constexpr inline bool ShouldRegisterOp(const char op[]) {
  return false
      || isequal(op, "Add")
      || isequal(op, "Assign")
      || isequal(op, "AssignVariableOp")
      || isequal(op, "Const")
      || isequal(op, "Identity")
      || isequal(op, "MatMul")
      || isequal(op, "NoOp")
      || isequal(op, "ParseExample")
      || isequal(op, "Placeholder")
      || isequal(op, "ReadVariableOp")
      || isequal(op, "RestoreV2")
      || isequal(op, "VarHandleOp")
      || isequal(op, "VariableV2")
      || isequal(op, "_Recv")
      || isequal(op, "_Send")
      ;
}
#define SHOULD_REGISTER_OP(op) ShouldRegisterOp(op)

#define SHOULD_REGISTER_OP_GRADIENT false

#endif
