"""Record what releases of TensorFlow.js run: asked of the real npm packages, in Node.

    python tools/atlas/tfjs_releases.py VERSION… [OP…]       all ops, or these

For each release: the ops of its converter package (`dist/operations/op_list`), its Keras classes, the
kernels that each backend registers (`tf.getKernelsForBackend`), and for each op the kernels that it calls
and whether it answers as TensorFlow does, on the recorded cases of the tests: one node with its inputs.
They run on the backend `cpu`, which has the most kernels; those that are right there run on `wasm`, where
some types have other answers. A case that is not right is asked again in a new process, since a kernel of
wasm that writes beyond its memory breaks what follows; not one without a kernel, because starting a process
takes longer than all else. A table is looked up in two calls. The facts are kept in
`src/tfport/atlas/tfjs/releases.json`; `tfport.atlas.tfjs.releases` says how to read them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools/tfjs")]

import numpy as np  # noqa: E402
from node import ENDED, NodeProcess, TfjsFailure, installed  # noqa: E402
from tests.recorded_models import OPS, graph  # noqa: E402
from tests.runtime.answers import recorded_answers  # noqa: E402
from tests.runtime.cases import Case, cases_of, families  # noqa: E402

import tfport  # noqa: E402
from tfport.atlas.tfjs.releases import FORGETS, WRONG  # noqa: E402
from tfport.graph.attrs import Attr  # noqa: E402
from tfport.graph.build import graph_to_def  # noqa: E402
from tfport.graph.dtypes import DType  # noqa: E402
from tfport.graph.model import MAIN_OP  # noqa: E402
from tfport.graph.save import as_saved_model  # noqa: E402
from tfport.graph.save_tfjs import save_tfjs  # noqa: E402

RECORD = ROOT / "src/tfport/atlas/tfjs/releases.json"
PROBE = Path(__file__).with_name("tfjs_probe.cjs")
RTOL, ATOL = 2e-3, 1e-4
HALF = 2e-2
RIGHT, FAILS = "right", "fails"
NO_KERNEL = "not registered for backend"
"""What the error of a missing kernel says: nothing ran."""


def listed(version: str) -> dict[str, Any]:
    """The ops of the converter, the kernels of each backend, and its ops that answer numbers for NaN."""
    done = subprocess.run(
        ["node", str(PROBE), str(installed(version))], check=True, capture_output=True, text=True
    )
    facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return facts


def cases(ops: set[str]) -> Iterator[tuple[Case, list[Any]]]:
    """The recorded cases of single nodes of these ops, with TensorFlow's answers."""
    for family in families():
        answers = recorded_answers(family)
        for case in cases_of(family):
            if case.op in ops and not case.text and not case.fails and not case.says:
                answer = answers.get(case.name)
                if isinstance(answer, list):
                    yield case, answer


def only_usual(case: Case, expected: list[Any]) -> list[Any] | None:
    """The answers where they are finite: what wasm makes of others does not decide what it supports.

    None for empty answers, and for integers that follow from numbers which are not finite.
    """
    arrays = [part for array in expected if array is not None for part in _parts(array)]
    if not any(map(np.size, arrays)):
        return None
    if all(_is_finite(np.asarray(part)) for given in case.inputs for part in _parts(given)):
        return expected
    if not all(np.asarray(array).dtype.kind == "f" for array in arrays):
        return None
    masked = [np.ma.masked_invalid(array) for array in arrays]
    return masked if all(array.count() for array in masked) else None


def _parts(given: Any) -> list[Any]:
    """The arrays of an input that may be a list."""
    return given if isinstance(given, list) else [given]


def _is_finite(array: Any) -> bool:
    return array.dtype.kind in "OSU" or bool(np.isfinite(array.astype(np.complex128)).all())


def written(case: Case, folder: Path) -> tuple[dict[str, Any], list[str]] | None:
    """Write a case as a TensorFlow.js model; its feeds and fetches, or None if the numbers do not fit."""
    graph, feeds = case.model("engine")
    outputs = case.outputs()
    try:
        save_tfjs(as_saved_model(tfport.load(graph.SerializeToString()), outputs, list(feeds)), folder)
    except tfport.Error:
        return None
    return {name.partition(":")[0]: array for name, array in feeds.items()}, outputs


def is_same(ours: Any, theirs: Any) -> bool:
    if theirs is None:
        return True
    if isinstance(theirs, np.ma.MaskedArray) and theirs.shape == ours.shape:
        ours, theirs = ours[~theirs.mask], theirs.compressed()
    theirs = np.asarray(theirs)
    if theirs.shape != ours.shape:
        return False
    if theirs.dtype.kind == "O" or ours.dtype.kind == "O":
        return bool(ours.tolist() == theirs.tolist())
    if theirs.dtype.kind in "iub":
        return bool(np.array_equal(ours.astype(np.float64), theirs.astype(np.float64)))
    rtol = HALF if theirs.dtype.itemsize == 2 else RTOL
    kind = np.complex128 if theirs.dtype.kind == "c" else np.float64
    return bool(np.allclose(ours.astype(kind), theirs.astype(kind), rtol=rtol, atol=ATOL, equal_nan=True))


def asked(
    node: NodeProcess, path: Path, feeds: dict[str, Any], fetches: list[str], expected: list[Any]
) -> Any:
    """What became of a case, the kernels that ran, and the error."""
    try:
        outputs, kernels = node.run(path, feeds, fetches)
    except TfjsFailure as failure:
        return FAILS, [], str(failure)
    except tfport.Error:
        return None
    same = len(outputs) == len(expected) and all(map(is_same, outputs, expected))
    return (RIGHT if same else WRONG), kernels, ""


# What the cases of a release say about its ops.

OUTPUT_MISSING = "Cannot read properties of undefined"
"""What the executor says about an output that it does not have."""
RANDOM = ("Random", "Multinomial", "TruncatedNormal")
PLUGIN = "tfdf"
"""The category of ops that another package implements."""


OTHER_SIZES = ("bool", "string")
"""Types of elements that are not four bytes long: wasm reads other memory, which may be right by chance."""
SIZES = ("ksize",)
"""Attributes of several numbers that may decide whether an answer is right."""
OWN_TYPES = {"float32", "int32", "bool", "string", "complex64", "int64"}


class OpFacts:
    """What the cases of an op show in one release."""

    def __init__(self) -> None:
        self.kernels: set[str] | None = None
        """Those that all of its right cases call."""
        self.errors: list[str] = []
        self.right: set[str] = set()
        """The names of its right cases."""
        self.outcomes: set[str] = set()
        self.values: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        """The outcomes of the cases with each value of an attribute: `right`, `wrong`, or an error."""
        self.outputs: int | None = None
        """How many outputs it has, if fewer than in TensorFlow."""

    def add(self, case: str, attrs: dict[str, Attr], outcome: str, kernels: list[str], error: str) -> None:
        self.outcomes.add(outcome)
        if outcome == RIGHT:
            self.right.add(case)
            self.kernels = set(kernels) if self.kernels is None else self.kernels & set(kernels)
        self.errors += [error] if error else []
        for name, value in attrs.items():
            if isinstance(value, DType | str | bytes | bool) or name in SIZES:
                text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
                self.values[name][text].add(error if outcome == FAILS else outcome)

    @property
    def refused(self) -> dict[str, list[str]]:
        """The values of attributes for which no case is right, although one with another value is.

        Numbers of a type may be wrong at the edges of it; then only an error counts, and only one that
        the types which work do not have in other cases.
        """
        found = {}
        for name, values in self.values.items():
            right = [outcomes for outcomes in values.values() if RIGHT in outcomes]
            about_others = {WRONG}.union(*right)
            is_type = not OWN_TYPES.isdisjoint(values)
            bad = [
                value
                for value, outcomes in values.items()
                if RIGHT not in outcomes and (outcomes - about_others or not is_type or value == "bool")
            ]
            if right and bad and (is_type or not any(len(value) > 8 for value in values)):
                found[name] = sorted(bad)
        return found

    def refused_here(self, cpu: OpFacts) -> dict[str, list[str]]:
        """The values for which no case is right, although one is on the backend cpu."""
        found = {}
        for name, values in self.values.items():
            bad = [
                v for v, outcomes in values.items() if RIGHT not in outcomes and RIGHT in cpu.values[name][v]
            ]
            if bad and RIGHT in self.outcomes:
                found[name] = sorted(bad)
        return found

    def problem_here(self, cpu: OpFacts) -> str:
        """Why no case is right although one is on the backend cpu, and all kernels are there."""
        if RIGHT not in cpu.outcomes or any(NO_KERNEL in error for error in self.errors):
            return ""
        return WRONG if self.problem and WRONG in self.outcomes else self.problem

    @property
    def problem(self) -> str:
        """Why no case is right: an error, or nothing but other answers; empty if one is."""
        if RIGHT in self.outcomes or not self.outcomes:
            return ""
        return self.errors[0] if FAILS in self.outcomes else WRONG


def share_refusals(entry: dict[str, Any], facts: OpFacts, others: Iterable[dict[str, Any]]) -> None:
    """Refuse on wasm what an op was not tried with, and another one that calls the same kernel refuses."""
    (kernel, *more), known = entry.get("kernels") or [""], entry.setdefault("wasm", {})
    for other in others if kernel and not more else ():
        for name, values in other.get("wasm", {}).items() if other.get("kernels") == [kernel] else ():
            if name in facts.values:
                new = [v for v in values if v in OTHER_SIZES and v not in facts.values[name]]
                known[name] = sorted({*known.get(name, ()), *new})
    entry["wasm"] = {name: values for name, values in known.items() if values}
    if not entry["wasm"]:
        del entry["wasm"]


def facts_of(
    version: str, backend: str, ops: set[str], folder: Path, on_cpu: Mapping[str, OpFacts] | None = None
) -> dict[str, OpFacts]:
    """Run the cases of these ops in a release; those that are right on the backend cpu, if it is given."""
    node, found = NodeProcess(version, backend), defaultdict[str, OpFacts](OpFacts)
    for number, (case, expected) in enumerate(cases(ops)):
        if on_cpu is not None and (case.op not in on_cpu or case.name not in on_cpu[case.op].right):
            continue
        path = folder / f"{version}-{backend}-{number}"
        if case.op.startswith(RANDOM) or (inputs := written(case, path)) is None:
            continue
        if backend == "wasm" and (expected := only_usual(case, expected)) is None:
            continue
        facts, (feeds, fetches) = found[case.op], inputs
        answer = asked(node, path / "model.json", feeds, fetches, expected)
        is_odd = answer is not None and answer[0] != RIGHT and NO_KERNEL not in answer[2]
        if is_odd and (backend == "wasm" or answer[2] == ENDED):  # perhaps other programs slowed it
            node.close()
            answer = asked(node, path / "model.json", feeds, fetches, expected)
            node.close()
        if answer is not None and answer[2].startswith(OUTPUT_MISSING) and len(fetches) > 1:
            count = next(n for n in range(len(fetches), -1, -1) if _has(node, path, feeds, fetches[:n]))
            facts.outputs = min(count, facts.outputs or count) or None
            answer = asked(node, path / "model.json", feeds, fetches[:count], expected[:count])
        if number % 100 == 0:
            print(version, backend, number, "cases", file=sys.stderr, flush=True)
        if answer is not None:
            facts.add(case.name, OPS.get(case.op).with_defaults(case._attributes()), *answer)
    node.close()
    return found


def _has(node: NodeProcess, path: Path, feeds: dict[str, Any], fetches: list[str]) -> bool:
    """Whether TensorFlow.js answers with these outputs; it does with none."""
    if not fetches:
        return True
    answer = asked(node, path / "model.json", feeds, fetches, [None] * len(fetches))
    return answer is not None and not answer[2].startswith(OUTPUT_MISSING)


TABLE = """
t = HashTable{v}() {{key_dtype=int64, value_dtype=float32}}
k = Const() {{dtype=int64, value=int64(2)[5, 6]}}
v = Const() {{dtype=float32, value=float32(2)[1, 2]}}
i = LookupTableImport{v}(t, k, v) {{Tin=int64, Tout=float32}}
x = Placeholder() {{dtype=int64, shape=(?)}}
d = Const() {{dtype=float32, value=float32()[0]}}
y = LookupTableFind{v}(t, x, d) {{Tin=int64, Tout=float32}}
"""


def forgotten(version: str, folder: Path) -> Iterator[str]:
    """The ops of tables that are right in the first call of a model, and empty in the second."""
    for suffix in ("", "V2"):
        table = tfport.load(graph_to_def(graph(TABLE.format(v=suffix))).SerializeToString())
        model = as_saved_model(table, ["y:0"], ["x:0"])
        model.meta.collection_def[MAIN_OP].node_list.value.append("i")
        save_tfjs(model, folder / f"table{suffix}")
        node, call = (
            NodeProcess(version),
            (folder / f"table{suffix}/model.json", {"x": np.int64([6, 7])}, ["y"]),
        )
        first, second = (node.run(*call)[0][0].tolist() for _ in range(2))
        node.close()
        assert first == [2, 0], first
        if second != first:
            yield f"HashTable{suffix}"


def main(*words: str) -> None:
    versions = [word for word in words if word[0].isdigit()]
    chosen = set(words) - set(versions)
    releases: dict[str, Any] = json.loads(RECORD.read_text())["releases"] if RECORD.exists() else {}
    for version in versions:
        lists = listed(version)
        every = {op for op, category in lists["ops"].items() if category != PLUGIN}
        ops = every & chosen if chosen else every
        with tempfile.TemporaryDirectory() as folder:
            facts = facts_of(version, "cpu", ops, Path(folder))
            on_wasm = facts_of(version, "wasm", ops, Path(folder), facts)
            forget = set(forgotten(version, Path(folder)))
        entries: dict[str, Any] = dict(releases[version]["ops"]) if chosen else {}
        for op in sorted(ops):
            of_op, here = facts.get(op, OpFacts()), on_wasm.get(op, OpFacts())
            entry = {
                "kernels": sorted(of_op.kernels or ()),
                "refused": of_op.refused,
                "wasm": here.refused_here(of_op),
                "wasm_problem": here.problem_here(of_op),
                "outputs": of_op.outputs,
                "problem": FORGETS if op in forget else of_op.problem,
            }
            entries[op] = {name: value for name, value in entry.items() if value}
        for op in sorted(ops):
            share_refusals(entries[op], facts.get(op, OpFacts()), entries.values())
        kept = {name: lists[name] for name in ("kernels", "layers", "numbersForNan")}
        releases[version] = {**kept, "ops": entries}
        _keep(releases)


def _keep(releases: dict[str, Any]) -> None:
    """Write the record, after each release, as a whole."""
    ordered = dict(sorted(releases.items(), key=lambda item: [int(part) for part in item[0].split(".")]))
    new = RECORD.with_suffix(".new")
    new.write_text(json.dumps({"releases": ordered}, indent=0, separators=(",", ":")) + "\n")
    new.replace(RECORD)


if __name__ == "__main__":
    main(*sys.argv[1:])
