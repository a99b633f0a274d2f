"""Record the real interpreter's answers to the cases in `tests/frontends/lite`.

    python -m tests.live.record_lite [FAMILY…]      from the root of the repository; default: all

A family is a file `test_FAMILY.py` below `tests/frontends/lite` with a table `CASES`. Cases that are already
recorded are not run again. The interpreter is TensorFlow's, or that of ai-edge-litert if it is installed too:
some cases need its features. Each case runs in a process of its own with the reference kernels and with the
optimized ones, both without delegates, and twice; `tests/frontends/lite/cases.py` says what is
recorded of that. Floats that differ between the kernels are printed, and so are cases that fail or answer
against their `fails`.
"""

from __future__ import annotations

import importlib
import os
import pickle
import re
import sys
import warnings
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

try:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError:
    Interpreter, OpResolverType = tf.lite.Interpreter, tf.lite.experimental.OpResolverType
from tests.frontends.lite.cases import AGAIN, OPTIMIZED, LiteCase
from tests.runtime.answers import recorded_answers, write_answers

warnings.filterwarnings("ignore", message=".*tf.lite.Interpreter is deprecated")
ROOT = Path(__file__).parents[2]
REFERENCE, OPTIMIZED_ONES = OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES


def families() -> dict[str, str]:
    """The modules with tables of cases, by family."""
    modules = {}
    for file in sorted(ROOT.glob("tests/frontends/lite/**/test_*.py")):
        checked = re.search(r'\bcheck\("(\w+)", c\)', text := file.read_text())
        if "\nCASES" in text and checked:
            modules[checked[1]] = ".".join(file.relative_to(ROOT).with_suffix("").parts)
    return modules


def answer(c: LiteCase, resolver: Any) -> Any:
    """The answer to a case: arrays, or the first line of the error."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        with os.fdopen(write, "wb") as file:
            pickle.dump(_run(c, resolver), file)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else "the interpreter ended the process"


def _run(c: LiteCase, resolver: Any) -> Any:
    try:
        interpreter = Interpreter(model_content=c.model, experimental_op_resolver_type=resolver)
        interpreter.allocate_tensors()
        return [_invoked(interpreter, c.feeds) for _ in range(2)]
    except (ValueError, RuntimeError) as error:
        return (str(error).splitlines() or [type(error).__name__])[0][:300]


def _invoked(interpreter: Any, feeds: list[Any]) -> list[Any]:
    for detail, array in zip(interpreter.get_input_details(), feeds, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [_plain(interpreter.get_tensor(d["index"])) for d in interpreter.get_output_details()]


def _plain(array: Any) -> Any:
    return array.astype(object) if array.dtype.kind == "S" else array


def answers(c: LiteCase, family: str) -> dict[str, Any]:
    """What is recorded for a case."""
    optimized = answer(c, OpResolverType.AUTO if c.delegated else OPTIMIZED_ONES)
    reference = optimized if c.optimized or c.delegated else answer(c, REFERENCE)
    if isinstance(reference, str):
        if isinstance(optimized, str):
            return {c.name: reference}
        print(f"{family}: {c}: only the optimized kernels run it; the reference kernels say: {reference}")
        reference = optimized
    (first, second), more = reference, {}
    if not all(_same(a, b) for a, b in zip(first, second, strict=True)):
        more[AGAIN + c.name] = second
    if isinstance(optimized, str):
        print(f"{family}: {c}: only the reference kernels run it; the optimized kernels say: {optimized}")
    elif others := _others(c, family, first, optimized[0]):
        more[OPTIMIZED + c.name] = others
    return {c.name: first, **more}


def _others(c: LiteCase, family: str, reference: list[Any], optimized: list[Any]) -> list[Any]:
    """The integers of the optimized kernels where they differ, None elsewhere; empty if all are the same."""
    others = []
    for a, b in zip(reference, optimized, strict=True):
        if a.dtype.kind == "f" and not (a.shape == b.shape and np.allclose(a, b, 1e-5, 1e-6, equal_nan=True)):
            print(f"{family}: {c}: {c.op} {c.options}: reference {a}, optimized {b}")
        others.append(b if a.dtype.kind in "iu" and not _same(a, b) else None)
    return others if any(other is not None for other in others) else []


def _same(a: Any, b: Any) -> bool:
    if a.dtype == object:
        return bool(a.shape == b.shape and a.tolist() == b.tolist())
    return bool(a.shape == b.shape and a.tobytes() == b.tobytes())


def _release() -> str:
    """Who answered."""
    litert = [d.version for d in distributions() if d.name == "ai-edge-litert"]
    return ", ".join([tf.__version__, *(f"ai-edge-litert {version}" for version in litert)])


def main(names: list[str]) -> None:
    modules = families()
    for family in names or modules:
        cases: list[LiteCase] = importlib.import_module(modules[family]).CASES
        before = recorded_answers(f"lite_{family}")
        recorded: dict[str, Any] = {}
        for c in cases:
            known = {
                key: before[key] for key in (c.name, OPTIMIZED + c.name, AGAIN + c.name) if key in before
            }
            recorded.update(known or answers(c, family))
            if isinstance(recorded[c.name], str) != c.fails:
                result = recorded[c.name] if isinstance(recorded[c.name], str) else "answers"
                print(f"{family}: {c}: {c.op} {c.options}: {result}")
        if recorded.keys() != before.keys():
            write_answers(f"lite_{family}", recorded, _release())
            print(f"recorded {family}: {len(cases)} cases")


if __name__ == "__main__":
    main(sys.argv[1:])
