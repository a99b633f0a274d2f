"""Random numbers: stateless ops from the seed of their key, or different numbers instead."""

from __future__ import annotations

import numpy as np

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, LOSSY, OtherProblem, Replacement, refuse, rule
from tfport.graph.dtypes import INT32, INT64
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
def from_the_seed(op: RuleBuilder, n: Node) -> Replacement:
    """The older op takes the seed from which the newer op's Philox key and counter were computed."""
    shape, key, counter, algorithm, *bounds = n.inputs
    seed = _seed(key, counter)
    known = op.array(algorithm)
    if known is None and algorithm.node.op not in ("StatelessRandomGetAlg", KEYS[1]):
        return refuse("its algorithm is unknown")
    if known is not None and int(known) not in (PHILOX, CHOSEN_BY_DEVICE):
        return refuse(f"its algorithm {int(known)} is not Philox")
    return op.node(FIRST_FORMS[n.op], shape, op.cast(seed, INT64), *bounds, dtype=n.attrs["dtype"])


def _seed(key: Value, counter: Value) -> Value:
    source = key.node
    if source.op not in KEYS or counter.node is not source or (key.index, counter.index) != (0, 1):
        raise refuse("its key and counter are not computed directly from a seed")
    return source.inputs[0]


@rule("StatelessRandomUniformFullInt", keeps=EXACT)
def from_a_range_and_a_parity(op: RuleBuilder, n: Node) -> Replacement:
    """A draw below the largest integer, and one of two numbers for the bits that the range maps to zero."""
    shape, seed = n.inputs[0], op.cast(n.inputs[1], INT64)
    dtype = n.attrs["dtype"]
    signed = INT32 if dtype.numpy.itemsize == INT32.numpy.itemsize else INT64
    least, greatest = np.iinfo(signed.numpy).min, np.iinfo(signed.numpy).max

    def below(limit: int) -> Node:
        """`least + bits % (limit - least)`, from the same random bits each time."""
        return op.StatelessRandomUniformInt(shape, seed, op.const(least, signed), op.const(limit, signed))

    drawn = below(greatest)
    # the range has one number less than there are bit patterns: all ones become zero, and are odd
    zero, odd = (
        op.Equal(drawn, op.const(least, signed)),
        op.Equal(below(least + 2), op.const(least + 1, signed)),
    )
    all_ones = op.Fill(op.Shape(drawn, out_type="int32"), op.const(-1, signed))
    bits = op.Select(op.LogicalAnd(zero, odd), all_ones, op.BitwiseXor(drawn, op.const(least, signed)))
    return bits if dtype == signed else op.Bitcast(bits, type=dtype)


@rule(" ".join(FIRST_FORMS), keeps=LOSSY)
def other_numbers_for_a_key(op: RuleBuilder, n: Node) -> Replacement:
    """Different random numbers of the same distribution, independent of key and generator."""
    if (stateful := STATEFUL.get(FIRST_FORMS[n.op])) is None:
        return refuse("no older op draws from the full range of integers")
    bounds = n.inputs[4:]
    return op.node(stateful, n.inputs[0], *bounds, **({} if bounds else {"dtype": n.attrs["dtype"]}))


@rule(" ".join(STATEFUL), keeps=LOSSY)
def other_numbers(op: RuleBuilder, n: Node) -> Replacement:
    """Different random numbers of the same distribution, which change in every run."""
    size, *rest = n.inputs
    if n.op == "StatelessMultinomial":
        return op.Multinomial(size, rest[0], output_dtype=n.attrs["output_dtype"])
    # integers have the dtype of their bounds
    attrs = {} if rest[1:] else {"dtype": n.attrs["dtype"]}
    return op.node(STATEFUL[n.op], size, *rest[1:], **attrs)


@rule("RngReadAndSkip", keeps=LOSSY)
def no_generator(op: RuleBuilder, n: Node) -> Replacement:
    """The state of the generator is not used and not updated when different numbers are drawn."""
    if op.has("StatelessRandomUniformV2"):
        return refuse("the target draws by key and counter, and would always draw the same numbers")
    return op.const(np.zeros(3, np.int64), INT64)


@rule("Multinomial", keeps=EXACT)
def drawn_in_int64(op: RuleBuilder, n: Node) -> Replacement:
    """The older op draws the same numbers as int64."""
    dtype = n.outputs[0].dtype.base
    if dtype == INT64:
        return OtherProblem("its output is int64 already")
    seeds = {"seed": n.attrs["seed"], "seed2": n.attrs["seed2"]}
    return op.cast(op.Multinomial(*n.inputs, output_dtype="int64", **seeds), dtype)
