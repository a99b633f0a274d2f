"""Graphs with datasets in the node notation, with literals for numbers."""

import re

NUMBER = "output_types=[int64], output_shapes=[()]"
VECTOR = "output_types=[int64], output_shapes=[(?)]"
PAIR = "output_types=[int64, int64], output_shapes=[(), ()]"
TEXT = "output_types=[string], output_shapes=[()]"


def program(text):
    """Replace the literals `5L` and `true!` by constants."""
    made = {}

    def constant(match):
        number, truth = match.groups()
        name = f"n{number.replace('-', 'm')}" if number else truth
        kind, value = ("int64", number) if number else ("bool", truth)
        made[name] = f"{name} = Const() {{dtype={kind}, value={kind}()[{value}]}}"
        return name

    body, cut, functions = text.partition("\n    def ")
    body = re.sub(r"(-?\d+)L\b|(true|false)!", constant, body)
    parts = [body, *(f"    {line}" for line in made.values())]
    inside = []
    for function in functions.split("\n    def ") if functions else []:
        made.clear()
        body = re.sub(r"(-?\d+)L\b|(true|false)!", constant, function)
        head, _, rest = body.partition("\n")
        inside.append("\n".join([head, *(f"      {line}" for line in made.values()), rest]))
    return "\n".join(parts) + "".join(cut + function for function in inside) + "\n"


RANGE = f"    r = RangeDataset(0L, 10L, 1L) {{{NUMBER}}}\n"
FUNCTIONS = """
    def less(x: int64, limit: int64) -> (y: bool):
      c = Less(x, limit) {T=int64}
      return y=c
    def square(x: int64) -> (y: int64):
      m = Mul(x, x) {T=int64}
      return y=m
    def add(x: int64, by: int64) -> (y: int64):
      m = AddV2(x, by) {T=int64}
      return y=m
    def add3(x: int64, e: int64, by: int64) -> (y: int64):
      m = AddV2(x, e) {T=int64}
      k = AddV2(m, by) {T=int64}
      return y=k
    def both(x: int64, e: int64) -> (s: int64, y: int64):
      m = AddV2(x, e) {T=int64}
      k = Mul(m, e) {T=int64}
      return s=m, y=k
    def up_to(x: int64) -> (y: variant):
      made = RangeDataset(0L, x, 1L) {NUMBER}
      return y=made
    def third(x: int64) -> (y: int64):
      k = FloorMod(x, 3L) {T=int64}
      return y=k
    def two(x: int64) -> (y: int64):
      k = Identity(2L) {T=int64}
      return y=k
    def all_of(k: int64, window: variant) -> (y: variant):
      made = BatchDatasetV2(window, 10L, false!) {VECTOR}
      made2 = UnbatchDataset(made) {NUMBER}
      return y=made2
    def divided(x: int64) -> (y: int64):
      k = FloorDiv(12L, x) {T=int64}
      return y=k
    def init(k: int64) -> (s: int64):
      m = Mul(k, 100L) {T=int64}
      return s=m
""".replace("NUMBER", NUMBER).replace("VECTOR", VECTOR)
ONE_SHOT = f"""
    it = OneShotIterator() {{dataset_factory=@make, {NUMBER}}}
    a = IteratorGetNext(it) {{{NUMBER}}}
    b = IteratorGetNextSync(it, ^a) {{{NUMBER}}}
    name = IteratorToStringHandle(it)
    again = IteratorFromStringHandleV2(name) {{{NUMBER}}}
    c = IteratorGetNext(again, ^b) {{{NUMBER}}}
    def make() -> (y: variant):
      r = RangeDataset(3L, 9L, 2L) {{{NUMBER}}}
      return y=r
"""
