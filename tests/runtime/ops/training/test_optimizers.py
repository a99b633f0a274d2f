"""Each optimizer with reference variables, resource variables and sparse gradients.

The tests compare the variable and all of its slots after one step.
"""

import pytest
from tests.recorded_models import OPS
from tests.runtime.cases import check, checks, graph_case

SETTINGS = {
    "lr": 0.1, "alpha": 0.3, "momentum": 0.9, "rho": 0.8, "epsilon": 0.01, "beta1": 0.9, "beta2": 0.99,
    "beta1_power": 0.8, "beta2_power": 0.7, "l1": 0.2, "l2": 0.3, "l2_shrinkage": 0.05, "lr_power": -0.5,
    "sign_decay": 0.7, "beta": 0.6, "logbase": 0.9,
}  # fmt: skip
SLOTS = {
    "var": [1, -2, 0.5, 3, 0, -0.25], "accum": [0.1, 0.2, 0.3, 0.4, 0.5, 1], "linear": [0.5, -1, 0, 2, 3, -4],
    "accum_update": [0.2, 0.1, 0.4, 0.3, 0.5, 0.1], "m": [0.1, -0.2, 0.3, 0, 0, 1],
    "v": [1, 0.5, 0.25, 0.1, 2, 3],
    "vhat": [1, 1, 0.1, 0.1, 1, 4], "ms": [1, 2, 3, 4, 5, 6], "mg": [0.5, -0.5, 0.1, 0.1, 0, 1],
    "mom": [0.1, 0.2, 0.3, -0.4, 0, 0], "gradient_accumulator": [0.5, 0.1, 0, -1, 2, 1],
    "gradient_squared_accumulator": [1, 2, 3, 4, 5, 6],
}  # fmt: skip
GRADIENT = [0.5, -1, 0, 2, 0.25, -3]


def tensor(kind, values, shape):
    return f"{kind}{shape}[{', '.join(map(str, map(float, values)))}]"


def step(op, kind="float32", rows="[2, 0]", indices="int32", fails=False, **settings):
    """One optimizer step that fetches the variables after it."""
    signature = OPS.get(op)
    is_ref, lines, inputs, reads = not op.startswith("Resource"), [], [], []
    flags = {k: settings.pop(k) for k in list(settings) if isinstance(settings[k], bool)}
    sparse = "SparseApply" in op
    count = rows.count(",") + 1
    grad = (GRADIENT + GRADIENT)[: 2 * count] if sparse else GRADIENT
    for arg in signature.inputs:
        name = arg.name
        if name in SLOTS:
            lines.append(f"{name}_0 = Const() {{dtype={kind}, value={tensor(kind, SLOTS[name], '(3, 2)')}}}")
            if is_ref:
                lines.append(f"{name} = VariableV2() {{dtype={kind}, shape=(3, 2)}}")
                lines.append(f"{name}_set = Assign({name}, {name}_0) {{T={kind}}}")
                reads.append(f"{name}_end = Identity({name}, ^step) {{T={kind}}}")
            else:
                lines.append(f'{name} = VarHandleOp() {{dtype={kind}, shape=(3, 2), shared_name="{name}"}}')
                lines.append(f"{name}_set = AssignVariableOp({name}, {name}_0) {{dtype={kind}}}")
                reads.append(f"{name}_end = ReadVariableOp({name}, ^step) {{dtype={kind}}}")
        elif name in ("grad", "delta"):
            shape = f"({count}, 2)" if sparse else "(3, 2)"
            lines.append(f"{name} = Const() {{dtype={kind}, value={tensor(kind, grad, shape)}}}")
        elif name == "indices":
            lines.append(f"indices = Const() {{dtype={indices}, value={indices}({count},){rows}}}")
        elif name == "global_step":
            lines.append("global_step = Const() {dtype=int64, value=int64()[3]}")
        else:
            value = settings.get(name, SETTINGS[name])
            lines.append(f"{name} = Const() {{dtype={kind}, value={tensor(kind, [value], '()')}}}")
        inputs.append(name)
    controls = [f"^{name}_set" for name in inputs if name in SLOTS]
    more = [f"T={kind}", *([f"Tindices={indices}"] if sparse else [])]
    more += [f"{k}={str(v).lower()}" for k, v in flags.items()]
    lines.append(f"step = {op}({', '.join([*inputs, *controls])}) {{{', '.join(more)}}}")
    fetches = [f"{name}_end:0" for name in inputs if name in SLOTS]
    return graph_case("\n".join([*lines, *reads]), fetches=fetches, name=op, fails=fails)


DENSE = [
    "GradientDescent",
    "ProximalGradientDescent",
    "Momentum",
    "Adagrad",
    "AdagradV2",
    "ProximalAdagrad",
    "AdagradDA",
    "Adadelta",
    "Ftrl",
    "FtrlV2",
    "Adam",
    "AdaMax",
    "RMSProp",
    "CenteredRMSProp",
    "AddSign",
    "PowerSign",
]
ROWS = [
    "ProximalGradientDescent",
    "Momentum",
    "Adagrad",
    "AdagradV2",
    "ProximalAdagrad",
    "AdagradDA",
    "Adadelta",
    "Ftrl",
    "FtrlV2",
    "RMSProp",
    "CenteredRMSProp",
]
NO_FLOAT16 = ("ProximalGradientDescent", "ProximalAdagrad", "AdagradDA")
CASES = [
    *(step(f"{form}Apply{name}") for name in DENSE for form in ("", "Resource")),
    *(step(f"{form}SparseApply{name}") for name in ROWS for form in ("", "Resource")),
    *(
        step(f"ResourceSparseApply{name}", rows="[1, 1, 0, 1]", indices="int64")
        for name in [*ROWS, "KerasMomentum"]
    ),
    *(step(f"ResourceApply{name}", "float64") for name in DENSE),
    *(step(f"ResourceApply{name}", "float16") for name in DENSE if name not in NO_FLOAT16),
    step("ResourceApplyAdamWithAmsgrad"),
    *(step("ResourceApplyKerasMomentum", use_nesterov=n) for n in (True, False)),
    *(step("ResourceSparseApplyKerasMomentum", use_nesterov=n) for n in (True, False)),
    *(step(f"Resource{form}ApplyMomentum", use_nesterov=True) for form in ("", "Sparse")),
    step("ResourceApplyAdam", use_nesterov=True),
    *(
        step(f"Resource{form}Apply{name}", update_slots=False)
        for form in ("", "Sparse")
        for name in ("Adagrad", "AdagradV2")
    ),
    *(
        step(f"Resource{form}Apply{name}", multiply_linear_by_lr=m, lr_power=p)
        for form in ("", "Sparse")
        for name in ("Ftrl", "FtrlV2")
        for m, p in ((True, -0.5), (True, -0.3), (False, -0.3))
    ),
    *(
        step(f"Resource{form}Apply{name}", l1=0.0)
        for form in ("", "Sparse")
        for name in ("ProximalGradientDescent", "ProximalAdagrad", "AdagradDA", "Ftrl")
    ),
    step("ResourceSparseApplyAdagradV2", rows="[3, 0]", fails=True),
    step("ResourceSparseApplyMomentum", rows="[-1, 0]", fails=True),
    step("ResourceApplyAdam", "bfloat16"),
    step("ResourceApplyGradientDescent", "bfloat16"),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_optimizers(c, ways):
    check("optimizers", c, ways)
