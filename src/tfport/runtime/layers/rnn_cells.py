"""Recognize the cell of a recurrent loop: LSTM, GRU or a plain RNN, by what its steps compute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.layers.affine import ADDS, Affine, AffineReader
from tfport.runtime.operand import Operand

if TYPE_CHECKING:
    from numpy.typing import NDArray

PLAIN = ("Tanh", "Relu", "Sigmoid")


@dataclass(frozen=True)
class RnnCell:
    """Weights by gate, in ONNX's order: i, o, f, c (LSTM); z, r, h (GRU); or one (RNN).

    Matrices are (gates * units, inputs); `b` are the biases of the input, `rb` of the recurrence.
    """

    kind: str
    w: NDArray[Any]
    r: NDArray[Any]
    b: NDArray[Any]
    rb: NDArray[Any]
    reset_after: bool = False
    """GRU: whether the reset gate is applied after the recurrent product."""
    activation: str = "Tanh"

    @property
    def units(self) -> int:
        return int(self.r.shape[1])


def lstm(
    reader: AffineReader, x: Operand, h: Operand, c: Operand, new_h: Operand, new_c: Operand
) -> RnnCell | None:
    """`c' = s(f) c + s(i) tanh(g)` and `h' = s(o) tanh(c')`, with s the sigmoid"""
    for left, right in _both(reader, new_h, "Mul"):
        out, shown = reader.activated(left), reader.made_by(right, "Tanh")
        if out is None or out[0] != "Sigmoid" or shown is None or shown.inputs[0] is not new_c:
            continue
        for kept, added in _both(reader, new_c, *ADDS):
            forget = _gate_times(reader, kept, c)
            entered = _two_gates(reader, added)
            if forget is not None and entered is not None:
                return _cell("LSTM", x, h, [entered[0], out[1], forget, entered[1]])
    return None


def gru(reader: AffineReader, x: Operand, h: Operand, new_h: Operand) -> RnnCell | None:
    """`h' = z h + (1 - z) n`, with `n = tanh(x W + r (h R + b))` or `n = tanh(x W + (r h) R)`"""
    for kept, added in _both(reader, new_h, *ADDS):
        for z, before in _both(reader, kept, "Mul"):
            update = reader.activated(z)
            if before is not h or update is None or update[0] != "Sigmoid":
                continue
            for rest, new in _both(reader, added, "Mul"):
                if not _is_one_minus(reader, rest, z):
                    continue
                step = reader.made_by(new, "Tanh")
                cell = _new_gate(reader, x, h, update[1], step.inputs[0]) if step is not None else None
                if cell is not None:
                    return cell
    return None


def plain(reader: AffineReader, x: Operand, h: Operand, new_h: Operand) -> RnnCell | None:
    """`h' = act(x W + h R + b)`"""
    activated = reader.activated(new_h)
    if activated is None or activated[0] not in PLAIN:
        return None
    cell = _cell("RNN", x, h, [activated[1]])
    return None if cell is None else RnnCell("RNN", cell.w, cell.r, cell.b, cell.rb, activation=activated[0])


def _new_gate(
    reader: AffineReader, x: Operand, h: Operand, update: Affine, inside: Operand
) -> RnnCell | None:
    for left, right in _both(reader, inside, *ADDS):
        from_input = reader.affine(left)
        for r, product in _both(reader, right, "Mul"):
            reset, recurrent = reader.activated(r), reader.affine(product)
            if from_input is None or reset is None or reset[0] != "Sigmoid" or recurrent is None:
                continue
            if set(from_input.terms) <= {x} and set(recurrent.terms) == {h}:
                return _reset_after(x, h, [update, reset[1]], from_input, recurrent)
    return _reset_before(reader, x, h, update, inside)


def _reset_after(
    x: Operand, h: Operand, gates: list[Affine], from_input: Affine, recurrent: Affine
) -> RnnCell | None:
    both = from_input.plus(Affine(recurrent.terms, np.zeros_like(recurrent.bias)))
    cell = _cell("GRU", x, h, [*gates, both])
    if cell is None:
        return None
    rb = np.concatenate([np.zeros(2 * cell.units, np.float32), recurrent.bias.astype(np.float32)])
    return RnnCell("GRU", cell.w, cell.r, cell.b, rb, reset_after=True)


def _reset_before(
    reader: AffineReader, x: Operand, h: Operand, update: Affine, inside: Operand
) -> RnnCell | None:
    """The product of reset gate and state is a source; its matrix is the recurrent one."""
    for operand in [o for o, step in reader.producer.items() if step.op == "Mul"]:
        for r, before in _both(reader, operand, "Mul"):
            reset = reader.activated(r) if before is h else None
            if reset is None or reset[0] != "Sigmoid":
                continue
            inner = AffineReader(set(reader.producer.values()), {x, operand})
            new = inner.affine(inside)
            if new is not None and operand in new.terms:
                terms = {h if source is operand else source: m for source, m in new.terms.items()}
                return _cell("GRU", x, h, [update, reset[1], Affine(terms, new.bias)])
    return None


def _cell(kind: str, x: Operand, h: Operand, gates: list[Affine]) -> RnnCell | None:
    if any(not set(gate.terms) <= {x, h} or h not in gate.terms or x not in gate.terms for gate in gates):
        return None
    units = {gate.size for gate in gates}
    if len(units) != 1 or gates[0].terms[h].shape[0] not in units:
        return None
    w = np.concatenate([gate.terms[x].T for gate in gates])
    r = np.concatenate([gate.terms[h].T for gate in gates])
    b = np.concatenate([gate.bias for gate in gates])
    if any(matrix.dtype != np.float32 for matrix in (w, r)):
        return None
    return RnnCell(kind, w, r, b.astype(np.float32), np.zeros(len(b), np.float32))


def _both(reader: AffineReader, operand: Operand, *ops: str) -> Iterator[tuple[Operand, Operand]]:
    """The two inputs of a sum or product, in both orders."""
    step = reader.made_by(operand, *ops)
    if step is not None and len(step.inputs) == 2:
        left, right = step.inputs
        yield left, right
        yield right, left


def _gate_times(reader: AffineReader, operand: Operand, state: Operand) -> Affine | None:
    for gate, other in _both(reader, operand, "Mul"):
        if other is state and (activated := reader.activated(gate)) is not None and activated[0] == "Sigmoid":
            return activated[1]
    return None


def _two_gates(reader: AffineReader, operand: Operand) -> tuple[Affine, Affine] | None:
    for gate, new in _both(reader, operand, "Mul"):
        entered, other = reader.activated(gate), reader.activated(new)
        if entered is not None and other is not None and (entered[0], other[0]) == ("Sigmoid", "Tanh"):
            return entered[1], other[1]
    return None


def _is_one_minus(reader: AffineReader, operand: Operand, z: Operand) -> bool:
    step = reader.made_by(operand, "Sub")
    if step is None or step.inputs[1] is not z:
        return False
    constant = step.inputs[0].array
    return constant is not None and constant.size == 1 and float(constant.reshape(-1)[0]) == 1
