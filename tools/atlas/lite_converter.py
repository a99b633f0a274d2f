"""Record which ops the TensorFlow Lite converter of a release turns into builtins.

    python tools/atlas/lite_converter.py RELEASE PYTHON [OP…]

PYTHON is an interpreter that has this TensorFlow release. The models are recorded cases of the tests: one
node with at least one input that is fed, its other integers constant and all sizes known. Ops that no single
node shows, such as those of loops and tables, are taken from the SavedModels of the tests that convert. The
answers are kept in `src/tfport/atlas/lite/converter.json`, a letter for each release, by op and types:

- `b`: builtins compute it
- `c`: it stays as it is, a custom op, or a Flex op where the allow-list has it
- `m`: some cases of these types are builtins and others are not
- `e`: the converter fails
- `-`: the release does not have the op
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

import numpy as np
from tests.recorded_models import graph
from tests.runtime.cases import Case

import tfport
from tfport.atlas.lite.converter import STRUCTURE
from tfport.formats.files import Folder
from tfport.formats.lite.read import read_lite
from tfport.formats.lite.records import LiteFile
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.build import graph_to_def
from tfport.graph.dtypes import DType
from tfport.graph.reach import called_by, needed_by

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "src/tfport/atlas/lite/converter.json"
PROBE = Path(__file__).with_name("lite_converter_probe.py")
SKIPPED = "not in this release"
TYPES = ["float32", "int32", "int64", "string", "bool", "uint8", "float16", "int8", "complex64", "float64"]
MOST_TYPES, MOST_CASES = 6, 2
"""For each op, and for each of its types."""
WHOLE = ("keras_lstm", "loops_v2", "tensor_lists")
OUTPUT = re.compile(r"c(\d+)_")
MODELS = [
    ROOT / "examples/attention",
    *(ROOT / "tests/models" / name for name in ("keras_lstm", "loops_v2", "tensor_lists")),
]
ANY = "any"
NORMALIZATIONS = {
    "FusedBatchNorm": "T=float32 is_training=false",
    "FusedBatchNormV2": "T=float32 U=float32 is_training=false",
    "FusedBatchNormV3": "T=float32 U=float32 is_training=false",
}
Key = tuple[str, str]
"""An op, and its types as `T=float32 Tidx=int32`."""


def cases_by_types() -> dict[Key, list[Case]]:
    """The recorded cases of single nodes, by op and types."""
    groups: dict[Key, list[Case]] = defaultdict(list)
    for path in sorted((ROOT / "tests/runtime/ops").rglob("test_*.py")):
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for case in getattr(module, "CASES", ()):
            if isinstance(case, Case) and not (case.text or case.fails or case.says) and not _is_empty(case):
                groups[case.op, _types(case)].append(case)
    return groups


def _is_empty(case: Case) -> bool:
    arrays = (array for value in case.inputs for array in (value if isinstance(value, list) else [value]))
    return any(np.size(array) == 0 for array in arrays)


def _types(case: Case) -> str:
    attrs = sorted(case._attributes().items())
    return " ".join(f"{name}={value}" for name, value in attrs if isinstance(value, DType))


def chosen_cases() -> Iterator[tuple[Key, Case]]:
    """A few cases of each op: float32 first."""
    used: dict[str, int] = defaultdict(int)
    groups = cases_by_types()
    for op, types in sorted(groups, key=lambda key: (key[0], "float32" not in key[1], key[1])):
        if used[op] < MOST_TYPES and all(part.split("=")[1] in TYPES for part in types.split()):
            used[op] += 1
            yield from (((op, types), case) for case in groups[op, types][:MOST_CASES])


def inference_cases() -> Iterator[tuple[Key, pb.GraphDef]]:
    """Batch normalization as trained models have it: with constant statistics, and only its first result."""
    for op, types in NORMALIZATIONS.items():
        attrs = ", ".join(types.split())
        text = f"""
in0 = Placeholder() {{dtype=float32, shape=(1, 4, 4, 3)}}
scale = Const() {{dtype=float32, value=float32(3)[2, 3, 4]}}
norm = {op}(in0, scale, scale, scale, scale) {{{attrs}}}
node = Identity(norm) {{T=float32}}
"""
        yield (op, types), graph_to_def(graph(text))


def graph_of(case: Case) -> pb.GraphDef | None:
    """The graph with an input that is fed; None if an input is a resource or variant."""
    graph, _ = case.model("static")
    is_fed = any(node.op == "Placeholder" for node in graph.node)
    for node in graph.node:
        if node.name == "in0" and node.op == "Const" and not is_fed:
            shape = node.attr["value"].tensor.tensor_shape
            node.attr["shape"].shape.CopyFrom(shape)
            node.op = "Placeholder"
            del node.attr["value"]
        if node.attr["dtype"].type in (pb.DT_RESOURCE, pb.DT_VARIANT):
            return None
    return graph


def answers(out: Path, keys: list[Key]) -> dict[Key, str]:
    """A letter for each op and its types."""
    letters: dict[Key, set[str]] = defaultdict(set)
    for number, error in json.loads((out / "errors.json").read_text()).items():
        letters[keys[int(number)]].add("-" if error == SKIPPED else "e")
    for path in sorted(out.glob("*.tflite")):
        for number, letter in _converted(read_lite(Folder(out), path.name), keys):
            letters[keys[number]].add(letter)
    return {key: next(iter(seen)) if len(seen) == 1 else "m" for key, seen in letters.items()}


def _converted(file: LiteFile, keys: list[Key]) -> Iterator[tuple[int, str]]:
    """The cases of a file, and what became of each."""
    graph = file.subgraphs[0]
    producers = {index: operator for operator in graph.operators for index in operator.outputs}
    ends: dict[int, list[int]] = defaultdict(list)
    for index in graph.outputs:
        if match := OUTPUT.match(graph.tensors[index].name):
            ends[int(match[1])].append(index)
    for number, left in ends.items():
        names, seen = set(), set()
        while left:
            operator = producers.get(left.pop())
            if operator is not None and id(operator) not in seen:
                seen.add(id(operator))
                names.add(operator.code.custom)
                left += [index for index in operator.inputs if index >= 0]
        yield number, "c" if keys[number][0] in names else "b"


def record(release: str, letters: dict[Key, str]) -> None:
    """Add the answers of a release, in the order of releases."""
    stored = json.loads(RECORD.read_text()) if RECORD.exists() else {"releases": [], "ops": {}}
    columns = {
        name: {(op, types): row[i] for op, rows in stored["ops"].items() for types, row in rows.items()}
        for i, name in enumerate(stored["releases"])
    }
    columns[release] = {**columns.get(release, {}), **letters}
    releases = sorted(columns, key=lambda name: [int(part) for part in name.split(".")])
    ops: dict[str, dict[str, str]] = {}
    for op, types in sorted({key for column in columns.values() for key in column}):
        row = "".join(columns[name].get((op, types), "?") for name in releases)
        ops.setdefault(op, {})[types] = row
    lines = [f'"{op}": {json.dumps(rows, separators=(",", ":"))}' for op, rows in ops.items()]
    RECORD.write_text(f'{{"releases": {json.dumps(releases)}, "ops": {{\n' + ",\n".join(lines) + "\n}}\n")


def whole_models(python: str, folder: Path) -> dict[Key, str]:
    """The ops of SavedModels that convert, where no case of one node shows them; their types do not count."""
    letters: dict[Key, str] = {}
    shown = {op for op, _ in cases_by_types()}
    for path in MODELS:
        out = folder / f"{path.name}.tflite"
        done = subprocess.run([python, str(PROBE), "--saved-model", str(path), str(out)], cwd=folder)
        if done.returncode:
            continue
        model = tfport.load(str(path))
        ends = [value.node for s in model.signatures.values() for value in model.ends_of(s)]
        needed = needed_by(ends)
        functions = called_by(needed)
        nodes = {node.op for part in (needed, *functions.values()) for node in part} - set(functions)
        kept = {code.custom for code in read_lite(Folder(folder), out.name).operator_codes}
        for op in nodes - shown - STRUCTURE:
            letters[op, ANY] = "c" if op in kept or letters.get((op, ANY)) == "c" else "b"
    return letters


def main(release: str, python: str, *ops: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        cases, out = Path(folder, "cases"), Path(folder, "out")
        cases.mkdir()
        out.mkdir()
        keys: list[Key] = []
        for key, case in chosen_cases():
            if (not ops or key[0] in ops) and (made := graph_of(case)) is not None:
                (cases / f"{len(keys)}.pb").write_bytes(made.SerializeToString())
                keys.append(key)
        for key, made in inference_cases():
            (cases / f"{len(keys)}.pb").write_bytes(made.SerializeToString())
            keys.append(key)
        subprocess.run([python, str(PROBE), str(cases), str(out)], check=True, cwd=folder)
        letters = answers(out, keys)
        record(release, letters if ops else {**letters, **whole_models(python, Path(folder))})


if __name__ == "__main__":
    main(*sys.argv[1:])
