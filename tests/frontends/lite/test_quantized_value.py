"""Values of int8 stay unsigned through ops that only move them."""

import numpy as np
import pytest
from tests.frontends.lite.cases import q
from tests.frontends.lite.graphs import graph, lite_file, op
from tests.runtime.cases import i32, scalar

import tfport
from tfport.formats.lite.write import lite_bytes

SHAPE, HALF = (1, 4, 6), (1, 4, 3)
SPLITS = {
    "SPLIT": op("SPLIT", "axis y", "a b", num_splits=2),
    "SPLIT_V": op("SPLIT_V", "y sizes axis", "a b", num_splits=2),
    "UNPACK": op("UNPACK", "y", "a b c d", num=4, axis=1),
}


def split_file(name):
    """The logistic function, its parts, and the logistic function of the second part."""
    whole = {
        key: q(np.zeros(SHAPE, np.int8), *scale) for key, scale in (("x", (0.05, 3)), ("y", (1 / 256, -128)))
    }
    shape = (1, 6) if name == "UNPACK" else HALF
    parts = dict.fromkeys("abcd" if name == "UNPACK" else "ab", q(np.zeros(shape, np.int8), 1 / 256, -128))
    return lite_file(
        graph(
            "x -> z",
            op("LOGISTIC", "x", "y"),
            SPLITS[name],
            op("LOGISTIC", "b", "z"),
            **whole,
            **parts,
            z=q(np.zeros(shape, np.int8), 1 / 256, -128),
            axis=scalar(2),
            sizes=i32(3, 3),
        )
    )


def logistic(values, scale, zero):
    return np.clip(np.round(256 / (1 + np.exp(-scale * (values.astype(float) - zero)))) - 128, -128, 127)


@pytest.mark.parametrize("engine", ["onnxruntime", "none"])
@pytest.mark.parametrize("name", SPLITS)
def test_parts_are_not_converted(name, engine):
    session = tfport.Session(tfport.load(lite_bytes(split_file(name))), engine=engine)
    ((key, signature),) = session.model.signatures.items()
    ends = [
        [t for spec in specs.values() for t in spec.tensors]
        for specs in (signature.outputs, signature.inputs)
    ]
    ops = [step.op for step in session.program(*ends).steps]
    assert [op for op in ops if op in ("LiteSigned", "LiteUnsigned")] == ["LiteUnsigned", "LiteSigned"]
    x = np.arange(-120, 120, 10, np.int8).reshape(SHAPE)
    first = logistic(x, 0.05, 3)
    second = logistic(first[:, 1] if name == "UNPACK" else first[:, :, 3:], 1 / 256, -128)
    (answer,) = session.signature(key)(**dict.fromkeys(signature.inputs, x)).values()
    assert np.abs(answer - second).max() <= 1
