"""Check a request against its signature: input names, input types and requested outputs.

Error messages are TensorFlow's. Shapes are checked by the ops of the model, the encoding by each front end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tfport.formats.encoding.tensor import type_name
from tfport.graph.model import Signature
from tfport.runtime.select_signature import DEFAULT
from tfport.serve.status import StatusCode, StatusError, invalid_argument


def signature_to_predict(signatures: Mapping[str, Signature], name: str) -> Signature:
    """Return the signature of a Predict call; the default one if no name is given."""
    wanted = name or DEFAULT
    if wanted not in signatures:
        raise StatusError(StatusCode.FAILED_PRECONDITION, f'Serving signature key "{wanted}" not found.')
    return signatures[wanted]


def inputs_are_known(signature: Signature, inputs: Collection[str]) -> None:
    """Raise unless every input is present or has a default, and no other is present."""
    if set(inputs) == signature.inputs.keys():
        return
    names, known = sorted(inputs), sorted(signature.inputs)
    if len(names) > len(known) or (len(names) < len(known) and not signature.defaults):
        extra, missing = sorted(set(names) - set(known)), sorted(set(known) - set(names))
        raise invalid_argument(
            f"input size does not match signature: {len(names)}!={len(known)} len({_set(names)}) != "
            f"len({_set(known)}). Sent extra: {_set(extra)}. Missing but required: {_set(missing)}."
        )
    for name in known:
        if name not in inputs and name not in signature.defaults:
            raise invalid_argument(
                f"Signature input alias: {name}(feed name: {signature.inputs[name].tensors[0]}) not found in "
                "request and no default value provided. Inputs expected to be in the request "
                f"{_set(names)}, or default input alias set: {','.join(sorted(signature.defaults))}"
            )
    if unknown := set(names) - set(known):
        used = [name for name in names if name not in unknown]
        raise invalid_argument(
            f"Inputs contains invalid name. Used request inputs: {','.join(used)}, "
            f"request input: {','.join(names)}"
        )


def types_match(signature: Signature, dtypes: Mapping[str, int]) -> None:
    """Raise unless each input has the signature's type; `dtypes` are DataType numbers by input name."""
    # TensorFlow numbers its arguments in the order of the tensor names
    order = sorted(dtypes, key=lambda name: signature.inputs[name].tensors)
    for index, name in enumerate(order):
        wanted, got = signature.inputs[name].dtype.base.number, dtypes[name]
        if wanted != got:
            raise invalid_argument(
                f"Expects arg[{index}] to be {_short(wanted)} but {_short(got)} is provided"
            )


def outputs_are_known(signature: Signature, wanted: Sequence[str]) -> None:
    """Raise unless the output filter names outputs of the signature, each once."""
    seen: set[str] = set()
    for name in wanted:
        if name not in signature.outputs:
            raise invalid_argument(
                f"output tensor alias not found in signature: {name} Outputs expected to be in the set "
                f"{_set(sorted(signature.outputs))}."
            )
        if name in seen:
            raise invalid_argument(f"duplicate output tensor alias: {name}")
        seen.add(name)


def _set(names: Sequence[str]) -> str:
    return f"{{{','.join(names)}}}"


def _short(number: int) -> str:
    return type_name(number).removeprefix("DT_").lower()
