"""A Keras SavedModel with the signature that its Keras file has, so that both can be compared.

Keras names the inputs and outputs of `serving_default` after the layers. Characters that a Python argument
cannot have become `_`, and some releases number several outputs of one layer otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tfport.errors import CannotRun
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.frontends.keras.build import SIGNATURE
from tfport.frontends.keras.instance import KerasModel
from tfport.frontends.keras.saved_model import keras_model_of, learned_sizes
from tfport.graph.model import INIT_SIGNATURE, Model
from tfport.startup.dataclass import replace

Infos = Mapping[str, pb.TensorInfo]


def has_signature(saved: Model) -> bool:
    return bool(saved.signatures)


def compared_form(saved: Model, written: Model, keras: KerasModel | None = None) -> Model:
    """What a file written from a SavedModel is compared with: its graph; without a signature, its layers."""
    if has_signature(saved):
        return named_as_keras(saved, written)
    return keras or keras_model_of(saved)


def named_as_keras(saved: Model, keras: Model) -> Model:
    """The SavedModel with `serving_default` alone, its inputs and outputs named as in the Keras model.

    Inputs whose size a layer learned have that size: the graph repeats an axis of size 1, which no Keras file
    can say.
    """
    if SIGNATURE not in saved.meta.signature_def:
        raise CannotRun(
            f"{saved.where}: the SavedModel has no signature `{SIGNATURE}` to compare the Keras file with; "
            f"signatures: {', '.join(saved.signatures)}"
        )
    meta = pb.MetaGraphDef()
    meta.CopyFrom(saved.meta)
    own, wanted = saved.meta.signature_def[SIGNATURE], keras.meta.signature_def[SIGNATURE]
    meta.signature_def.clear()
    renamed = meta.signature_def[SIGNATURE]
    renamed.method_name = own.method_name
    sizes = learned_sizes(saved)
    for name, info in _renamed(own.inputs, wanted.inputs, saved.where, "inputs"):
        renamed.inputs[name].CopyFrom(info)
        if name in sizes:
            renamed.inputs[name].tensor_shape.dim[-1].size = sizes[name]
    for name, info in _renamed(own.outputs, wanted.outputs, saved.where, "outputs"):
        renamed.outputs[name].CopyFrom(info)
    if INIT_SIGNATURE in saved.meta.signature_def:
        meta.signature_def[INIT_SIGNATURE].CopyFrom(saved.meta.signature_def[INIT_SIGNATURE])
    return replace(saved, meta=meta)


def _renamed(own: Infos, wanted: Infos, where: str, kind: str) -> Iterator[tuple[str, pb.TensorInfo]]:
    """Each tensor with its new name: the same, the same as a Python argument, or the only one that fits."""
    left, unnamed = dict(own), []
    for name in wanted:
        if name in left:
            yield name, left.pop(name)
        else:
            unnamed.append(name)
    for name in unnamed:
        fitting = _fitting(name, wanted[name], left, unnamed)
        if fitting is None:
            raise CannotRun(
                f"{where}: its signature `{SIGNATURE}` has the {kind} {', '.join(sorted(own))}, and the "
                f"Keras model {', '.join(sorted(wanted))}; tfport cannot tell which is which, so it "
                "cannot compare them"
            )
        yield name, left.pop(fitting)


def _fitting(name: str, info: pb.TensorInfo, left: Infos, unnamed: Sequence[str]) -> str | None:
    plain = re.sub(r"\W", "_", name)
    if plain in left:
        return plain
    if len(unnamed) == len(left) == 1:
        return next(iter(left))
    alike = [key for key, other in left.items() if _kind(other) == _kind(info)]
    return alike[0] if len(alike) == 1 else None


def _kind(info: pb.TensorInfo) -> tuple[int, list[int]]:
    return info.dtype, [dim.size for dim in info.tensor_shape.dim]
