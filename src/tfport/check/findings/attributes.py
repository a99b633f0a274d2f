"""Do attributes fit what the target's ops declare? Findings 201 to 205, 208 and 209."""

from __future__ import annotations

import functools
from typing import Self

from tfport.atlas.atlas import X86, atlas
from tfport.atlas.op_definitions import value_text
from tfport.atlas.release_spans import STOCK, on_x86, spans, spans_text
from tfport.atlas.target import OURS
from tfport.check.attribute_hints import is_hint, stated_shape
from tfport.check.checked_model import UnresolvedNodes
from tfport.check.findings import tensorflow_messages
from tfport.check.findings.finding import WARNING, Finding, finding
from tfport.check.loader_stages import ATTRIBUTE_VALUES, ATTRIBUTES, BY_NAME, ELEMENT_TYPES, SIZES, STRUCTURE
from tfport.check.release_quirks import ignores_unknown_attributes
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr, decode
from tfport.graph.text import attr_text
from tfport.graph.usage import NAMES
from tfport.registry.unresolved import Question

UNRECORDED = "in no recorded release"


@finding("TFP201", "unknown-attribute", noticed={Question.UNKNOWN_ATTR: ATTRIBUTES})
class UnknownAttribute(Finding):
    """op `{op}` has no attribute `{attr}` in {target}

    ## Cause
    The release that wrote the model added an attribute to the op. Releases before 2.5 reject
    such a node even if the value means what the older op does anyway; later releases ignore the
    attribute. Attributes that begin with `_` are always ignored.
    ## Fix
    If the value is the attribute's default, export again without defaults: pass
    `strip_default_attrs=True` to TF1's builder; TF2 always does so. If it is not, the older op
    cannot do what the model needs.
    ## Example
        x = Placeholder() {dtype=float32, shape=(1, 2, 2, 1)}
        s = Placeholder() {dtype=int32, shape=(2,)}
        y = ResizeBilinear(x, s) {T=float32, align_corners=false, half_pixel_centers=true}
        on tensorflow==1.13.2
    """

    value: str
    released: str
    """The releases of TensorFlow whose op has it."""
    is_default: bool
    definition: OpDef

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self | None:
        if _is_ignored(unresolved):
            return None
        released, is_default = _declared(unresolved.op, unresolved.answer.attr, unresolved.answer.actual)
        return cls(
            value=attr_text(unresolved.answer.actual),
            released=released,
            is_default=is_default,
            definition=unresolved.target.registry[unresolved.op],
        )

    def cause(self) -> str:
        if self.on.kind == OURS and not self.released:
            return f"here it is {self.value}"
        since = f"part of the op {self.released}" if self.released else UNRECORDED
        means = "its default" if self.is_default else "not its default"
        return f"{since}; here it is {self.value}" + (f", {means}" if self.released else "")

    def says(self) -> str:
        return tensorflow_messages.unknown_attr(self.attr or "", self.nodes[0], self.definition, self.on)

    def fixes(self) -> list[str]:
        return ["export again with strip_default_attrs=True"] if self.is_default else []


@finding("TFP208", "ignored-attribute", WARNING, noticed={Question.UNKNOWN_ATTR: ATTRIBUTES})
class IgnoredAttribute(Finding):
    """op `{op}` has no attribute `{attr}` in {target}, which ignores its value {value}

    ## Cause
    The release that wrote the model has an additional attribute in this op, and its value asks for
    something that the older op does not do. From 2.5 on, TensorFlow loads such a model and runs it
    without the attribute: outputs may differ without any message.
    ## Fix
    Use a release whose op has the attribute, or export the model without it.
    ## Example
        l = Placeholder() {dtype=variant, shape=()}
        i = Placeholder() {dtype=int32, shape=()}
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = TensorListSetItem(l, i, x) {element_dtype=float32, resize_if_index_out_of_bounds=true}
        on tensorflow==2.10.0
    """

    value: str
    released: str

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self | None:
        if not _is_ignored(unresolved):
            return None
        released, is_default = _declared(unresolved.op, unresolved.answer.attr, unresolved.answer.actual)
        if is_default or unresolved.answer.attr in NAMES:  # nothing is lost
            return None
        if all(is_hint(node, unresolved.answer.attr, stated_shape) for node in unresolved.nodes):
            return None
        return cls(value=attr_text(unresolved.answer.actual), released=released)

    def cause(self) -> str:
        return f"part of the op {self.released}" if self.released else UNRECORDED


def _is_ignored(unresolved: UnresolvedNodes) -> bool:
    return ignores_unknown_attributes(unresolved.target) and unresolved.target.kind != OURS


def _declared(op: str, name: str, value: Attr) -> tuple[str, bool]:
    """The releases whose op has an attribute, and whether a value is its default in the newest."""
    released, newest = _releases_with(op, name)
    has_default = newest is not None and newest.HasField("default_value")
    return released, newest is not None and has_default and decode(newest.default_value) == value


@functools.lru_cache(1024)
def _releases_with(op: str, name: str) -> tuple[str, OpDef.AttrDef | None]:
    """The releases whose op has an attribute, and its declaration in the newest."""
    having = {}
    for chapter in atlas().definitions(op):
        declared = next((a for a in (chapter.definition or OpDef()).attr if a.name == name), None)
        if declared is not None and not chapter.provider:
            having.update({build.number: declared for build in chapter.builds if build.platform == X86})
    stock = on_x86(atlas(), STOCK)
    newest = next((having[build.number] for build in reversed(stock) if build.number in having), None)
    return spans_text(spans(stock, having)), newest


@finding(
    "TFP202",
    "missing-attribute",
    noticed={Question.MISSING_ATTR: STRUCTURE, Question.DEFAULT_ATTR: BY_NAME},
)
class MissingAttribute(Finding):
    """op `{op}` needs attribute `{attr}` in {target}, but the node does not have it

    ## Cause
    The attribute has no default in the target's op. The model was written for another
    definition of the op, or its graph was edited.
    ## Fix
    Export the model again with the target's release, or set the attribute.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = Cast(x) {SrcT=float32}
        on tensorflow==2.8.4
    """

    wanted: str

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self:
        return cls(wanted=unresolved.answer.expected)

    def cause(self) -> str:
        return f"of type {self.wanted}, without a default"

    def says(self) -> str:
        return tensorflow_messages.missing_attr(self.attr or "", self.nodes[0], self.on)


@finding("TFP203", "attribute-of-wrong-type", noticed={Question.ATTR_TYPE: SIZES})
class AttributeOfWrongType(Finding):
    """attribute `{attr}` of op `{op}` is of type {actual}; {target} expects {wanted}

    ## Cause
    The definition of the op changed, or the graph was written by hand.
    ## Fix
    Export the model again with the target's release, or correct the attribute.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = Cast(x) {DstT="half", SrcT=float32}
        on tensorflow==2.8.4
    """

    actual: str
    wanted: str
    definition: OpDef

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self:
        answer, definition = unresolved.answer, unresolved.target.registry[unresolved.op]
        return cls(actual=answer.actual, wanted=answer.expected, definition=definition)

    def says(self) -> str:
        return tensorflow_messages.attr_type(
            self.attr or "", self.actual, self.wanted, self.nodes[0], self.definition, self.on
        )


@finding("TFP204", "value-not-allowed", noticed={Question.ATTR_VALUE: ATTRIBUTE_VALUES})
class ValueNotAllowed(Finding):
    """attribute `{attr}` of op `{op}` is {value}; {target} allows {allowed}

    ## Cause
    The op allows more values in other releases, most often data types.
    ## Fix
    Use a release whose op allows the value, or cast before and after the op.
    ## Example
        x = Placeholder() {dtype=uint64, shape=(2, 2)}
        y = MatMul(x, x) {T=uint64, transpose_a=false, transpose_b=false}
        on tensorflow==1.15.5
    """

    value: str
    allowed: str
    released: str
    """The releases of TensorFlow that allow the value."""
    definition: OpDef
    raw: Attr

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self:
        value = unresolved.answer.actual
        return cls(
            value=value_text(value),
            allowed=", ".join(map(value_text, unresolved.answer.expected)),
            released=_allowing(unresolved.op, unresolved.answer.attr, value),
            definition=unresolved.target.registry[unresolved.op],
            raw=value,
        )

    def cause(self) -> str:
        if self.released:
            return f"allowed {self.released}"
        return "" if self.on.kind == OURS else UNRECORDED

    def says(self) -> str:
        return tensorflow_messages.value_not_allowed(
            self.attr or "", self.raw, self.nodes[0], self.definition, self.on
        )


def _allowing(op: str, name: str, value: Attr) -> str:
    """The releases of TensorFlow in which an attribute may have a value."""
    having = set[int]()
    for chapter in atlas().definitions(op):
        for attr in (chapter.definition or OpDef()).attr if not chapter.provider else ():
            if attr.name == name and (
                not attr.HasField("allowed_values") or value in decode(attr.allowed_values)
            ):
                having.update(build.number for build in chapter.builds)
    return spans_text(spans(on_x86(atlas(), STOCK), having))


@finding("TFP205", "below-minimum", noticed={Question.ATTR_MINIMUM: SIZES})
class BelowMinimum(Finding):
    """attribute `{attr}` of op `{op}` is {value}; {target} needs at least {minimum}

    ## Cause
    A number, or the length of a list, is smaller than the op allows.
    ## Fix
    Correct the attribute, or export the model again.
    ## Example
        y = ConcatV2() {N=0, T=float32, Tidx=int32}
        on tensorflow==2.8.4
    """

    value: str
    minimum: int
    definition: OpDef

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self:
        value = unresolved.answer.actual
        return cls(
            value=f"a list of {len(value)}" if isinstance(value, list) else str(value),
            minimum=unresolved.answer.expected,
            definition=unresolved.target.registry[unresolved.op],
        )

    def says(self) -> str:
        return tensorflow_messages.below_minimum(
            self.attr or "", self.value, self.minimum, self.nodes[0], self.definition, self.on
        )


@finding("TFP209", "unknown-data-type", noticed={Question.DATA_TYPE: ELEMENT_TYPES})
class UnknownDataType(Finding):
    """attribute `{attr}` of op `{op}` is {value}, a data type that {target} does not have

    ## Cause
    Releases added data types: uint32 and uint64 in 1.5, float8 in 2.12, int4 in 2.15.
    ## Fix
    Use a release that has the type, or cast to another before exporting.
    ## Example
        x = Placeholder() {dtype=int4, shape=(2,)}
        on tensorflow==2.8.4
    """

    value: str
    number: int

    @classmethod
    def of(cls, unresolved: UnresolvedNodes) -> Self:
        dtype = unresolved.answer.actual
        return cls(value=str(dtype), number=dtype.number)

    def says(self) -> str:
        return f"AttrValue has invalid DataType enum: {self.number}"
