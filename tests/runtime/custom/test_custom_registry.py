"""Registration errors are raised at once, with source locations; registered ops have a provider."""

import numpy as np
import pytest

import tfport
from tfport.runtime.custom.registry import PROCESS_WIDE, Registry
from tfport.runtime.custom.source_location import declared_by_package

SCALE = "Acme>Scale: (x: T, in: float) -> y: T; T: {float, double}; by: float = 2"
HERE = r"tests/runtime/custom/test_custom_registry\.py:\d+"


def scale(x, in_, *, by):
    return x * by


BAD_KERNELS = [  # function                        message
    (lambda x, y, *, by: x, r"takes \(x, y\); expected the inputs \(x, in_\)"),
    (lambda in_, x, *, by: x, r"takes \(in_, x\); expected the inputs \(x, in_\)"),
    (lambda x, *, by: x, r"takes \(x\); expected the inputs \(x, in_\)"),
    (lambda x, in_, by: x, r".* the inputs .*; attributes are keyword-only: `\*, by`"),
    (lambda x, in_: x, r"must take the attribute by; add `\*, by` at the end"),
    (lambda x, in_, *, by, at: x, r"takes `at`; the attributes of the op are T, by"),
    (7, "is int; expected a function"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "message"), BAD_KERNELS)
def test_a_kernel_that_does_not_match_its_op_is_an_error(function, message):
    registry = Registry()
    registry.op(SCALE)
    with pytest.raises(tfport.BadRegistration, match=f"{HERE}: the kernel of Acme>Scale {message}"):
        registry.kernel("Acme>Scale")(function)


BAD_CONSTRAINTS = [  # declared for        message
    ({"U": "float"}, "restricts `U`; the attributes of the op are T, by"),
    ({"T": "flaot"}, "is for T=flaot, which is not an element type"),
    ({"T": ["float", "int32"]}, "is for T=int32; the op allows float32, float64"),
]


@pytest.mark.parametrize(("constraints", "message"), BAD_CONSTRAINTS)
def test_a_constraint_that_the_op_does_not_allow_is_an_error(constraints, message):
    registry = Registry()
    registry.op(SCALE)
    with pytest.raises(tfport.BadRegistration, match=message):
        registry.kernel("Acme>Scale", **constraints)(scale)


def test_functions_of_any_kind_may_be_kernels():
    registry = Registry()
    registry.op("Acme>Any: (x: float, y: float) -> z: float")
    registry.kernel("Acme>Any", label="c")(np.add)
    registry.kernel("Acme>Any", label="several")(lambda *inputs, **attrs: inputs[0])
    registry.kernel("Acme>Any", label="method")(type("Kernel", (), {"__call__": lambda self, x, y: x})())
    assert [kernel.label for kernel in registry.table()[-1].kernels] == ["c", "several", "method"]


def test_a_kernel_of_an_unknown_op_is_an_error():
    with pytest.raises(tfport.BadRegistration, match=f"{HERE}: a kernel of the unknown op Acme>None"):
        Registry().kernel("Acme>None")(scale)


def test_a_name_is_registered_once():
    registry = Registry()
    registry.op(SCALE)
    with pytest.raises(tfport.BadRegistration, match=f"{HERE}: op .* is already registered by {HERE}"):
        registry.op(SCALE)
    registry.op("Acme>Scale: (x: float) -> y: float", override=True)
    assert len(registry.definition_of("Acme>Scale").input_arg) == 1


def test_a_line_that_runs_again_registers_the_same_again():
    registry = Registry()
    for _ in range(2):

        @registry.op(SCALE)
        @registry.kernel("Acme>Scale")
        def kernel(x, in_, *, by):
            return x

    assert len(registry.kernels_of("Acme>Scale")) == 1


def test_tensorflows_ops_are_replaced_only_with_override():
    registry = Registry()
    with pytest.raises(tfport.BadRegistration, match=r"Relu is an op of TensorFlow since 1\.0\.0"):
        registry.op("Relu: (x: float) -> y: float")
    registry.op("Relu: (x: float) -> y: float", override=True)
    assert registry.kernels_of("Relu") == registry.lowerings_of("Relu") == []


def test_kernels_that_clash_need_a_priority():
    registry = Registry()
    registry.op("Acme>Two: (x: T) -> y: T; T: type")
    registry.kernel("Acme>Two", T=["float", "double"])(lambda x: x)
    with pytest.raises(tfport.BadRegistration, match=f"{HERE}: this kernel .* clashes with that of {HERE}"):
        registry.kernel("Acme>Two", T=["double", "int32"])(lambda x: -x)
    registry.kernel("Acme>Two", T=["double", "int32"], priority=1)(lambda x: -x)
    registry.kernel("Acme>Two", T="string")(lambda x: x)
    assert [kernel.priority for kernel in registry.kernels_of("Acme>Two")] == [1, 0, 0]


def test_a_stateful_op_is_not_lowered():
    registry = Registry()
    registry.op("Acme>Next: () -> n: int64; stateful")
    with pytest.raises(tfport.BadRegistration, match="a stateful op cannot be lowered"):
        registry.kernel("Acme>Next", lowers=True)(lambda b: b.const(1))


BAD_SHAPES = [  # a shape function            message
    (lambda x: x, "takes 1 shapes; expected 2"),
    (lambda x, y, *, axis: x, "takes `axis`, which is not an attribute of the op"),
]


@pytest.mark.parametrize(("function", "message"), BAD_SHAPES)
def test_a_shape_function_that_does_not_match_is_an_error(function, message):
    with pytest.raises(tfport.BadRegistration, match=f"{HERE}: the shape function of Acme>Scale {message}"):
        Registry().op(SCALE, shape=function)


def test_each_op_has_a_provider():
    registry = Registry(Registry())
    registry.base.op(SCALE)
    registry.base.kernel("Acme>Scale")(scale)
    registry.kernel("Relu")(lambda features: features)
    rows = {row.op: row for row in registry.table()}
    assert rows["Acme>Scale"].provider.startswith("tests/runtime/custom/test_custom_registry.py:")
    assert [kernel.provider for kernel in rows["Relu"].kernels] == [registry.provider_of("Relu")]
    assert rows["Relu"].definition is None
    assert registry.provider_of("Neg") is None


def test_ops_of_the_process_wide_registry_are_in_every_session():
    with declared_by_package("the tests"):

        @tfport.op("Acme>Everywhere: (x: T) -> y: T; T: type")
        @tfport.kernel("Acme>Everywhere")
        def everywhere(x):
            return x

    assert Registry().kernel_for("Acme>Everywhere", {}).function is everywhere
    assert Registry().provider_of("Acme>Everywhere").startswith("the tests: tests/runtime/")
    PROCESS_WIDE.forget("the tests")
    assert Registry().provider_of("Acme>Everywhere") is None
