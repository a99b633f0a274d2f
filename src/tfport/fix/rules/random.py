"""Random numbers: stateless ones by the seed that their key was made of, or others in their place."""

from __future__ import annotations

import numpy as np

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import cast
from tfport.fix.rule import EXACT, LOSSY, Replacement, refuse, rule
from tfport.graph.dtypes import INT64
from tfport.graph.graph import Node, Value

PHILOX, CHOSEN_BY_DEVICE = 1, 3
FIRST_FORMS = {
    "StatelessRandomUniformV2": "StatelessRandomUniform",
    "StatelessRandomNormalV2": "StatelessRandomNormal",
    "StatelessTruncatedNormalV2": "StatelessTruncatedNormal",
    "StatelessRandomUniformIntV2": "StatelessRandomUniformInt",
    "StatelessRandomUniformFullIntV2": "StatelessRandomUniformFullInt",
}
STATEFUL = {
    "StatelessRandomUniform": "RandomUniform",
    "StatelessRandomNormal": "RandomStandardNormal",
    "StatelessTruncatedNormal": "TruncatedNormal",
    "StatelessRandomUniformInt": "RandomUniformInt",
    "StatelessMultinomial": "Multinomial",
}
KEYS = ("StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg")


@rule(" ".join(FIRST_FORMS), keeps=EXACT)
def from_the_seed(op: NodeBuilder, n: Node) -> Replacement:
    """The first form takes the seed of which the later one is given a key and a counter, for Philox."""
    shape, key, counter, algorithm, *bounds = n.inputs
    seed = _seed(key, counter)
    known = op.constant(algorithm)
    if known is None and algorithm.node.op not in ("StatelessRandomGetAlg", KEYS[1]):
        return refuse("it is not known which algorithm it uses")
    if known is not None and int(known) not in (PHILOX, CHOSEN_BY_DEVICE):
        return refuse(f"its algorithm {int(known)} is not Philox")
    return op.node(FIRST_FORMS[n.op], shape, cast(op, seed, INT64), *bounds, dtype=n.attrs["dtype"])


def _seed(key: Value, counter: Value) -> Value:
    made = key.node
    if made.op not in KEYS or counter.node is not made or (key.index, counter.index) != (0, 1):
        raise refuse("its key and counter are not made of a seed just before")
    return made.inputs[0]


@rule(" ".join(FIRST_FORMS), keeps=LOSSY)
def other_numbers_for_a_key(op: NodeBuilder, n: Node) -> Replacement:
    """Numbers of the same distribution, but others, which no key and no generator decides."""
    if (made := STATEFUL.get(FIRST_FORMS[n.op])) is None:
        return refuse("no older op draws from all integers")
    bounds = n.inputs[4:]
    return op.node(made, n.inputs[0], *bounds, **({} if bounds else {"dtype": n.attrs["dtype"]}))


@rule(" ".join(STATEFUL), keeps=LOSSY)
def other_numbers(op: NodeBuilder, n: Node) -> Replacement:
    """Numbers of the same distribution, but others, and others each time."""
    size, *rest = n.inputs
    if n.op == "StatelessMultinomial":
        return op.Multinomial(size, rest[0], output_dtype=n.attrs["output_dtype"])
    # integers have the type of their bounds
    kind = {} if rest[1:] else {"dtype": n.attrs["dtype"]}
    return op.node(STATEFUL[n.op], size, *rest[1:], **kind)


@rule("RngReadAndSkip", keeps=LOSSY)
def no_generator(op: NodeBuilder, n: Node) -> Replacement:
    """Where other numbers are drawn, nobody reads the state of a generator, and it stays as it is."""
    if op.has("StatelessRandomUniformV2"):
        return refuse("the target draws by key and counter, which would always be the same")
    return op.const(np.zeros(3, np.int64), INT64)


@rule("Multinomial", keeps=EXACT)
def drawn_in_int64(op: NodeBuilder, n: Node) -> Replacement:
    """The older op draws the same numbers in int64."""
    kind = n.outputs[0].dtype.base
    if kind == INT64:
        return refuse("it answers in int64")
    seeds = {"seed": n.attrs["seed"], "seed2": n.attrs["seed2"]}
    return cast(op, op.Multinomial(*n.inputs, output_dtype="int64", **seeds), kind)
