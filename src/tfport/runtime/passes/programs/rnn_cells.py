"""Recognize the cell of a recurrent loop: LSTM, GRU or a plain RNN, by what its steps compute."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.operand import Operand
from tfport.runtime.passes.programs.affine import ADDS, Affine, AffineReader
from tfport.runtime.passes.programs.rnn_activations import IDENTITY, Activation
from tfport.startup.dataclass import dataclass, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class RnnCell:
    """Weights by gate, in ONNX's order: i, o, f, c (LSTM); z, r, h (GRU); or one (RNN).

    Matrices are (gates * units, inputs); `b` are the biases of the input, `rb` of the recurrence.
    """

    kind: str
    x: Operand
    """Its input in one iteration."""
    w: NDArray[Any]
    r: NDArray[Any]
    b: NDArray[Any]
    rb: NDArray[Any]
    reset_after: bool = False
    """GRU: whether the reset gate is applied after the recurrent product."""
    activations: tuple[Activation, ...] = ()
    """LSTM: of the gates, the new values and the cell state; GRU: of the first two; RNN: the only one."""
    peepholes: NDArray[Any] | None = None
    """LSTM: weights of the cell state in the gates i, o and f."""

    @property
    def units(self) -> int:
        return int(self.r.shape[1])


def lstm(reader: AffineReader, h: Operand, c: Operand, new_h: Operand, new_c: Operand) -> RnnCell | None:
    """`c' = s(f) c + s(i) act(g)` and `h' = s(o) act(c')`, with s a sigmoid"""
    for left, right in _both(reader, new_h, "Mul"):
        out, shown = _gate(reader, left, new_c), reader.activation_of(right)
        if out is None or shown is None or shown[1] is not new_c:
            continue
        for kept, added in _both(reader, new_c, *ADDS):
            forget = _gate_times(reader, kept, c)
            entered = _two_gates(reader, added, c)
            if forget is None or entered is None:
                continue
            gate, activation, new = entered
            cell = _cell("LSTM", h, [gate.sum, out.sum, forget.sum, new])
            if cell is not None and gate.activation == out.activation == forget.activation:
                activations = (gate.activation, activation, shown[0])
                return replace(cell, activations=activations, peepholes=_peepholes(gate, out, forget))
    return None


def gru(reader: AffineReader, h: Operand, new_h: Operand, rounded: Operand | None = None) -> RnnCell | None:
    """`h' = z h + (1 - z) n`, with `n = act(x W + r (h R + b))` or `n = act(x W + (r h) R)`

    `rounded`: the state that is multiplied by matrices, if that is another one.
    """
    for kept, added in _both(reader, new_h, *ADDS):
        for z, before in _both(reader, kept, "Mul"):
            update = reader.activated(z) if before is h else None
            for rest, new in _both(reader, added, "Mul"):
                shown = reader.activation_of(new) or (IDENTITY, new)
                if update is None or not _is_one_minus(reader, rest, z):
                    continue
                cell = _new_gate(reader, rounded or h, update, shown[1])
                if cell is not None:
                    return replace(cell, activations=(update[0], shown[0]))
    return None


def plain(reader: AffineReader, h: Operand, new_h: Operand) -> RnnCell | None:
    """`h' = act(x W + h R + b)`"""
    activated = reader.activated(new_h)
    if activated is None:
        return None
    cell = _cell("RNN", h, [activated[1]])
    return None if cell is None else replace(cell, activations=(activated[0],))


def _new_gate(
    reader: AffineReader, h: Operand, update: tuple[Activation, Affine], inside: Operand
) -> RnnCell | None:
    gate = update[0]
    for left, right in _both(reader, inside, *ADDS):
        from_input = reader.affine(left)
        for r, product in _both(reader, right, "Mul"):
            reset, recurrent = reader.activated(r), reader.affine(product)
            if from_input is None or reset is None or reset[0] != gate or recurrent is None:
                continue
            if h not in from_input.terms and set(recurrent.terms) == {h}:
                return _reset_after(h, [update[1], reset[1]], from_input, recurrent)
    return _reset_before(reader, h, update, inside)


def _reset_after(h: Operand, gates: list[Affine], from_input: Affine, recurrent: Affine) -> RnnCell | None:
    both = from_input.plus(Affine(recurrent.terms, np.zeros_like(recurrent.bias)))
    cell = _cell("GRU", h, [*gates, both])
    if cell is None:
        return None
    rb = np.concatenate([np.zeros(2 * cell.units, np.float32), recurrent.bias.astype(np.float32)])
    return replace(cell, rb=rb, reset_after=True)


def _reset_before(
    reader: AffineReader, h: Operand, update: tuple[Activation, Affine], inside: Operand
) -> RnnCell | None:
    """The product of reset gate and state is a source; its matrix is the recurrent one."""
    for operand in [o for step in reader.program.steps if step.op == "Mul" for o in step.outputs]:
        for r, before in _both(reader, operand, "Mul"):
            reset = reader.activated(r) if before is h else None
            if reset is None or reset[0] != update[0]:
                continue
            inner = AffineReader(reader.program, {*reader.sources, operand} - {h})
            new = inner.affine(inside)
            if new is not None and operand in new.terms:
                terms = {h if source is operand else source: m for source, m in new.terms.items()}
                return _cell("GRU", h, [update[1], reset[1], Affine(terms, new.bias)])
    return None


def _cell(kind: str, h: Operand, gates: list[Affine]) -> RnnCell | None:
    inputs = {source for gate in gates for source in gate.terms} - {h}
    if len(inputs) != 1 or any(len(gate.terms) != 2 for gate in gates):
        return None
    (x,) = inputs
    units = {gate.size for gate in gates}
    if len(units) != 1 or gates[0].terms[h].shape[0] not in units:
        return None
    w = np.concatenate([gate.terms[x].T for gate in gates])
    r = np.concatenate([gate.terms[h].T for gate in gates])
    b = np.concatenate([gate.bias for gate in gates])
    if any(matrix.dtype != np.float32 for matrix in (w, r)):
        return None
    return RnnCell(kind, x, w, r, b.astype(np.float32), np.zeros(len(b), np.float32))


def _both(reader: AffineReader, operand: Operand, *ops: str) -> Iterator[tuple[Operand, Operand]]:
    """The two inputs of a sum or product, in both orders."""
    step = reader.producer(operand, *ops)
    if step is not None and len(step.inputs) == 2:
        left, right = step.inputs
        yield left, right
        yield right, left


@dataclass(frozen=True)
class _Gate:
    """A sigmoid and its input: an affine form, and a state weighted by unit (a peephole)."""

    activation: Activation
    sum: Affine
    peephole: NDArray[Any] | None = None


def _peepholes(*gates: _Gate) -> NDArray[Any] | None:
    if all(gate.peephole is None for gate in gates):
        return None
    weights = [np.zeros(g.sum.size, np.float32) if g.peephole is None else g.peephole for g in gates]
    return np.concatenate(weights)


def _gate(reader: AffineReader, operand: Operand, state: Operand) -> _Gate | None:
    """A sigmoid, or 1 minus a sigmoid: that of the negative input."""
    activated = reader.activated(operand)
    if activated is not None:
        return _Gate(*activated)
    if (function := reader.activation_of(operand)) is not None:
        return _with_peephole(reader, *function, state)
    if (step := reader.producer(operand, "Sub")) is not None and _is_one_minus(
        reader, operand, step.inputs[1]
    ):
        gate = _gate(reader, step.inputs[1], state)
        if gate is not None and gate.activation.is_symmetric:
            peephole = None if gate.peephole is None else -gate.peephole
            return _Gate(gate.activation, gate.sum.negative(), peephole)
    return None


def _with_peephole(
    reader: AffineReader, activation: Activation, operand: Operand, state: Operand
) -> _Gate | None:
    for left, right in _both(reader, operand, *ADDS):
        inside = reader.affine(left)
        for weights, other in _both(reader, right, "Mul"):
            if inside is None or other is not state or weights.array is None:
                continue
            if weights.array.dtype == np.float32 and weights.array.shape == (inside.size,):
                return _Gate(activation, inside, weights.array)
    return None


def _gate_times(reader: AffineReader, operand: Operand, state: Operand) -> _Gate | None:
    for gate, other in _both(reader, operand, "Mul"):
        if other is state and (match := _gate(reader, gate, state)) is not None:
            return match
    return None


def _two_gates(
    reader: AffineReader, operand: Operand, state: Operand
) -> tuple[_Gate, Activation, Affine] | None:
    """The input gate, and the activation and affine form of the new values."""
    for gate, new in _both(reader, operand, "Mul"):
        entered, activated = _gate(reader, gate, state), reader.activated(new)
        if entered is not None and activated is not None:
            return entered, *activated
    return None


def _is_one_minus(reader: AffineReader, operand: Operand, z: Operand) -> bool:
    step = reader.producer(operand, "Sub")
    if step is None or step.inputs[1] is not z:
        return False
    constant = step.inputs[0].array
    return constant is not None and constant.size == 1 and float(constant.reshape(-1)[0]) == 1
