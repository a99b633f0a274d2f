"""Read the tables of `cases/` and expand each row into cases, one for each place of the problem.

A case is a graph in the notation of `tfport.graph.text`, plus what else its SavedModel
contains. Its inputs become placeholders of the same name: `inputs.x = "float32(2,)[1, 2]"`
gives the dtype, the shape and the value to feed. A row with `body` (from x to y) becomes
one case for each of its `places`; a row with `each` becomes one case for each of these texts, which
stand in its `$T`. A tensor with one element repeats it, and one without elements has zeros:
`float32(2, 3)[1]`, `string(2,)[]`. `make_models` writes the cases to disk.
"""

import math
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CASES = Path(__file__).with_name("cases")
INPUT = {"x": "float32(2, 2)[1, 2, 3, 4]"}
SHORT_TENSOR = re.compile(r"(?<![$\w])(\w+)\(([\d, ]*)\)\[([^\[\],]*)\]")
ZEROS = {"string": '""', "bool": "false"}


@dataclass(frozen=True)
class Case:
    """One row of a table."""

    name: str
    about: str
    graph: str
    inputs: dict[str, str] = field(default_factory=lambda: INPUT)
    outputs: list[str] = field(default_factory=lambda: ["y"])
    other_signature: dict = field(default_factory=dict)
    signature_types: dict[str, str] = field(default_factory=dict)
    placeholder: str = "Placeholder"
    tags: list[str] = field(default_factory=lambda: ["serve"])
    meta: str = ""
    """Text of a MetaGraphDef that is merged into the generated one."""
    wiring: dict[str, list[str]] = field(default_factory=dict)
    """Inputs of nodes to write to the file, valid or not; `f/n` is node n of function f."""
    rename: dict[str, str] = field(default_factory=dict)
    main_op: str = ""
    legacy_init_op: str = ""
    init_signature: str = ""
    saver: bool = False
    saver_file: str = "save/file:0"
    checkpoint: dict[str, str] = field(default_factory=dict)
    assets: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    remove: list[str] = field(default_factory=list)
    cut: dict[str, int] = field(default_factory=dict)
    """Files to truncate to this many bytes."""
    flip: dict[str, int] = field(default_factory=dict)
    """Files in which to change the byte at this offset."""


def cases() -> list[Case]:
    tables = [tomllib.loads(path.read_text()) for path in sorted(CASES.glob("*.toml"))]
    rows = {name: row for table in tables for name, row in table.items()}
    return [case for name, row in rows.items() for case in expand(name, complete(row, rows))]


def complete(row: dict, rows: dict[str, dict]) -> dict:
    """Return a row completed with the values of the row it is like."""
    like = rows[row["like"]] if "like" in row else {}
    return {key: filled(value) for key, value in (like | row).items() if key != "like"}


def filled(value: Any) -> Any:
    """Write out the elements of tensors, in a text or in a table of texts."""
    if isinstance(value, dict):
        return {key: filled(text) for key, text in value.items()}
    return SHORT_TENSOR.sub(all_elements, value) if isinstance(value, str) else value


def all_elements(match: re.Match) -> str:
    dtype, shape, element = match.groups()
    count = math.prod(int(size) for size in shape.split(",") if size.strip())
    return f"{dtype}({shape})[{', '.join([element or ZEROS.get(dtype, '0')] * count)}]"


def expand(name: str, row: dict) -> Iterator[Case]:
    """Yield the cases of a row: one, or one for each text and place."""
    if "each" in row:
        for text in row["each"]:
            yield from expand(f"{name}_{text.lower()}", substituted(row, text))
        return
    if "body" not in row:
        yield Case(name, **row)
        return
    rest = {k: v for k, v in row.items() if k not in ("body", "places", "result", "about")}
    inputs, result = row.get("inputs", INPUT), row.get("result", "float32")
    for place in row["places"]:
        where, graph, more = PLACES[place](row["body"].strip(), inputs["x"], result)
        answer = {"outputs": ["answer"]} | more
        yield Case(f"{name}.{place}", f"{row['about']}; {where}", graph=graph, **(answer | rest))


def substituted(row: dict, text: str) -> dict:
    """Return a row without `each`, with a text in place of `$T`."""
    return {
        key: filled(value.replace("$T", text)) if isinstance(value, str) else value
        for key, value in row.items()
        if key != "each"
    }


def in_main(body: str, x: str, result: str) -> tuple[str, str, dict]:
    return "on the path of the signature", f"{body}\nanswer = Identity(y) {{T={result}}}", {}


def dead(body: str, x: str, result: str) -> tuple[str, str, dict]:
    return "in the main graph, needed by nothing", f"{untouched(x)}\n{body}", {}


def called(body: str, x: str, result: str) -> tuple[str, str, dict]:
    call = f"call = body(x)\nanswer = Identity(call) {{T={result}}}"
    return "in a function that the signature calls by its name", call + function(body, x, result), {}


def partitioned(body: str, x: str, result: str) -> tuple[str, str, dict]:
    call = f"call = {call_of('body', x, result)}\nanswer = Identity(call) {{T={result}}}"
    return "in a function that the signature calls", call + function(body, x, result), {}


def nested(body: str, x: str, result: str) -> tuple[str, str, dict]:
    call = f"call = {call_of('outer', x, result)}\nanswer = Identity(call) {{T={result}}}"
    outer = function(f"y = {call_of('body', x, result)}", x, result, "outer")
    return "in a function that a function calls", call + outer + function(body, x, result), {}


def dead_call(body: str, x: str, result: str) -> tuple[str, str, dict]:
    call = f"{untouched(x)}\ncall = {call_of('body', x, result)}"
    return "in a function that only a dead node calls", call + function(body, x, result), {}


def uncalled(body: str, x: str, result: str) -> tuple[str, str, dict]:
    return "in a function that nothing calls", untouched(x) + function(body, x, result), {}


def at_init(body: str, x: str, result: str) -> tuple[str, str, dict]:
    constant = f"init/x = Const() {{dtype={kind(x)}, value={x}}}"
    call = f"init/call = {call_of('body', x, result, 'init/x')}\ninit = NoOp(^init/call)"
    graph = f"{untouched(x)}\n{constant}\n{call}" + function(body, x, result)
    return "in a function that the init op calls", graph, {"main_op": "init"}


PLACES = {
    "main": in_main, "dead": dead, "called": called, "partitioned": partitioned, "nested": nested,
    "dead_call": dead_call, "uncalled": uncalled, "init": at_init,
}  # fmt: skip


def untouched(x: str) -> str:
    return f"answer = Identity(x) {{T={kind(x)}}}"


def kind(tensor: str) -> str:
    """Return the dtype of a tensor in the notation."""
    return tensor.partition("(")[0]


def call_of(name: str, x: str, result: str, value: str = "x") -> str:
    return f"StatefulPartitionedCall({value}) {{f=@{name}, Tin=[{kind(x)}], Tout=[{result}]}}"


def function(body: str, x: str, result: str, name: str = "body") -> str:
    lines = "\n".join(f"  {line}" for line in body.splitlines())
    return f"\n\ndef {name}(x: {kind(x)}) -> (r: {result}):\n{lines}\n  return r=y\n"
