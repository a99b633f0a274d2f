"""Look up an attribute, an input, a dtype or a file of a checkpoint that a message names."""

from __future__ import annotations

import re
from collections.abc import Callable

from tfport.atlas.atlas import atlas
from tfport.atlas.history import op_history
from tfport.atlas.op_definitions import arg_text, value_text
from tfport.atlas.release_spans import STOCK, Span, on_x86, spans
from tfport.atlas.target import Target
from tfport.explain.lookup import Meaning, MessageMatch, recorded, use
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr, decode
from tfport.graph.dtypes import INVALID, DType

NO_TYPE = "INVALID"
"""The dtype in messages about an input that the op does not have."""


def releases_where(op: str, holds: Callable[[OpDef], bool]) -> tuple[Span, ...]:
    """The TensorFlow releases whose own definition of an op satisfies a condition."""
    matching = {
        build.number
        for chapter in atlas().definitions(op)
        if not chapter.provider and chapter.definition is not None and holds(chapter.definition)
        for build in chapter.builds
    }
    return spans(on_x86(atlas(), STOCK), matching)


def unknown_attribute(match: MessageMatch, target: Target | None) -> Meaning:
    """Which releases have the attribute, and whether the node's value is the default."""
    op, attr = match.op, match.names["attr"]
    if op is None:
        return Meaning()
    released = releases_where(op, lambda definition: _attr(definition, attr) is not None)
    if not released:
        return Meaning([f"No recorded {op} of TensorFlow has an attribute {attr}."])
    default = _newest_default(op, attr)
    value = _value_in(match.text, attr)
    facts = [f"TensorFlow's {op} has it {recorded(released)}{_default_text(default, value)}."]
    ways = [use(released)]
    if value is None or (default is not None and value == _as_in_messages(default)):
        ways.insert(0, "export again without default attributes (`strip_default_attrs=True` in TF1)")
    return Meaning(facts, ways, on_target=_attr_on_target(op, attr, target))


def _attr(definition: OpDef, name: str) -> OpDef.AttrDef | None:
    return next((attr for attr in definition.attr if attr.name == name), None)


def _newest_default(op: str, attr: str) -> Attr | None:
    newest = op_history(atlas(), op)
    declared = _attr(newest.definition, attr) if newest else None
    if declared is None or not declared.HasField("default_value"):
        return None
    return decode(declared.default_value)


def _default_text(default: Attr | None, value: str | None) -> str:
    if default is None:
        return ""
    if value is None:
        return f"; its default is {value_text(default)}"
    is_default = value == _as_in_messages(default)
    return f"; here it is {value}, " + ("its default" if is_default else "not its default")


def _as_in_messages(value: Attr) -> str:
    """Format a value as TensorFlow's messages do, without spaces."""
    return value_text(value, lambda dtype: dtype.tf).replace("'", '"').replace(" ", "")


def _value_in(text: str, attr: str) -> str | None:
    """The value of an attribute in the node that a message shows, without spaces."""
    node = text.partition("NodeDef:")[2]
    value = re.search(
        rf"[\[ ]{re.escape(attr)}=(\"[^\"]{{0,200}}\"|\[[^\]]{{0,400}}\]|[^,\](]{{1,100}})", node
    )
    return value[1].replace(" ", "") if value else None


def _attr_on_target(op: str, attr: str, target: Target | None) -> list[str]:
    if target is None:
        return []
    definition = target.registry.get(op)
    if definition is None:
        return [f"{target.name} does not register {op} at all"]
    has = "has" if _attr(definition, attr) is not None else "has no"
    return [f"{op} {has} attribute {attr} in {target.name}"]


def missing_attribute(match: MessageMatch, target: Target | None) -> Meaning:
    """Which releases require the attribute."""
    op, attr = match.op, match.names["attr"]
    if op is None:
        return Meaning()
    requiring = releases_where(
        op, lambda d: (a := _attr(d, attr)) is not None and not a.HasField("default_value")
    )
    facts = [f"TensorFlow's {op} requires it {recorded(requiring)}."] if requiring else []
    return Meaning(facts, on_target=_attr_on_target(op, attr, target))


def value_not_allowed(match: MessageMatch, target: Target | None) -> Meaning:
    """Which releases allow the value."""
    op, attr = match.op, match.names["attr"]
    if op is None:
        return Meaning()
    value = _parse_value(match.names["value"])
    allowing = releases_where(op, lambda definition: _allows(_attr(definition, attr), value))
    shown = value_text(value)
    if allowing:
        facts = [f"TensorFlow's {op} allows {attr}={shown} {recorded(allowing)}."]
    else:
        facts = [f"No recorded {op} of TensorFlow allows {attr}={shown}."]
    return Meaning(facts, [use(allowing)] if allowing else [], _value_on_target(op, attr, value, target))


def _parse_value(text: str) -> Attr:
    """Parse a value in a message: a dtype if it is the name of one, else text."""
    try:
        return DType.parse(text)
    except KeyError:
        return text


def _allows(attr: OpDef.AttrDef | None, value: Attr) -> bool:
    return attr is not None and (not attr.HasField("allowed_values") or value in decode(attr.allowed_values))


def _value_on_target(op: str, attr: str, value: Attr, target: Target | None) -> list[str]:
    definition = target.registry.get(op) if target else None
    if target is None or definition is None:
        return []
    allows = "allows" if _allows(_attr(definition, attr), value) else "does not allow"
    return [f"{op} {allows} {attr}={value_text(value)} in {target.name}"]


def inputs_of_op(match: MessageMatch, target: Target | None) -> Meaning:
    """The inputs of the op by release, if they changed."""
    op, code = match.op, "TFP206" if match.names.get("wanted") == NO_TYPE else None
    if op is None:
        return Meaning(code=code)
    builds_by_inputs: dict[str, set[int]] = {}
    for chapter in atlas().definitions(op):
        if chapter.definition is not None and not chapter.provider:
            inputs = ", ".join(map(arg_text, chapter.definition.input_arg))
            builds_by_inputs.setdefault(inputs, set()).update(build.number for build in chapter.builds)
    stock = on_x86(atlas(), STOCK)
    facts = [
        f"{op}({inputs}): {recorded(spans(stock, builds))}." for inputs, builds in builds_by_inputs.items()
    ]
    return Meaning(facts if len(facts) > 1 else [], code=code)


def element_type(match: MessageMatch, target: Target | None) -> Meaning:
    """The name of a dtype that the message gives as a number."""
    number = match.names.get("number")
    dtype = DType.of(int(number)) if number is not None else INVALID
    if dtype == INVALID or dtype.name.startswith("type"):
        return Meaning()
    name = f"a reference to {dtype.base}, as TF1 variables use" if dtype.is_ref else str(dtype)
    return Meaning([f"Number {number} is {name}."])


# Inputs that differ from the expected shape only in their channels.

NUMBER = re.compile(r"\d+")
CHANNELS = {"1": "grayscale", "3": "color", "4": "color with transparency (alpha)"}


def channels(match: MessageMatch, target: Target | None) -> Meaning | None:
    """What the channels of both sides mean; None if the shapes differ otherwise."""
    wanted, actual = (NUMBER.findall(match.names[name]) for name in ("wanted", "found"))
    if len(wanted) < 3 or wanted[-3:-1] != actual[-3:-1] or wanted[-1] == actual[-1]:
        return None
    if wanted[-1] not in CHANNELS or actual[-1] not in CHANNELS:
        return None
    return Meaning(
        [
            f"The model takes {CHANNELS[wanted[-1]]} images ({wanted[-1]} per pixel), but the input is "
            f"{CHANNELS[actual[-1]]} ({actual[-1]} per pixel)."
        ],
        [
            f"read the image with {wanted[-1]} channels: `load_img(PATH, color_mode=…)`, "
            f"`tf.io.decode_image(data, channels={wanted[-1]})`, Pillow's `convert`, in TensorFlow.js "
            f"`tf.browser.fromPixels(image, {wanted[-1]})`",
            "or train the model with the other kind of images",
        ],
    )


# Files of a checkpoint.

SHARD, INDEX = ".data-", ".index"


def missing_file(match: MessageMatch, target: Target | None) -> Meaning:
    """Whether the file is a shard or the index of a checkpoint."""
    path = match.names["path"]
    if SHARD in path:
        return Meaning(
            ["It is a shard of the checkpoint, with some of the model's variables."], code="TFP022"
        )
    if path.endswith(INDEX):
        return Meaning(
            ["It is the index of the checkpoint; without it no variable can be read."], code="TFP021"
        )
    return Meaning()
