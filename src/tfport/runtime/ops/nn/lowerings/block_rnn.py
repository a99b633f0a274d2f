"""Single-step fused recurrent cells (GRUBlockCell, LSTMBlockCell), lowered to ONNX."""

from __future__ import annotations

from tfport.runtime.lower import CannotLower, lower


def _units(h_prev):
    if h_prev.shape is None or h_prev.shape[-1] is None:
        raise CannotLower("the number of units is unknown")
    return h_prev.shape[-1]


@lower("GRUBlockCell")
def gru_block_cell(b, x, h_prev, w_ru, w_c, b_ru, b_c):
    units = _units(h_prev)
    gates = b.Sigmoid(b.Add(b.MatMul(b.Concat(x, h_prev, axis=1), w_ru), b_ru))
    r, u = b.nodes("Split", gates, b.ints(units, units), axis=1, outputs=2)
    c = b.Tanh(b.Add(b.MatMul(b.Concat(x, b.Mul(h_prev, r), axis=1), w_c), b_c))
    return r, u, c, b.Add(b.Mul(b.Sub(b.const(1, u.dtype), u), c), b.Mul(u, h_prev))


@lower("LSTMBlockCell")
def lstm_block_cell(b, x, cs_prev, h_prev, w, wci, wcf, wco, b_, *, forget_bias, cell_clip, use_peephole):
    units = _units(h_prev)
    gates = b.Add(b.MatMul(b.Concat(x, h_prev, axis=1), w), b_)
    i, ci, f, o = b.nodes("Split", gates, b.ints(*[units] * 4), axis=1, outputs=4)
    f = b.Add(f, b.const(forget_bias, f.dtype))
    if use_peephole:
        i, f = b.Add(i, b.Mul(cs_prev, wci)), b.Add(f, b.Mul(cs_prev, wcf))
    i, f, ci = b.Sigmoid(i), b.Sigmoid(f), b.Tanh(ci)
    cs = b.Add(b.Mul(ci, i), b.Mul(cs_prev, f))
    if cell_clip > 0:
        cs = b.Clip(cs, b.const(-cell_clip, cs.dtype), b.const(cell_clip, cs.dtype))
    if use_peephole:
        o = b.Add(o, b.Mul(cs, wco))
    o, co = b.Sigmoid(o), b.Tanh(cs)
    return i, cs, f, o, ci, co, b.Mul(co, o)
