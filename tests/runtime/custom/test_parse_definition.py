"""One-line op definitions: what they mean, and errors with their position."""

import pytest

import tfport
from tfport.atlas.known_ops import known_ops
from tfport.runtime.custom.parse_definition import parse_op_definition

SAME = [  # written in our notation            as TensorFlow defines it
    ("Relu: (features: T) -> activations: T; T: realnumbertype", "Relu"),
    ("IdentityN: (input: T) -> output: T; T: list(type) >= 1", "IdentityN"),
    ("StringLower: (input: string) -> output: string; encoding: string = ''", "StringLower"),
    ("NoOp: () -> ()", "NoOp"),
]


@pytest.mark.parametrize(("text", "op"), SAME)
def test_a_definition_equals_tensorflows(text, op):
    made, wanted = parse_op_definition(text), known_ops()[op]
    assert made.name == wanted.name
    assert list(made.input_arg) == list(wanted.input_arg)
    assert list(made.output_arg) == list(wanted.output_arg)
    assert [(a.name, a.type, a.minimum, a.default_value) for a in made.attr] == [
        (a.name, a.type, a.minimum, a.default_value) for a in wanted.attr
    ]


def test_every_kind_of_attribute_may_have_bounds_and_a_default():
    made = parse_op_definition("""
        Acme>All: (xs: N*T, ys: Ts, z: int32) -> (a: T, b: Ts, c: N*string);
            N: int >= 1 = 2; T: {float, double} = DT_FLOAT; Ts: list(type) >= 1;
            words: list(string) = ['a;,b', "c"]; shape: shape = [1, -1]; shapes: list(shape) = [[1], [2, 3]];
            value: tensor; yes: bool = true; parts: list(float) = [1, 2.5]; mode: {'a', 'b'} = 'a';
            stateful
    """)
    signature = {a.name: a for a in made.attr}
    assert made.is_stateful
    assert [a.number_attr or a.type_list_attr or a.type_attr for a in made.output_arg] == ["T", "Ts", "N"]
    assert (signature["N"].minimum, signature["N"].default_value.i) == (1, 2)
    assert list(signature["words"].default_value.list.s) == [b"a;,b", b"c"]
    assert [len(s.dim) for s in signature["shapes"].default_value.list.shape] == [1, 2]
    assert list(signature["mode"].allowed_values.list.s) == [b"a", b"b"]
    assert list(signature["parts"].default_value.list.f) == [1, 2.5]
    assert signature["value"].type == "tensor"


WRONG = [  # text                                               at  message
    ("Mul", 1, "expected `Name: (inputs) -> outputs; attributes`"),
    ("mul: (x: float) -> ()", 1, "`mul` is not an op name; expected CamelCase"),
    ("A: (x: T, y T) -> z: T; T: type", 11, "expected `name: type`, found `y T`"),
    ("A: (x: flaot) -> y: float", 5,
     "`flaot` is neither a type nor an attribute; declare it with `; flaot: type`"),
    ("A: (xs: N*float) -> ()", 5, "`N` is not an int attribute; declare it with `; N: int >= 1`"),
    ("A: (x: n) -> (); n: int", 5, "`n` is an attribute of type int; expected the type `type`"),
    ("A: (x: float -> y: float", 4, "this parenthesis is never closed"),
    ("A: (x: float) y: float", 14, "expected `->` and the outputs after the inputs"),
    ("A: (x: float) -> ", 18, "expected outputs; write `()` for an op without outputs"),
    ("A: () -> (); n: int >= 3 = 1", 14, "the default of `n` is 1; it must be at least 3"),
    ("A: () -> (); m: {'u', 'v'} = 'w'", 14, "the default of `m` is w; it must be u or v"),
    ("A: () -> (); n: integer", 14, "`n: integer`: expected an attribute type, found integer"),
    ("A: () -> (); n: int = x", 14, "`n: int = x`: expected a value of type int, found x"),
    ("A: () -> (); n: list(int) = 3", 14,
     "`n: list(int) = 3`: the default of a list must be in [], got 3"),
    ("A: () -> (); stable", 14,
     "`stable` is not an attribute; expected `name: type` or stateful, commutative, aggregate"),
    ("A: (x: float, x: float) -> ()", 1, "the name `x` is used twice"),
    ("A: () -> (); _n: int", 1, "attribute `_n` begins with `_`; such attributes are ignored"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "at", "message"), WRONG)
def test_an_error_names_its_position(text, at, message):
    with pytest.raises(tfport.BadRegistration) as raised:
        parse_op_definition(text)
    assert str(raised.value) == f"signature `{' '.join(text.split())}`, character {at}: {message}"


def test_an_error_in_several_lines_names_the_line():
    with pytest.raises(tfport.BadRegistration, match="line 2, character 5: `int` is neither"):
        parse_op_definition("A: (x: float,\n    y: int) -> ()")
