"""Change the signatures of a model: names of inputs and outputs, signatures for single heads, fixed sizes.

The changed model is a SavedModel as TF1 writes it: the objects of TF2 name the arguments of functions, and
would keep the old names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tfport.errors import CannotRun, Error
from tfport.fix.journal import Journal
from tfport.fix.options import SignatureChanges
from tfport.fix.signature_sizes import set_shapes
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.saver import add_saver
from tfport.fix.structure.session_form import to_session_form
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.model import INIT_SIGNATURE, TRAIN_SIGNATURE, Model, Signature
from tfport.graph.shapes import Shape

METHODS = {name: f"tensorflow/serving/{name}" for name in ("predict", "classify", "regress")}
HIDDEN = (INIT_SIGNATURE, TRAIN_SIGNATURE)


def with_signature_changes(model: Model, changes: SignatureChanges) -> Model:
    """A copy of a SavedModel with these changes; Error names all that cannot be changed."""
    if problems := list(_problems(model, changes)):
        raise Error(f"{model.where}: {'; '.join(problems)}")
    sizes = {name: _new_shapes(signature, changes) for name, signature in model.signatures.items()}
    has_objects = model.meta.HasField("object_graph_def")
    work = _as_session_form(model) if has_objects or any(sizes.values()) else model.copy()
    if any(sizes.values()):
        set_shapes(model, work, sizes)
    _rename(work.meta, changes)
    work.__dict__.pop("signatures", None)
    return work


def _problems(model: Model, changes: SignatureChanges) -> Iterator[str]:
    signatures = model.signatures.values()
    for what, asked, known in (
        ("input", {**changes.inputs, **changes.shapes}, {name for s in signatures for name in s.inputs}),
        ("output", changes.outputs, {name for s in signatures for name in s.outputs}),
        ("signature", _old_names(model, changes), {s.name for s in signatures}),
    ):
        for name in asked:
            if name not in known:
                yield f"no {what} `{name}`; {what}s: {', '.join(sorted(known)) or 'none'}"
    for head, outputs in changes.heads.items():
        if not any(set(outputs) <= set(signature.outputs) for signature in signatures):
            yield f"no signature has all outputs of `{head}`: {', '.join(outputs)}"
    if "" in changes.names and len(model.signatures) != 1:
        yield f"it has several signatures: {', '.join(model.signatures)}; name one as OLD={changes.names['']}"
    for signature in signatures:
        for what, names, renamed in (
            ("inputs", signature.inputs, changes.inputs),
            ("outputs", signature.outputs, changes.outputs),
        ):
            new = [renamed.get(name, name) for name in names]
            if twice := sorted({name for name in new if new.count(name) > 1}):
                yield f"two {what} of `{signature.name}` would be named `{twice[0]}`"
        yield from _shape_problems(signature, changes)
    new = [_old_names(model, changes).get(name, name) for name in model.signatures] + list(changes.heads)
    if twice := sorted({name for name in new if new.count(name) > 1}):
        yield f"two signatures would be named `{twice[0]}`"


def _shape_problems(signature: Signature, changes: SignatureChanges) -> Iterator[str]:
    for name, spec in signature.inputs.items():
        asked, dims = changes.shapes.get(name), spec.shape.dims
        if spec.form != "dense" and (asked is not None or changes.batch != ""):
            yield f"input `{name}` is {spec.form}, whose shape cannot be changed"
        elif asked is not None and dims is not None and len(asked) != len(dims):
            yield f"input `{name}` has the shape {spec.shape}, which {Shape(asked)} does not fit"


def _old_names(model: Model, changes: SignatureChanges) -> dict[str, str]:
    """The new names of signatures by the old ones."""
    only = next(iter(model.signatures), "")
    return {old or only: new for old, new in changes.names.items()}


def _rename(meta: pb.MetaGraphDef, changes: SignatureChanges) -> None:
    protos = {name: proto for name, proto in meta.signature_def.items() if name not in HIDDEN}
    for head, outputs in changes.heads.items():
        source = next(proto for _, proto in sorted(protos.items()) if set(outputs) <= set(proto.outputs))
        meta.signature_def[head].CopyFrom(source)
        for name in set(source.outputs) - set(outputs):
            del meta.signature_def[head].outputs[name]
    only = next(iter(protos), "")
    for old, new in changes.names.items():
        renamed = pb.SignatureDef.FromString(meta.signature_def.pop(old or only).SerializeToString())
        meta.signature_def[new].CopyFrom(renamed)
    for name, proto in meta.signature_def.items():
        if name not in HIDDEN:
            for infos, names in ((proto.inputs, changes.inputs), (proto.outputs, changes.outputs)):
                _rename_keys(infos, names)
            _rename_keys(proto.defaults, changes.inputs)
            if changes.method:
                proto.method_name = METHODS.get(changes.method, changes.method)


def _rename_keys(infos: Any, names: Mapping[str, str]) -> None:
    """Rename keys of a map, also when two of them swap their names."""
    taken = {names[old]: infos.pop(old) for old in names if old in infos}
    for new, info in taken.items():
        infos[new].CopyFrom(info)


def _as_session_form(model: Model) -> Model:
    work = model.copy()
    ends = [value.node for signature in work.signatures.values() for value in work.ends_of(signature)]
    try:
        variables = to_session_form(work, ends, Journal())
    except StructureRefusal as refusal:
        raise CannotRun(f"{model.where}: its signatures cannot be changed: {refusal}") from None
    if variables:
        ordered = sorted(variables.values(), key=lambda variable: variable.name)
        work.meta.saver_def.CopyFrom(add_saver(work.graph, ordered, saves=True))
    else:
        work.checkpoint_prefix = None
    return work


def _new_shapes(signature: Signature, changes: SignatureChanges) -> dict[str, Shape]:
    """The new shapes of the inputs whose shapes change."""
    shapes = {}
    for name, spec in signature.inputs.items():
        dims = changes.shapes.get(name, spec.shape.dims)
        if dims and not isinstance(changes.batch, str):
            dims = (changes.batch, *dims[1:])
        if dims is not None and dims != spec.shape.dims:
            shapes[name] = Shape(dims)
    return shapes
