"""Operations of Keras 3 compute what real Keras computes, in the same types.

`tests/live/record_keras_operations.py` records the answers to `tests/frontends/keras/operation_cases.txt`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built
from tests.frontends.keras.recorded_layers import references, renamed

from tfport.frontends.keras.build import SIGNATURE

RECORDED = Path(__file__).parents[4] / "expected" / "keras_operations.npz"


@cache
def recorded() -> dict[str, Any]:
    return dict(np.load(RECORDED))


@cache
def facts() -> dict[str, Any]:
    return dict(json.loads(bytes(recorded()["cases"])))


def families() -> list[str]:
    return sorted({record["family"] for record in facts()["cases"].values()})


@pytest.mark.parametrize("family", families())
def test_operations_answer_as_keras(family):
    cases = {name: record for name, record in facts()["cases"].items() if record["family"] == family}
    model = one_model(cases)
    inputs = (recorded()["input " + name.split("_", 2)[2]] for name in model.signatures[SIGNATURE].inputs)
    results = iter(answers(model, *inputs))
    wrong = []
    for name, record in cases.items():
        for number in range(record["outputs"]):
            result, expected = np.asarray(next(results)), recorded()[f"{name} {number}"]
            if why := difference(result, expected):
                wrong.append(f"{name}, output {number}: {why}")
    assert not wrong, "\n".join(wrong)


def one_model(cases: dict[str, Any]) -> Any:
    """The cases side by side."""
    parts = [renamed(record["config"], f"case_{number:03}") for number, record in enumerate(cases.values())]
    config = {
        "name": "m",
        "layers": [layer for part in parts for layer in part["layers"]],
        "input_layers": [ref for part in parts for ref in input_references(part)],
        "output_layers": [ref for part in parts for ref in references(part["output_layers"])],
    }
    return built({"class_name": "Functional", "config": config}, {}, facts()["version"])


def input_references(part: dict[str, Any]) -> list[Any]:
    stored = part["input_layers"]
    return list(stored.values()) if isinstance(stored, dict) else references(stored)


def difference(result: Any, expected: Any) -> str:
    """What differs; empty if nothing does."""
    if result.dtype != expected.dtype:
        return f"the type {result.dtype}, expected {expected.dtype}"
    if result.shape != expected.shape:
        return f"the shape {result.shape}, expected {expected.shape}"
    rtol, atol = (2e-3, 2e-3) if expected.dtype == np.float16 else (2e-5, 3e-6)
    if np.allclose(result, expected, rtol=rtol, atol=atol, equal_nan=True):
        return ""
    return f"{result.ravel()[:4]}…, expected {expected.ravel()[:4]}…"
