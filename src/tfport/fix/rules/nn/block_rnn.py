"""Fused recurrent cells as arithmetic; older releases have them only in a library of contrib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.recurrence import StepResult, run_cell
from tfport.fix.rule import ROUNDING, Replacement, refuse, rule
from tfport.graph.dtypes import FLOAT32, INT32, DType
from tfport.graph.graph import Node, Value
from tfport.graph.node_inputs import OperandLike
from tfport.startup.dataclass import dataclass

HALF = DType.parse("float16")
CS, H = 1, 6
"""The outputs of an LSTM that are its states."""
ICFO, IFCO = (0, 1, 2, 3), (0, 2, 1, 3)
"""The positions of the gates i, c, f, o in the matrices."""


@dataclass(frozen=True)
class BlockLstm:
    """The attributes of a fused LSTM."""

    order: Sequence[int]
    forget_bias: float
    clip: float
    peepholes: bool

    @classmethod
    def of(cls, n: Node) -> BlockLstm:
        order = IFCO if n.op == "BlockLSTMV2" else ICFO
        a = n.attrs
        return cls(order, a.get("forget_bias", 0.0), a["cell_clip"], a["use_peephole"])

    def constants(self, op: RuleBuilder, weights: Sequence[Value]) -> dict[str, Value]:
        """The values that every step reads: weights, biases, and constants of their dtype."""
        w, wci, wcf, wco, b = weights
        dtype = w.dtype.base
        constants = {"w": w, "b": b, "axis": op.const(1)}
        if self.peepholes:
            constants |= {"wci": wci, "wcf": wcf, "wco": wco}
        if self.forget_bias:
            constants["forget"] = op.const(self.forget_bias, dtype)
        if self.clip > 0:
            constants |= {"most": op.const(self.clip, dtype), "least": op.const(-self.clip, dtype)}
        return constants

    def cell(
        self, op: RuleBuilder, constants: Mapping[str, Value], x: Value, cs_prev: Value, h_prev: Value
    ) -> list[OperandLike]:
        """i, cs, f, o, ci, co, h of one step."""
        both = op.ConcatV2([x, h_prev], constants["axis"])
        gates = op.Split(
            constants["axis"], op.Add(op.MatMul(both, constants["w"]), constants["b"]), num_split=4
        )
        of_gates: list[OperandLike] = [gates.output(index) for index in self.order]
        i, ci, f, o = of_gates
        if self.forget_bias:
            f = op.Add(f, constants["forget"])
        if self.peepholes:
            i, f = (op.Add(gate, op.Mul(cs_prev, constants[w])) for gate, w in ((i, "wci"), (f, "wcf")))
        i, f, ci = op.Sigmoid(i), op.Sigmoid(f), op.Tanh(ci)
        cs = op.Add(op.Mul(ci, i), op.Mul(cs_prev, f))
        if self.clip > 0:
            cs = op.Maximum(op.Minimum(cs, constants["most"]), constants["least"])
        if self.peepholes:
            o = op.Add(o, op.Mul(cs, constants["wco"]))
        o, co = op.Sigmoid(o), op.Tanh(cs)
        return [i, cs, f, o, ci, co, op.Mul(co, o)]


@rule("LSTMBlockCell", keeps=ROUNDING)
def cell_as_arithmetic(op: RuleBuilder, n: Node) -> Replacement:
    """A matrix product, sigmoids and tanhs compute the fused cell."""
    form = BlockLstm.of(n)
    x, cs_prev, h_prev, *weights = (_wide(op, value) for value in n.inputs)
    outputs = form.cell(op, form.constants(op, weights), x, cs_prev, h_prev)
    return [_cast_back(op, output.output(0), n.attrs["T"]) for output in outputs]


@rule("BlockLSTM BlockLSTMV2", keeps=ROUNDING)
def steps_as_arithmetic(op: RuleBuilder, n: Node) -> Replacement:
    """A matrix product, sigmoids and tanhs compute the fused layer step by step."""
    form = BlockLstm.of(n)
    length, *rest = n.inputs
    x, cs_prev, h_prev, *weights = (_wide(op, value) for value in rest)
    dims = op.shape(n.inputs[1])
    steps, known = dims[0] if dims else None, op.array(length)
    # in a main graph any output may be fetched by name; unused ones are pruned later
    read = [value.index for value in n.read_outputs] if n.graph.ends else list(range(7))
    if dims is not None and len(dims) != 3:
        return refuse(f"its input has rank {len(dims)}; expected 3")

    constants = form.constants(op, weights)

    def cell(row: Value, states: list[Value]) -> StepResult:
        answers = [output.output(0) for output in form.cell(op, constants, row, *states)]
        return [answers[index] for index in read], [answers[CS], answers[H]]

    whole = known is not None and steps is not None and int(known) == steps
    outputs, _ = run_cell(
        op, cell, x, [cs_prev, h_prev], outputs=len(read), steps=steps,
        lengths=None if whole else op.Cast(length, DstT=INT32).output(0),
    )  # fmt: skip
    by_output = dict(zip(read, outputs, strict=True))
    return [
        _cast_back(op, by_output[index], n.attrs["T"]) if index in by_output else None for index in range(7)
    ]


@rule("GRUBlockCell", keeps=ROUNDING)
def gru_cell_as_arithmetic(op: RuleBuilder, n: Node) -> Replacement:
    """Two matrix products, sigmoids and a tanh compute the fused cell."""
    x, h_prev, w_ru, w_c, b_ru, b_c = n.inputs
    gates = op.Sigmoid(op.Add(op.MatMul(op.ConcatV2([x, h_prev], 1), w_ru), b_ru))
    halves = op.Split(1, gates, num_split=2)
    r, u = halves.output(0), halves.output(1)
    c = op.Tanh(op.Add(op.MatMul(op.ConcatV2([x, op.Mul(h_prev, r)], 1), w_c), b_c))
    h = op.Add(op.Mul(op.Sub(1.0, u), c), op.Mul(u, h_prev))
    return [r, u, c, h]


def _wide(op: RuleBuilder, value: Value) -> Value:
    """Cast float16 to float32."""
    return op.Cast(value, DstT=FLOAT32).output(0) if value.dtype.base == HALF else value


def _cast_back(op: RuleBuilder, value: Value, dtype: DType) -> Value:
    return op.Cast(value, DstT=dtype).output(0) if dtype == HALF else value
