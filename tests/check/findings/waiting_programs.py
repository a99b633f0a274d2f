"""Graphs in which a node waits for a transposition, and whether TensorFlow 1.4.1 breaks them.

Recorded by `tools/truth/rewrites/control_inputs.py`, in ten processes for each graph and release.
"""

HEAD = """
x = Placeholder() {dtype=float32, shape=(2, 2)}
swap = Const() {dtype=int32, value=int32(2,)[1, 0]}
keep = Const() {dtype=int32, value=int32(2,)[0, 1]}
a = Transpose(x, swap) {T=float32, Tperm=int32}
"""
B = "b = Transpose(a, swap) {T=float32, Tperm=int32}"
ONE = "{dtype=float32, value=float32()[1.0]}"
END = "y = Add(b, one) {T=float32}"
PROGRAMS = {  # and whether it crashes
    "a constant waits": (f"{B}\none = Const(^b) {ONE}\n{END}", True),
    "a product waits": (f"{B}\none = Mul(x, a, ^b) {{T=float32}}\n{END}", True),
    "only waited for": (f"{B}\none = Const(^b) {ONE}\ny = Add(x, one) {{T=float32}}", True),
    "it waits itself": (
        f"b = Transpose(a, swap, ^x) {{T=float32, Tperm=int32}}\none = Const(^b) {ONE}\n{END}", True,
    ),
    "an Identity between": (
        "i = Identity(a) {T=float32}\nb = Transpose(i, swap) {T=float32, Tperm=int32}\n"
        f"one = Const(^b) {ONE}\n{END}", True,
    ),
    "an order that changes nothing": (
        "k = Transpose(x, keep) {T=float32, Tperm=int32}\nb = Transpose(k, keep) {T=float32, Tperm=int32}\n"
        f"one = Const(^b) {ONE}\n{END}", True,
    ),
    "another order": (
        f"b = Transpose(a, keep) {{T=float32, Tperm=int32}}\none = Const(^b) {ONE}\n{END}", False,
    ),
    "for the first": (f"{B}\none = Const(^a) {ONE}\n{END}", False),
    "an op between": (
        "e = Exp(a) {T=float32}\nb = Transpose(e, swap) {T=float32, Tperm=int32}\n"
        f"one = Const(^b) {ONE}\n{END}", False,
    ),
    "through an Identity": (
        f"{B}\nw = Identity(b) {{T=float32}}\none = Const(^w) {ONE}\n{END}", False,
    ),
    "in a part that does not run": (f"{B}\none = Const(^b) {ONE}\nz = Add(b, one) {{T=float32}}\n"
                                    "y = Neg(x) {T=float32}", False),
    "one transposition": (f"b = Neg(a) {{T=float32}}\none = Const(^a) {ONE}\n{END}", False),
}  # fmt: skip
