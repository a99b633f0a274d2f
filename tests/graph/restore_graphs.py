"""Graphs that restore variables: whole tensors, and a part of one."""

PLAIN = """
    names = Const() {dtype=string, value=string(2,)["a", "b"]}
    parts = Const() {dtype=string, value=string(2,)["", ""]}
    file = Placeholder()
    r = RestoreV2(file, names, parts) {dtypes=[float32, float32]}
    v = VariableV2() {dtype=float32, shape=(2,)}
    w = VarHandleOp() {dtype=float32, shape=(2,), shared_name="shared"}
    read = Identity(r:1) {T=float32}
    set_v = Assign(v, r) {T=float32}
    set_w = AssignVariableOp(w, read) {dtype=float32}
    restore = NoOp(^set_v, ^set_w)
"""
RESTORE = PLAIN.replace('["", ""]', '["", "4 0,2"]')
