"""Recurrent layers as loops: WHILE over the steps, with the products of all inputs before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.formats.lite.records import Subgraph
from tfport.runtime.engines.litert.island_node import IslandNode, IslandValue, NotInLite, constant_value
from tfport.runtime.engines.litert.lite_scribe import LiteScribe
from tfport.runtime.engines.litert.rules.elementwise import broadcast, hard_sigmoid
from tfport.runtime.engines.litert.rules.products import gemm
from tfport.runtime.size_expression import Number
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}
USUAL = {"GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"], "RNN": ["Tanh"]}
ACTIVATIONS = {"Relu": "RELU", "Sigmoid": "LOGISTIC", "Tanh": "TANH"}
HARD_SIGMOID = "HardSigmoid"
OPS = tuple(GATES)
Activation = Callable[[LiteScribe, IslandValue], IslandValue]


@dataclass(frozen=True, slots=True)
class Direction:
    """The weights of one direction; the inputs are multiplied before the loop."""

    op: str
    weights: NDArray[Any]
    recurrent: NDArray[Any]
    input_bias: NDArray[Any]
    recurrent_bias: NDArray[Any]
    activations: list[Activation]
    resets_after: bool
    is_reverse: bool

    @property
    def units(self) -> int:
        return int(self.recurrent.shape[1])


def recurrent(out: LiteScribe, node: IslandNode) -> Sequence[IslandValue]:
    x = node.first
    steps, batch, _ = x.sizes
    directions = _directions(node)
    states = [node.optional(number) for number in ((5, 6) if node.op == "LSTM" else (5,))]
    lengths = node.optional(4)
    if lengths is not None:
        lengths = out.cast(out.as_tensor(lengths), "int32")
    outputs, ends = [], []
    for number, direction in enumerate(directions):
        started = [_start(out, state, number, batch, direction.units) for state in states]
        sequence, *last = _run(out, x, direction, started, lengths)
        outputs.append(sequence)
        ends.append(last)
    units = directions[0].units
    y = _stacked(out, outputs, (steps, 1, batch, units), 1)
    finals = [_stacked(out, [end[n] for end in ends], (1, batch, units), 0) for n in range(len(states))]
    return [y, *finals][: node.outputs]


def _directions(node: IslandNode) -> list[Direction]:
    attrs, names = node.attrs, node.attrs.get("activations")
    count = 2 if attrs.get("direction") == "bidirectional" else 1
    usual = USUAL[node.op]
    names = names or usual * count
    if attrs.get("clip") or attrs.get("input_forget") or attrs.get("layout"):
        raise NotInLite(f"{node.op} with limits, coupled gates or another layout")
    if node.optional(7) is not None:
        raise NotInLite(f"{node.op} with peepholes")
    if any(name not in ACTIVATIONS and name != HARD_SIGMOID for name in names):
        raise NotInLite(f"{node.op} with the activations {', '.join(names)}")
    numbers = [iter(attrs.get(name, ())) for name in ("activation_alpha", "activation_beta")]
    functions = [_activation(name, *(numbers if name == HARD_SIGMOID else ())) for name in names]
    weights, own = node.value(1).constant(), node.value(2).constant()
    bias = node.known(3)
    if bias is None:
        bias = np.zeros((count, 2 * weights.shape[1]), np.float32)
    return [
        Direction(
            node.op, weights[i], own[i], bias[i][: bias.shape[1] // 2], bias[i][bias.shape[1] // 2 :],
            functions[i * len(usual) : (i + 1) * len(usual)],
            bool(attrs.get("linear_before_reset")),
            attrs.get("direction") == "reverse" or i == 1,
        )
        for i in range(count)
    ]  # fmt: skip


def _activation(name: str, *numbers: Iterator[float]) -> Activation:
    """The operators of an activation; a hard sigmoid takes the next of the given numbers."""
    if name != HARD_SIGMOID:
        return lambda out, x: out.add(ACTIVATIONS[name], [x.tensor], x.sizes)
    alpha, beta = (next(own, default) for own, default in zip(numbers, (0.2, 0.5), strict=True))
    attrs = {"alpha": alpha, "beta": beta}
    return lambda out, x: hard_sigmoid(out, IslandNode(HARD_SIGMOID, (x,), attrs, 1))


def _start(out: LiteScribe, state: IslandValue | None, number: int, batch: Number, units: int) -> IslandValue:
    """The state before the first step."""
    if state is None:
        zero = out.array(np.zeros((), np.float32))
        return out.add("FILL", [out.sizes([batch, units]), zero], (batch, units))
    if state.array is not None and not state.is_of_sizes:
        return out.as_tensor(constant_value(state.array[number]))
    part = [out.plain(state), out.ints(number, 0, 0), out.ints(1, -1, -1)]
    return out.reshaped(out.add("SLICE", part, (1, batch, units)).tensor, (batch, units))


def _run(
    out: LiteScribe,
    x: IslandValue,
    direction: Direction,
    start: Sequence[IslandValue],
    lengths: IslandValue | None,
) -> list[IslandValue]:
    """The outputs of all steps, and the states after the last one."""
    steps, batch, length = x.sizes
    rows = out.reshaped(out.plain(x), (steps * batch, length))
    bias = _bias_before(direction)
    attrs = {"transB": 1}
    inputs = (rows, constant_value(direction.weights), constant_value(bias))
    width = direction.weights.shape[0]
    product = out.reshaped(gemm(out, IslandNode("Gemm", inputs, attrs, 1)).tensor, (steps, batch, width))
    if direction.is_reverse:
        product = _reversed(out, product, lengths)
    zero = out.array(np.zeros((), np.float32))
    empty = out.add(
        "FILL", [out.sizes([steps, batch, direction.units]), zero], (steps, batch, direction.units)
    )
    counter = out.as_tensor(constant_value(np.array(0, np.int32)))
    state = [counter, product, empty, *start, *([lengths] if lengths is not None else [])]
    options: dict[str, Any] = {
        "cond_subgraph_index": _condition(out, state),
        "body_subgraph_index": _body(out, state, direction, lengths is not None),
    }
    results = out.add_all("WHILE", [v.tensor for v in state], [(v.sizes, v.dtype) for v in state], **options)
    sequence = _reversed(out, results[2], lengths) if direction.is_reverse else results[2]
    return [sequence, *results[3 : 3 + len(start)]]


def _bias_before(direction: Direction) -> NDArray[Any]:
    """What is added before the loop: all offsets, unless a gate resets what they are added to."""
    both: NDArray[Any] = direction.input_bias + direction.recurrent_bias
    if direction.op == "GRU" and direction.resets_after:
        both[2 * direction.units :] = direction.input_bias[2 * direction.units :]
    return both


def _reversed(out: LiteScribe, x: IslandValue, lengths: IslandValue | None) -> IslandValue:
    """The steps from the last to the first; of each sequence as many as it has."""
    if lengths is not None:
        inputs = [x.tensor, lengths.tensor]
        return out.add("REVERSE_SEQUENCE", inputs, x.sizes, seq_dim=0, batch_dim=1)
    return out.add("REVERSE_V2", [x.tensor, out.ints(0)], x.sizes)


def _inner(out: LiteScribe, state: Sequence[IslandValue]) -> tuple[LiteScribe, list[IslandValue]]:
    inner = LiteScribe(out.file)
    sizes = [[size if isinstance(size, int) else None for size in value.sizes] for value in state]
    return inner, [inner.input(own, value.dtype) for own, value in zip(sizes, state, strict=True)]


def _add(out: LiteScribe, subgraph: Subgraph) -> int:
    out.file.subgraphs.append(subgraph)
    return len(out.file.subgraphs) - 1


def _condition(out: LiteScribe, state: Sequence[IslandValue]) -> int:
    inner, fed = _inner(out, state)
    steps = fed[1].sizes[0]
    if isinstance(steps, int):
        limit = inner.as_tensor(constant_value(np.array(steps, np.int32)))
    else:
        limit = inner.reshaped(inner.sizes([steps]), (), None, "int32")
    less = inner.add("LESS", [fed[0].tensor, limit.tensor], (), dtype="bool")
    return _add(out, inner.model.subgraph("steps_left", [v.tensor for v in fed], [less.tensor]))


def _body(out: LiteScribe, state: Sequence[IslandValue], direction: Direction, has_lengths: bool) -> int:
    inner, fed = _inner(out, state)
    counter, product, outputs, *before = fed
    lengths = [before.pop()] if has_lengths else []
    batch, width = product.sizes[1:]
    x = inner.add("GATHER", [product.tensor, counter.tensor], (batch, width), axis=0, batch_dims=0)
    after = {"GRU": _gru, "LSTM": _lstm, "RNN": _rnn}[direction.op](inner, direction, x, before)
    index = inner.reshaped(counter.tensor, (1,), None, "int32")
    place = inner.add("CONCATENATION", [index.tensor, inner.ints(0, 0)], (3,), dtype="int32", axis=0)
    shown = after[0]
    if lengths:
        goes_on = inner.add("LESS", [counter.tensor, lengths[0].tensor], lengths[0].sizes, dtype="bool")
        rows = inner.reshaped(goes_on.tensor, (*lengths[0].sizes, 1), None, "bool")
        zero = constant_value(np.zeros((), np.float32))
        shown = broadcast(inner, "SELECT_V2", [rows, shown, zero])
        pairs = zip(after, before, strict=True)
        after = [broadcast(inner, "SELECT_V2", [rows, new, old]) for new, old in pairs]
    update = inner.reshaped(shown.tensor, (1, *shown.sizes))
    written = inner.add("DYNAMIC_UPDATE_SLICE", [outputs.tensor, update.tensor, place.tensor], outputs.sizes)
    increment = inner.array(np.array(1, np.int32))
    following = inner.add("ADD", [counter.tensor, increment], (), dtype="int32")
    results = [following, product, written, *after, *lengths]
    return _add(out, inner.model.subgraph("step", [v.tensor for v in fed], [v.tensor for v in results]))


def _gru(
    out: LiteScribe, direction: Direction, x: IslandValue, before: Sequence[IslandValue]
) -> list[IslandValue]:
    (h,), units = before, direction.units
    gate, new = direction.activations
    own = direction.recurrent
    both = gate(out, _sum(out, _part(out, x, 0, 2 * units), _product(out, h, own[: 2 * units])))
    update, reset = _parts(out, both, 2)
    if direction.resets_after:
        bias = direction.recurrent_bias[2 * units :]
        inside = _times(out, reset, _product(out, h, own[2 * units :], bias))
    else:
        inside = _product(out, _times(out, reset, h), own[2 * units :])
    candidate = new(out, _sum(out, _part(out, x, 2 * units, units), inside))
    kept = _times(out, update, broadcast(out, "SUB", [h, candidate]))
    return [_sum(out, candidate, kept)]


def _lstm(
    out: LiteScribe, direction: Direction, x: IslandValue, before: Sequence[IslandValue]
) -> list[IslandValue]:
    h, c = before
    gate, new, shown = direction.activations
    total = _sum(out, x, _product(out, h, direction.recurrent))
    *gates, inside = _parts(out, total, 4)
    i, o, f = (gate(out, part) for part in gates)
    candidate = new(out, inside)
    cell = _sum(out, _times(out, f, c), _times(out, i, candidate))
    return [_times(out, o, shown(out, cell)), cell]


def _rnn(
    out: LiteScribe, direction: Direction, x: IslandValue, before: Sequence[IslandValue]
) -> list[IslandValue]:
    total = _sum(out, x, _product(out, before[0], direction.recurrent))
    return [direction.activations[0](out, total)]


def _product(
    out: LiteScribe, x: IslandValue, weights: NDArray[Any], bias: NDArray[Any] | None = None
) -> IslandValue:
    offset = None if bias is None else constant_value(bias)
    inputs = (x, constant_value(weights), offset)
    return gemm(out, IslandNode("Gemm", inputs, {"transB": 1}, 1))


def _part(out: LiteScribe, x: IslandValue, begin: int, length: int) -> IslandValue:
    bounds = [out.ints(0, begin), out.ints(-1, length)]
    return out.add("SLICE", [x.tensor, *bounds], (x.sizes[0], length))


def _parts(out: LiteScribe, x: IslandValue, count: int) -> list[IslandValue]:
    """Equal parts of the columns."""
    batch, width = x.sizes
    ends = [((batch, width // count), x.dtype)] * count
    return out.add_all("SPLIT", [out.array(np.array(1, np.int32)), x.tensor], ends, num_splits=count)


def _sum(out: LiteScribe, x: IslandValue, y: IslandValue) -> IslandValue:
    return broadcast(out, "ADD", [x, y])


def _times(out: LiteScribe, x: IslandValue, y: IslandValue) -> IslandValue:
    return broadcast(out, "MUL", [x, y])


def _stacked(
    out: LiteScribe, values: Sequence[IslandValue], sizes: Sequence[Number], axis: int
) -> IslandValue:
    """The results of all directions along an axis, of which each has one index."""
    parts = [out.reshaped(value.tensor, sizes) for value in values]
    if len(parts) == 1:
        return parts[0]
    whole = [len(parts) if own == axis else size for own, size in enumerate(sizes)]
    return out.add("CONCATENATION", [part.tensor for part in parts], whole, axis=axis)
