"""Run ops in TensorFlow, each between two marks that strace sees: `op_effects.py` runs this.

    python tools/scan/traced_ops.py OUTCOMES FIRST CASES_PER_OP

Writes one line of JSON per case to the file OUTCOMES; skips the cases before the number FIRST.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # ONNX Runtime, which the tests import, would connect at any time
sys.path.append(str(Path(__file__).parents[2]))

import dataset_effects  # noqa: F401 (declares cases)
import file_effects  # noqa: F401
import other_effects  # noqa: F401
import reader_effects  # noqa: F401
import tensorflow as tf
from effect_case import CASES, EffectCase
from tests.live.record_ops import answer
from tests.live.record_xla_ops import answer as compiled_answer
from tests.runtime.cases import Case, cases_of, families

MARK = "/tfport-mark"
SECONDS = 10
"""A case that takes longer is left alone: those that may are the last, because they go on beside the next."""


@dataclass
class TracedCase:
    """What is run between two marks."""

    kind: str
    """`claimed`: the table says what it does; `harmless`: it says that it does nothing with this path;
    `recorded`: a case of `tests/runtime`."""
    ops: list[str]
    prepare: Callable[[], Callable[[], Any]]


def all_cases(per_op: int) -> Iterator[TracedCase]:
    """Yield the cases of ops with effects, then recorded cases, until each op was in `per_op` of these."""
    waiting = [case for case in CASES if case.waits]
    yield from map(effect, [case for case in CASES if not case.waits])
    yield from recorded(per_op)
    yield from map(effect, waiting)


def effect(case: EffectCase) -> TracedCase:
    kind = "harmless" if case.harmless else "claimed"
    return TracedCase(kind, [case.op], lambda: case.prepare(Path(tempfile.mkdtemp())))


def recorded(per_op: int) -> Iterator[TracedCase]:
    """Yield recorded cases of TensorFlow's answers until each op was in some."""
    seen: Counter[str] = Counter()
    for family in families():
        run = compiled_answer if family == "xla" else answer
        for case in cases_of(family):
            ops = ops_of(case)
            if not (case.fails or case.says) and any(seen[op] < per_op for op in ops):
                seen.update(ops)
                yield TracedCase("recorded", sorted(ops), lambda case=case, run=run: lambda: run(case))


def ops_of(case: Case) -> set[str]:
    graph_def, _ = case.model("fed")
    nodes = [*graph_def.node, *(n for f in graph_def.library.function for n in f.node_def)]
    return {n.op for n in nodes} - {"Placeholder", "Const"}


def run_case(number: int, case: TracedCase) -> str:
    """Run a case between its marks; return how it ended."""
    try:
        action = case.prepare()
    except Exception as error:
        return f"not prepared: {error}"[:300]
    thread = threading.Thread(target=lambda: ended.append(outcome_of(action)), daemon=True)
    ended: list[str] = []
    mark("begin", number)
    thread.start()
    thread.join(SECONDS)
    mark("end", number)
    return ended[0] if ended else f"still running after {SECONDS} seconds"


def outcome_of(action: Callable[[], Any]) -> str:
    try:
        ended = action()
        return ended[:300] if isinstance(ended, str) else "ran"
    except Exception as error:
        return f"failed: {error}"[:300]


def mark(which: str, number: int) -> None:
    os.access(f"{MARK}/{which}/{number}", os.F_OK)


def main(outcomes: str, first: str, per_op: str) -> None:
    os.chdir(tempfile.mkdtemp())
    warm_up()
    with open(outcomes, "a") as file:
        for number, case in enumerate(all_cases(int(per_op))):
            if number >= int(first):
                facts = {"number": number, "kind": case.kind, "ops": case.ops}
                print(json.dumps(facts), file=file, flush=True)
                print(json.dumps({"number": number, "ended": run_case(number, case)}), file=file, flush=True)
    os._exit(0)  # threads may still wait for somebody


def warm_up() -> None:
    """What TensorFlow does once in a process is not what an op does."""
    tf.function(lambda x: x + 1)(tf.constant(1.0))
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        session.run(tf.constant(1.0) + 1)
    tf.function(lambda x: x * 2, jit_compile=True)(tf.constant(1.0))


if __name__ == "__main__":
    main(*sys.argv[1:])
