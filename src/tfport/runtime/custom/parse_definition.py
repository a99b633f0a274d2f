"""Parse the one-line definition of an op: `MyMul: (x: T, y: T) -> z: T; T: {float, double}`.

    NAME: (INPUT, …) -> OUTPUT, …; ATTRIBUTE; …; stateful

Inputs and outputs are written as in `REGISTER_OP`: `x: float`, `x: T`, a list `xs: N*T`, a
list of any types `xs: Ts`. No outputs are `()`; several may be in parentheses. After each `;` comes
an attribute, also as in `REGISTER_OP` (`axis: int >= 0 = 1`, `mode: {'a', 'b'} = 'a'`,
`Ts: list(type) >= 1`), or a flag: `stateful`, `commutative`, `aggregate`.
Errors name the position in the text. `graph.op_spec` parses a single input, output or attribute.
"""

from __future__ import annotations

import re

from tfport.errors import BadRegistration
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import decode
from tfport.graph.op_spec import ARGUMENT, ATTR, OP_NAME, definition, is_type, pieces
from tfport.registry.resolve import unresolved_attributes
from tfport.registry.unresolved import Question

HEAD = re.compile(r"\s*([^\s:]*)\s*:\s*\(")
ARROW = re.compile(r"\s*->\s*")
FLAGS = {"stateful": "is_stateful", "commutative": "is_commutative", "aggregate": "is_aggregate"}


def parse_op_definition(text: str) -> OpDef:
    """The definition that a line describes; BadRegistration names the position of an error."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def read(self) -> OpDef:
        head = HEAD.match(self.text)
        if head is None:
            raise self.wrong(0, "expected `Name: (inputs) -> outputs; attributes`")
        if not OP_NAME.fullmatch(head[1]):
            raise self.wrong(head.start(1), f"`{head[1]}` is not an op name; expected CamelCase")
        inside = self._closing(head.end() - 1)
        arrow = ARROW.match(self.text, inside + 1)
        if arrow is None:
            raise self.wrong(inside + 1, "expected `->` and the outputs after the inputs")
        parts = pieces(self.text, ";", arrow.end())
        op_def = OpDef(name=head[1])
        for at, clause in parts[1:]:
            self._clause(op_def, at, clause)
        inputs = pieces(self.text[:inside], ",", head.end())
        op_def.input_arg.extend(self._argument(at, arg, op_def) for at, arg in inputs if arg)
        op_def.output_arg.extend(
            self._argument(at, arg, op_def) for at, arg in self._outputs(*parts[0]) if arg
        )
        self._check_names(op_def)
        return op_def

    def _closing(self, opening: int) -> int:
        depth = 0
        for at in range(opening, len(self.text)):
            depth += {"(": 1, ")": -1}.get(self.text[at], 0)
            if not depth:
                return at
        raise self.wrong(opening, "this parenthesis is never closed")

    def _outputs(self, at: int, text: str) -> list[tuple[int, str]]:
        if text.startswith("(") and text.endswith(")"):
            return pieces(self.text[: at + len(text) - 1], ",", at + 1)
        if not text:
            raise self.wrong(at, "expected outputs; write `()` for an op without outputs")
        return pieces(self.text[: at + len(text)], ",", at)

    def _clause(self, op_def: OpDef, at: int, text: str) -> None:
        if text in FLAGS:
            setattr(op_def, FLAGS[text], True)
        elif text and ATTR.fullmatch(text) is None:
            raise self.wrong(at, f"`{text}` is not an attribute; expected `name: type` or {', '.join(FLAGS)}")
        elif text:
            try:
                op_def.attr.extend(definition(op_def.name, attrs=[text]).attr)
            except ValueError as error:
                raise self.wrong(at, f"`{text}`: {error}") from None
            self._default_fits(op_def.attr[-1], at)

    def _default_fits(self, attr: OpDef.AttrDef, at: int) -> None:
        if not attr.HasField("default_value"):
            return
        value = decode(attr.default_value)
        wrong = next(unresolved_attributes({attr.name: value}, OpDef(attr=[attr])), None)
        if wrong is not None:
            least = wrong.question is Question.ATTR_MINIMUM
            allowed = f"at least {wrong.expected}" if least else " or ".join(map(str, wrong.expected))
            raise self.wrong(at, f"the default of `{attr.name}` is {value}; it must be {allowed}")

    def _argument(self, at: int, text: str, op_def: OpDef) -> OpDef.ArgDef:
        match = ARGUMENT.fullmatch(text)
        if match is None:
            raise self.wrong(at, f"expected `name: type`, found `{text}`")
        kinds = {attr.name: attr.type for attr in op_def.attr}
        number, kind = match[3], match[4]
        if number and kinds.get(number) != "int":
            raise self.wrong(
                at, f"`{number}` is not an int attribute; declare it with `; {number}: int >= 1`"
            )
        if kind not in kinds and not is_type(kind):
            raise self.wrong(
                at, f"`{kind}` is neither a type nor an attribute; declare it with `; {kind}: type`"
            )
        if kinds.get(kind, "type") not in (("type",) if number else ("type", "list(type)")):
            raise self.wrong(at, f"`{kind}` is an attribute of type {kinds[kind]}; expected the type `type`")
        return definition(op_def.name, inputs=[text], base=op_def).input_arg[0]

    def _check_names(self, op_def: OpDef) -> None:
        attrs = [attr.name for attr in op_def.attr]
        for args in (op_def.input_arg, op_def.output_arg):
            names = attrs + [arg.name for arg in args]
            if twice := next((name for name in names if names.count(name) > 1), None):
                raise self.wrong(0, f"the name `{twice}` is used twice")
        if hidden := next((name for name in attrs if name.startswith("_")), None):
            raise self.wrong(0, f"attribute `{hidden}` begins with `_`; such attributes are ignored")

    def wrong(self, at: int, what: str) -> BadRegistration:
        before = self.text[:at]
        line, column = before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1
        where = f"line {line}, character {column}" if "\n" in self.text.strip() else f"character {at + 1}"
        shown = " ".join(self.text.split())
        return BadRegistration(f"signature `{shown}`, {where}: {what}")
