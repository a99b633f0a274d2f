"""Models that never end, and models whose tensors double in every iteration of a loop.

`ENDLESS` and `DOUBLING` have a graph for each way to write a loop, and for both ways to run one: inside
an island of the engine, and on the host (the body has a step that only the host computes). The input is
`x`, a vector of floats; the output `y:0`.
"""

from __future__ import annotations

_ALWAYS = """
    def go(i: int32, x: float32) -> (r: bool):
      less = Const() {dtype=int32, value=int32()[-1]}
      c = GreaterEqual(i, less) {T=int32}
      return r=c
"""
_WHILE = """
    x = Placeholder() {{dtype=float32, shape=(?)}}
    zero = Const() {{dtype=int32, value=int32()[0]}}
    w = {op}(zero, x) {{T=[int32, float32], cond=@go, body=@turn, output_shapes=[(), (?)]}}
    y = Identity(w:1) {{T=float32}}
"""
_NESTED = """
    x = Placeholder() {dtype=float32, shape=(?)}
    y = PartitionedCall(x) {Tin=[float32], Tout=[float32], f=@outer}
    def outer(x: float32) -> (r: float32):
      call = PartitionedCall(x) {Tin=[float32], Tout=[float32], f=@inner}
      return r=call
    def inner(x: float32) -> (r: float32):
      zero = Const() {dtype=int32, value=int32()[0]}
      w = StatelessWhile(zero, x) {T=[int32, float32], cond=@go, body=@turn, output_shapes=[(), (?)]}
      return r=w:1
"""
_TURN = """
    def turn(i: int32, x: float32) -> (i1: int32, x1: float32):
      one = Const() {{dtype=int32, value=int32()[1]}}
      {body}
      return i1=j, x1=z
"""
_TF1 = """
    x = Placeholder() {{dtype=float32, shape=(?)}}
    zero = Const() {{dtype=int32, value=int32()[0]}}
    ei = Enter(zero) {{T=int32, frame_name="loop", is_constant=false}}
    ex = Enter(x) {{T=float32, frame_name="loop", is_constant=false}}
    mi = Merge(ei, ni) {{T=int32, N=2}}
    mx = Merge(ex, nx) {{T=float32, N=2}}
    less = Const(^mi) {{dtype=int32, value=int32()[-1]}}
    c = GreaterEqual(mi, less) {{T=int32}}
    go = LoopCond(c)
    si = Switch(mi, go) {{T=int32}}
    sx = Switch(mx, go) {{T=float32}}
    one = Const(^si) {{dtype=int32, value=int32()[1]}}
    {body}
    ni = NextIteration(j) {{T=int32}}
    nx = NextIteration(z) {{T=float32}}
    out = Exit(sx) {{T=float32}}
    y = Identity(out) {{T=float32}}
"""
_ADD = """
      more = Const() {{dtype=float32, value=float32()[1]}}
      z = AddV2({x}, more) {{T=float32}}"""
_TILE = """
      twice = Const() {{dtype=int32, value=int32(1)[2]}}
      z = Tile({x}, twice) {{T=float32, Tmultiples=int32}}"""
_COUNT = """j = AddV2({i}, one) {{T=int32}}"""
_COUNT_ON_HOST = """
      text = AsString({i}) {{T=int32, precision=-1, scientific=false, shortest=false, width=-1, fill=""}}
      number = StringToNumber(text) {{out_type=int32}}
      j = AddV2(number, one) {{T=int32}}"""


def _forms(work: str) -> dict[str, str]:
    """The graph for each way to write and to run a loop around this work."""
    graphs = {}
    for place, count in (("island", _COUNT), ("host", _COUNT_ON_HOST)):
        functions = _ALWAYS + _TURN.format(body=count.format(i="i") + work.format(x="x"))
        graphs[f"While, {place}"] = _WHILE.format(op="While") + functions
        graphs[f"StatelessWhile, {place}"] = _WHILE.format(op="StatelessWhile") + functions
        graphs[f"function, {place}"] = _NESTED + functions
        graphs[f"TF1 loop, {place}"] = _TF1.format(body=count.format(i="si:1") + work.format(x="sx:1"))
    return graphs


ENDLESS, DOUBLING = _forms(_ADD), _forms(_TILE)


def laughs(levels: int = 40) -> str:
    """A function that calls another one twice, which calls another one twice, and so on."""
    text = """
    x = Placeholder() {dtype=float32, shape=(?)}
    y = PartitionedCall(x) {Tin=[float32], Tout=[float32], f=@f0}
"""
    for level in range(levels):
        text += f"""
    def f{level}(x: float32) -> (r: float32):
      a = PartitionedCall(x) {{Tin=[float32], Tout=[float32], f=@f{level + 1}}}
      b = PartitionedCall(a) {{Tin=[float32], Tout=[float32], f=@f{level + 1}}}
      return r=b
"""
    return (
        text
        + f"""
    def f{levels}(x: float32) -> (r: float32):
      n = Neg(x) {{T=float32}}
      return r=n
"""
    )
