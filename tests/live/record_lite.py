"""Record the real interpreter's answers to the cases in `tests/lite`.

    python -m tests.live.record_lite [FAMILY…]      from the root of the repository; default: all

A family is a file `test_FAMILY.py` below `tests/lite` with a table `CASES`. Cases that are already
recorded are not run again. Each case runs in a process of its own with the reference kernels and with the
optimized ones, both without delegates; the answer of the reference kernels is recorded, and a difference
between both is printed.
"""

from __future__ import annotations

import importlib
import os
import pickle
import re
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf
from tests.lite.cases import LiteCase
from tests.runtime.answers import recorded_answers, write_answers

ROOT = Path(__file__).parents[2]
KINDS = tf.lite.experimental.OpResolverType
REFERENCE, OPTIMIZED = KINDS.BUILTIN_REF, KINDS.BUILTIN_WITHOUT_DEFAULT_DELEGATES


def families() -> dict[str, str]:
    """The modules with tables of cases, by family."""
    modules = {}
    for file in sorted(ROOT.glob("tests/lite/**/test_*.py")):
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
        interpreter = tf.lite.Interpreter(model_content=c.model, experimental_op_resolver_type=resolver)
        inputs = interpreter.get_input_details()
        interpreter.allocate_tensors()
        for detail, array in zip(inputs, c.feeds, strict=True):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        return [_plain(interpreter.get_tensor(d["index"])) for d in interpreter.get_output_details()]
    except (ValueError, RuntimeError) as error:
        return (str(error).splitlines() or [type(error).__name__])[0][:300]


def _plain(array: Any) -> Any:
    return array.astype(object) if array.dtype.kind == "S" else array


def _differs(c: LiteCase, reference: Any, optimized: Any) -> bool:
    if isinstance(reference, str) or isinstance(optimized, str):
        return isinstance(reference, str) != isinstance(optimized, str)
    return any(
        a.shape != b.shape or (a.dtype.kind in "iuf" and not np.allclose(a, b, 1e-5, 1e-6, equal_nan=True))
        for a, b in zip(reference, optimized, strict=True)
    )


def main(names: list[str]) -> None:
    modules = families()
    for family in names or modules:
        cases: list[LiteCase] = importlib.import_module(modules[family]).CASES
        before = recorded_answers(f"lite_{family}")
        recorded = {}
        for c in cases:
            if c.name not in before:
                reference, optimized = answer(c, REFERENCE), answer(c, OPTIMIZED)
                if _differs(c, reference, optimized):
                    print(f"{family}: {c}: {c.options}: reference {reference}, optimized {optimized}")
                recorded[c.name] = reference
            else:
                recorded[c.name] = before[c.name]
            if isinstance(recorded[c.name], str) != c.fails:
                result = recorded[c.name] if isinstance(recorded[c.name], str) else "answers"
                print(f"{family}: {c}: {c.op} {c.options}: {result}")
        if recorded.keys() != before.keys():
            write_answers(f"lite_{family}", recorded, tf.__version__)
            print(f"recorded {family}: {len(recorded)} cases")


if __name__ == "__main__":
    main(sys.argv[1:])
