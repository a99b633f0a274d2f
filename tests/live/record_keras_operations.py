"""Record what Keras answers to the models of `tests/frontends/keras/operation_cases.txt`.

    python -m tests.live.record_keras_operations      from the root of the repository

It runs in an environment with TensorFlow and Keras 3.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
CASES = ROOT / "frontends" / "keras" / "operation_cases.txt"
RECORDED = ROOT / "expected" / "keras_operations.npz"
random = np.random.default_rng(7)


def normal(*shape: int, dtype: str = "f4") -> Any:
    return np.asarray(random.standard_normal(shape)).astype(dtype)


def uniform(*shape: int) -> Any:
    return random.random(shape).astype("f4")


def integers(low: int, high: int, *shape: int, dtype: str = "i4") -> Any:
    return random.integers(low, high, shape).astype(dtype)


def with_nan() -> Any:
    x = normal(2, 4, 3)
    x[0, 1, 2] = x[1, :, 0] = np.nan
    x[1, 2, 1] = np.inf
    return x


def positive_definite() -> Any:
    x = normal(2, 3, 3)
    return x @ x.transpose(0, 2, 1) + np.eye(3, dtype="f4")


BATCHES = {
    # floating-point numbers, NaN, other types
    "x": normal(2, 4, 3), "y": normal(2, 4, 3), "n": with_nan(), "h": normal(2, 4, 3, dtype="f2"),
    "k": integers(-5, 6, 2, 4, 3), "l": integers(-5, 6, 2, 4, 3, dtype="i8"),
    "u": integers(0, 255, 2, 4, 3, dtype="u1"), "b": integers(0, 2, 2, 4, 3, dtype="?"),
    "cplx": (normal(2, 4, 3) + 1j * normal(2, 4, 3)).astype("c8"),
    # vectors and matrices
    "m": positive_definite(), "tri": np.tril(positive_definite()), "rect": normal(2, 5, 3),
    "rect2": normal(2, 3, 5), "bm": normal(2, 3, 2), "v": normal(2, 8), "w": normal(2, 3), "w2": normal(2, 3),
    "p": normal(2, 2), "r1": normal(2), "ab": normal(2, 4, 2), "ones": np.abs(normal(2, 4, 3)),
    # positions and classes
    "i": integers(0, 3, 2, 4), "ix": integers(0, 4, 2, 2, 3), "ineg": integers(-3, 3, 2, 4, 2),
    "cls": integers(0, 5, 2), "ids5": integers(0, 5, 2, 4), "upd": normal(2, 2, 3), "sub": normal(2, 2, 2),
    "prob": uniform(2, 4, 5), "prob2": uniform(2, 5), "onehot": np.eye(5, dtype="f4")[integers(0, 5, 2, 4)],
    # signals and images
    "sig": normal(2, 40), "re": normal(2, 5, 9), "im": normal(2, 5, 9), "x16": normal(2, 16, 4),
    "img": uniform(2, 6, 8, 3), "cf": uniform(2, 3, 6, 8), "gray": uniform(2, 6, 8, 1),
    "uimg": integers(0, 255, 2, 6, 8, 3, dtype="u1"), "img16": normal(2, 9, 11, 4),
    "vol": uniform(2, 4, 5, 6, 2),
    # attention
    "q4": normal(2, 5, 4, 8), "k4": normal(2, 6, 4, 8), "v4": normal(2, 6, 4, 8), "kg": normal(2, 6, 2, 8),
    "vg": normal(2, 6, 2, 8), "mask4": integers(0, 2, 2, 1, 5, 6, dtype="?"), "bias4": normal(2, 4, 5, 6),
}  # fmt: skip
"""Inputs whose batch size is unknown."""
FIXED = {
    "sc": normal(), "vec": normal(6), "vid": np.int32([1, 3, 0, 2, 3, 1]), "sorted1": np.sort(normal(7)),
    "gam": normal(3), "bet": normal(3), "gam43": normal(4, 3), "dk": normal(3, 3, 4, 2),
    "pk": normal(1, 1, 8, 5), "dk1": normal(3, 4, 2), "pk1": normal(1, 8, 5),
}  # fmt: skip
FIXED.update({f"{name}S": array for name, array in BATCHES.items()})
"""Inputs of a known shape."""
ARRAYS = {**BATCHES, **FIXED}


def families() -> dict[str, list[str]]:
    """The cases by family."""
    result: dict[str, list[str]] = {}
    for line in CASES.read_text().splitlines():
        if heading := re.fullmatch(r"\[(\w+)\]", line):
            result[heading[1]] = []
        elif line and not line.startswith("#"):
            result[list(result)[-1]].append(line)
    return result


def inputs_of(case: str) -> list[str]:
    """The inputs that an expression names, but not as the names of arguments."""
    names = re.findall(r"(?<![\w.'])([a-z]\w*)(?![\w='])", case)
    return [name for name in dict.fromkeys(names) if name in ARRAYS]


def answered(case: str) -> tuple[dict[str, Any], list[Any]]:
    """The configuration of a model, and what it answers."""
    import keras

    keras.backend.clear_session()
    names = inputs_of(case)
    inputs = {
        name: keras.Input(
            batch_shape=ARRAYS[name].shape if name in FIXED else (None, *ARRAYS[name].shape[1:]),
            dtype=ARRAYS[name].dtype.name,
            name=name,
        )
        for name in names
    }
    outputs = keras.tree.flatten(eval(case, {"ops": keras.ops, "np": np, **inputs}))  # our own cases
    model = keras.Model(inputs, outputs)
    results = model({name: keras.ops.convert_to_tensor(ARRAYS[name]) for name in names})
    config = json.loads(model.to_json())
    return {"config": config, "inputs": names}, [np.asarray(x) for x in keras.tree.flatten(results)]


def main() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras

    arrays: dict[str, Any] = {}
    facts: dict[str, Any] = {"version": keras.__version__, "cases": {}}
    for family, cases in families().items():
        for case in cases:
            record, answers = answered(case)
            facts["cases"][case] = {**record, "family": family, "outputs": len(answers)}
            arrays.update((f"input {name}", ARRAYS[name]) for name in record["inputs"])
            arrays.update((f"{case} {i}", answer) for i, answer in enumerate(answers))
    arrays["cases"] = np.frombuffer(json.dumps(facts, separators=(",", ":")).encode(), "u1")
    np.savez_compressed(RECORDED, **arrays)
    print(f"Keras {facts['version']}: {len(facts['cases'])} cases")


if __name__ == "__main__":
    main()
