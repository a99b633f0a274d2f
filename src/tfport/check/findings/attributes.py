"""Do attributes and inputs fit what the target's ops take? Findings 2xx."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.atlas.atlas import X86, atlas
from tfport.atlas.op_definitions import value_text
from tfport.atlas.release_spans import STOCK, on_x86, spans, spans_text
from tfport.atlas.target import OURS
from tfport.check.findings import tensorflow_messages as wording
from tfport.check.findings.finding import WARNING, Finding, finding
from tfport.check.findings.trouble import Trouble, answers
from tfport.check.release_quirks import ignores_unknown_attributes
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr, decode
from tfport.graph.dtypes import DType
from tfport.graph.text import attr_text
from tfport.graph.usage import NAMES
from tfport.registry.unresolved import Question


@finding("TFP201", "unknown-attribute")
class UnknownAttribute(Finding):
    """op `{op}` has no attribute `{attr}` in {target}

    ## Cause
    The model was written by a release whose op has an attribute more. Releases before
    2.5 refuse such a node even where the attribute says what the older op does anyway;
    later ones ignore it. Attributes that begin with `_` never matter.
    ## Fix
    Where the value is the attribute's default, export again with defaults left out:
    `strip_default_attrs=True` in TF1's builder, `experimental_custom_gradients` apart
    TF2 always does. Where it is not, the older op cannot do what the model asks.
    ## Example
        x = Placeholder() {dtype=float32, shape=(1, 2, 2, 1)}
        s = Placeholder() {dtype=int32, shape=(2,)}
        y = ResizeBilinear(x, s) {T=float32, align_corners=false, half_pixel_centers=true}
        on tensorflow==1.13.2
    """

    value: str
    released: str
    """Where TensorFlow's op has it."""
    is_default: bool
    definition: OpDef

    def cause(self) -> str:
        if self.on.kind == OURS and not self.released:
            return f"here it is {self.value}"
        since = f"the attribute is there {self.released}" if self.released else "in no recorded release"
        means = "its default" if self.is_default else "not its default"
        return f"{since}; here it is {self.value}" + (f", {means}" if self.released else "")

    def says(self) -> str:
        return wording.unknown_attr(self.attr or "", self.nodes[0], self.definition, self.on)

    def fixes(self) -> list[str]:
        return ["export again with strip_default_attrs=True"] if self.is_default else []


@finding("TFP208", "ignored-attribute", WARNING)
class IgnoredAttribute(Finding):
    """op `{op}` has no attribute `{attr}` in {target}, which ignores that it is {value}

    ## Cause
    The model was written by a release whose op has an attribute more, and says there
    something else than the older op does. From 2.5 on TensorFlow loads such a model and
    runs it without the attribute: the answers may differ, and nothing says so.
    ## Fix
    Use a release whose op has the attribute, or export the model without it.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2, 2)}
        y = MatMul(x, x) {T=float32, grad_a=true, transpose_a=false, transpose_b=false}
        on tensorflow==2.8.4
    """

    value: str
    released: str

    def cause(self) -> str:
        return f"the attribute is there {self.released}" if self.released else "in no recorded release"


@answers(Question.UNKNOWN_ATTR)
def unknown_attribute(trouble: Trouble) -> Finding | None:
    name, value = trouble.reason.attr, trouble.reason.actual
    having = {}
    for chapter in atlas().definitions(trouble.op):
        declared = next((a for a in (chapter.definition or OpDef()).attr if a.name == name), None)
        if declared is not None and not chapter.provider:
            having.update({build.number: declared for build in chapter.builds if build.platform == X86})
    stock = on_x86(atlas(), STOCK)
    newest = next((having[build.number] for build in reversed(stock) if build.number in having), None)
    released = spans_text(spans(stock, having))
    is_default = newest is not None and newest.HasField("default_value") and _default(newest) == value
    if ignores_unknown_attributes(trouble.target) and trouble.target.kind != OURS:
        if is_default or name in NAMES:  # nothing is lost
            return None
        return IgnoredAttribute(
            on=trouble.target,
            nodes=trouble.nodes,
            op=trouble.op,
            attr=name,
            value=attr_text(value),
            released=released,
        )
    return UnknownAttribute(
        on=trouble.target,
        nodes=trouble.nodes,
        op=trouble.op,
        attr=name,
        value=attr_text(value),
        released=released,
        is_default=is_default,
        definition=trouble.target.registry[trouble.op],
    )


def _default(attr: OpDef.AttrDef) -> Attr:
    return decode(attr.default_value)


@finding("TFP202", "missing-attribute")
class MissingAttribute(Finding):
    """op `{op}` needs attribute `{attr}` in {target}, and the node has none

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

    def cause(self) -> str:
        return f"of type {self.wanted}, without a default"

    def says(self) -> str:
        return wording.missing_attr(self.attr or "", self.nodes[0], self.on)


@finding("TFP203", "attribute-of-wrong-type")
class AttributeOfWrongType(Finding):
    """attribute `{attr}` of op `{op}` is of type {found}; {target} expects {wanted}

    ## Cause
    The definition of the op changed, or the graph was written by hand.
    ## Fix
    Export the model again with the target's release, or mend the attribute.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2,)}
        y = Cast(x) {DstT="half", SrcT=float32}
        on tensorflow==2.8.4
    """

    found: str
    wanted: str
    definition: OpDef

    def says(self) -> str:
        return wording.attr_type(
            self.attr or "", self.found, self.wanted, self.nodes[0], self.definition, self.on
        )


@finding("TFP204", "value-not-allowed")
class ValueNotAllowed(Finding):
    """attribute `{attr}` of op `{op}` is {value}; {target} takes {allowed}

    ## Cause
    The op takes more values in other releases, most often types of elements.
    ## Fix
    Use a release whose op takes the value, or cast before and after the op.
    ## Example
        x = Placeholder() {dtype=uint64, shape=(2, 2)}
        y = MatMul(x, x) {T=uint64, transpose_a=false, transpose_b=false}
        on tensorflow==1.15.5
    """

    value: str
    allowed: str
    released: str
    definition: OpDef
    raw: Attr

    def cause(self) -> str:
        if self.released:
            return f"taken {self.released}"
        return "" if self.on.kind == OURS else "in no recorded release"

    def says(self) -> str:
        return wording.value_not_allowed(self.attr or "", self.raw, self.nodes[0], self.definition, self.on)


@finding("TFP205", "below-minimum")
class BelowMinimum(Finding):
    """attribute `{attr}` of op `{op}` is {value}; {target} wants at least {minimum}

    ## Cause
    A number, or the length of a list, is smaller than the op allows.
    ## Fix
    Mend the attribute, or export the model again.
    ## Example
        y = ConcatV2() {N=0, T=float32, Tidx=int32}
        on tensorflow==2.8.4
    """

    value: str
    minimum: int
    definition: OpDef

    def says(self) -> str:
        return wording.below_minimum(
            self.attr or "", self.value, self.minimum, self.nodes[0], self.definition, self.on
        )


@finding("TFP209", "unknown-data-type")
class UnknownDataType(Finding):
    """attribute `{attr}` of op `{op}` is {value}, a type of elements that {target} does not know

    ## Cause
    Types of elements were added over the releases: uint32 and uint64 with 1.5, float8 with
    2.12, int4 with 2.15.
    ## Fix
    Use a release that knows the type, or cast to another before exporting.
    ## Example
        x = Placeholder() {dtype=int4, shape=(2,)}
        on tensorflow==2.8.4
    """

    value: str
    number: int

    def says(self) -> str:
        return f"AttrValue has invalid DataType enum: {self.number}"


@answers(Question.DATA_TYPE)
def unknown_data_type(trouble: Trouble) -> Finding:
    dtype: DType = trouble.reason.actual
    return UnknownDataType(
        on=trouble.target,
        nodes=trouble.nodes,
        op=trouble.op,
        attr=trouble.reason.attr,
        value=str(dtype),
        number=dtype.number,
    )


@answers(Question.MISSING_ATTR, Question.DEFAULT_ATTR)
def missing_attribute(trouble: Trouble) -> Finding:
    return MissingAttribute(
        on=trouble.target,
        nodes=trouble.nodes,
        op=trouble.op,
        attr=trouble.reason.attr,
        wanted=trouble.reason.expected,
    )


@answers(Question.ATTR_TYPE)
def wrong_type(trouble: Trouble) -> Finding:
    return AttributeOfWrongType(
        on=trouble.target,
        nodes=trouble.nodes,
        op=trouble.op,
        attr=trouble.reason.attr,
        found=trouble.reason.actual,
        wanted=trouble.reason.expected,
        definition=trouble.target.registry[trouble.op],
    )


@answers(Question.ATTR_VALUE)
def value_not_allowed(trouble: Trouble) -> Finding:
    name, value = trouble.reason.attr, trouble.reason.actual
    return ValueNotAllowed(
        on=trouble.target,
        nodes=trouble.nodes,
        op=trouble.op,
        attr=name,
        value=value_text(value),
        allowed=", ".join(map(value_text, trouble.reason.expected)),
        released=_allowing(trouble.op, name, value),
        definition=trouble.target.registry[trouble.op],
        raw=value,
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


@answers(Question.ATTR_MINIMUM)
def below_minimum(trouble: Trouble) -> Finding:
    value = trouble.reason.actual
    return BelowMinimum(
        on=trouble.target,
        nodes=trouble.nodes,
        op=trouble.op,
        attr=trouble.reason.attr,
        value=f"a list of {len(value)}" if isinstance(value, list) else str(value),
        minimum=trouble.reason.expected,
        definition=trouble.target.registry[trouble.op],
    )


@finding("TFP206", "wrong-number-of-inputs")
class WrongNumberOfInputs(Finding):
    """op `{op}` takes {wanted} inputs in {target}; the node has {found}

    ## Cause
    The op takes another number of inputs in the release that wrote the model, or the
    graph was edited.
    ## Fix
    Export the model again with the target's release.
    ## Example
        x = Placeholder() {dtype=float32, shape=(2, 2)}
        y = MatMul(x) {T=float32, transpose_a=false, transpose_b=false}
        on tensorflow==2.8.4
    """

    wanted: int
    found: int
    types: Sequence[DType]

    def says(self) -> str:
        return wording.input_count(self.types, self.found, self.nodes[0], self.on)


@finding("TFP207", "input-of-wrong-type")
class InputOfWrongType(Finding):
    """input {place} of op `{op}` is {found}; {target} expects {wanted}

    ## Cause
    What is read is not what the op takes: another type of elements, a resource where
    the op wants a TF1 variable (a reference), or the reverse.
    ## Fix
    Export the model again; variables of TF1 and TF2 do not mix in one op.
    ## Example
        x = Placeholder() {dtype=int32, shape=(2, 2)}
        y = MatMul(x, x) {T=float32, transpose_a=false, transpose_b=false}
        on tensorflow==2.8.4
    """

    place: int
    found: DType
    wanted: DType

    def cause(self) -> str:
        if self.wanted.is_ref:
            return "the op changes a TF1 variable in place, and reads something else"
        return ""

    def says(self) -> str:
        return wording.input_type(self.place, self.found, self.wanted, self.nodes[0])


@answers(Question.INPUTS_FEW, Question.INPUTS_MANY)
def wrong_number_of_inputs(trouble: Trouble) -> Finding:
    types = trouble.reason.expected
    return WrongNumberOfInputs(
        on=trouble.target,
        nodes=trouble.nodes,
        op=trouble.op,
        wanted=len(types),
        found=trouble.reason.actual,
        types=types,
    )


@answers(Question.INPUT_TYPE)
def input_of_wrong_type(trouble: Trouble) -> Finding:
    return InputOfWrongType(
        on=trouble.target,
        nodes=trouble.nodes,
        op=trouble.op,
        place=trouble.reason.index,
        found=trouble.reason.actual,
        wanted=trouble.reason.expected,
    )
