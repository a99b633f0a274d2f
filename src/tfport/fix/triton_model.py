"""Write a model for Triton Inference Server: a folder of its model repository.

Where ONNX can say the whole signature it is an ONNX model; otherwise (strings, tables, state) a model of
Triton's Python backend, in which tfport runs a SavedModel. The batch is Triton's where the model was seen to
answer each example of a batch as it answers it alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfport.errors import CannotRun, DeadlineExceeded, Error
from tfport.fix.certify.inputs.arrays import ORDINARY
from tfport.fix.certify.provenance import own_version
from tfport.fix.certify.runners import SECONDS, fetches, run_to_end
from tfport.fix.certify.trials import UNENDED, Sizing, TrialBuilder
from tfport.fix.export import export_model, saved_with
from tfport.fix.options import FixOptions
from tfport.fix.signature_sizes import mixed_outputs
from tfport.formats.lite.write import lite_bytes
from tfport.formats.output import new_path
from tfport.graph.dtypes import DType
from tfport.graph.model import Model, Signature, TensorSpec
from tfport.runtime.composite import flatten_inputs, pack_outputs
from tfport.runtime.custom.registry import Registry
from tfport.runtime.export import export_signature
from tfport.runtime.session import Session
from tfport.startup.dataclass import dataclass

TYPES = {
    "bool": "TYPE_BOOL", "uint8": "TYPE_UINT8", "uint16": "TYPE_UINT16", "uint32": "TYPE_UINT32",
    "uint64": "TYPE_UINT64", "int8": "TYPE_INT8", "int16": "TYPE_INT16", "int32": "TYPE_INT32",
    "int64": "TYPE_INT64", "float16": "TYPE_FP16", "float32": "TYPE_FP32", "float64": "TYPE_FP64",
    "bfloat16": "TYPE_BF16", "string": "TYPE_STRING",
}  # fmt: skip
"""The types of Triton's model configuration by those of TensorFlow."""
MOST_EXAMPLES = 32
"""The batch that Triton may collect."""
EXAMPLES, OTHER_SIZE = 3, 4
MODEL_PY = Path(__file__).with_name("triton_python_model.txt")


@dataclass(frozen=True, slots=True)
class TritonModel:
    """What was written."""

    name: str
    backend: str
    """`onnxruntime` or `python`."""
    why_python: str
    """Why ONNX does not hold the signature."""
    max_batch_size: int
    signature: Signature
    why_untried: str = ""
    """Why the model was not run, and so has no batches: its call does not end."""


def write_triton_model(
    model: Model, repository: str | os.PathLike[str], name: str, options: FixOptions, registry: Registry
) -> TritonModel:
    """Write the only signature, or the usual one, as version 1 of a model of a repository."""
    saved = saved_with(model, options)
    signature = _signature(saved)
    if problems := list(_problems(signature)):
        raise CannotRun(f"{model.where}: {'; '.join(problems)}")
    session = Session(saved, registry=registry)
    inputs, answers, why_untried = _trial(saved, session, signature)
    if problems := list(_unknown_ranks(signature, inputs, answers)):
        why = f": {why_untried}" if why_untried else ""
        raise CannotRun(f"{model.where}: {'; '.join(problems)}{why}")
    has_effects = _has_effects(session, signature)
    has_batch = not has_effects and _is_batch(saved, signature, inputs, answers)
    batch = MOST_EXAMPLES if has_batch else 0
    with new_path(Path(repository, name)) as folder:
        folder.mkdir()
        version = folder / "1"
        version.mkdir()
        backend, why = "onnxruntime", ""
        scalars = [] if batch else _scalars(signature, {**inputs, **answers})
        try:
            if scalars:
                raise CannotRun(f"{model.where}: `{scalars[0]}` is a scalar, which Triton does not support")
            export_signature(session, signature, str(version / "model.onnx"))
        except CannotRun as error:
            backend, why = "python", str(error)
            _write_for_tfport(model, version / "model", options)
            _write_python_model(folder, version, signature, scalars)
        config = [*_config(name, backend, batch, signature, inputs, answers)]
        # instances do not share variables, and a warm-up would change them
        config += _instances("KIND_CPU" if has_effects else "KIND_AUTO", backend)
        if inputs and not has_effects and _accepts_zeros(session, signature, inputs):
            config += _warm_up(signature, inputs, batch)
        (folder / "config.pbtxt").write_text("\n".join(config) + "\n", encoding="utf-8")
    return TritonModel(name, backend, why, batch, signature, why_untried)


def _write_for_tfport(model: Model, path: Path, options: FixOptions) -> None:
    """What the Python backend loads: a TensorFlow Lite file as it is, since TensorFlow may lack its ops."""
    if model.lite is not None and options == FixOptions(signatures=options.signatures):
        path.write_bytes(lite_bytes(model.lite))
    else:
        export_model(model, path, as_graph=False, options=options)


def _signature(model: Model) -> Signature:
    if not model.signatures:
        raise Error(f"{model.where}: the model has no signatures; name the tensors to export with --fetch")
    if len(model.signatures) != 1 and "serving_default" not in model.signatures:
        known = ", ".join(model.signatures)
        raise Error(
            f"{model.where}: a model of Triton has one signature; choose it with --signature: {known}"
        )
    only = next(iter(model.signatures.values()))
    return model.signatures.get("serving_default", only)


def _problems(signature: Signature) -> Iterator[str]:
    for name, spec in {**signature.inputs, **signature.outputs}.items():
        if spec.form != "dense" or spec.dtype.name not in TYPES:
            yield f"`{name}` is {spec.form} {spec.dtype}, which Triton does not have"
    if not signature.inputs or not signature.outputs:
        yield f"signature `{signature.name}` has no {'outputs' if signature.inputs else 'inputs'}"


def _trial(
    model: Model, session: Session, signature: Signature
) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Inputs that the model accepts, and its answers; none of either if no such inputs are found.

    The last is why, where a call does not end.
    """
    builder = TrialBuilder(model, signature)
    usual, unusual = builder.sizings()
    for sizing in (Sizing(EXAMPLES, OTHER_SIZE), *usual, *unusual):
        try:
            inputs = builder.trial(sizing, ORDINARY).inputs
            return inputs, _answers(session, signature, inputs), ""
        except DeadlineExceeded:  # a loop would go on for other sizes too
            return {}, {}, f"{UNENDED} {SECONDS:.0f} seconds"
        except Error:  # of the model, or of sizes with too many elements
            continue
    return {}, {}, ""


def _answers(session: Session, signature: Signature, inputs: Mapping[str, Any]) -> dict[str, Any]:
    values = run_to_end(session, fetches(signature), flatten_inputs(signature, inputs), SECONDS)
    return pack_outputs(signature, values)


def _unknown_ranks(
    signature: Signature, inputs: Mapping[str, Any], answers: Mapping[str, Any]
) -> Iterator[str]:
    for name, spec in {**signature.inputs, **signature.outputs}.items():
        if spec.shape.dims is None and name not in {**inputs, **answers}:
            yield f"the rank of `{name}` is not known, and no inputs were found that the model accepts"


def _scalars(signature: Signature, arrays: Mapping[str, Any]) -> list[str]:
    specs = {**signature.inputs, **signature.outputs}
    answered = {name for name, array in arrays.items() if np.ndim(array) == 0}
    return [name for name, spec in specs.items() if spec.shape.dims == () or name in answered]


def _has_effects(session: Session, signature: Signature) -> bool:
    """Whether a call changes the answers of the next: two requests in one batch would be one call."""
    feeds, fetches = (
        [tensor for spec in specs.values() for tensor in spec.tensors]
        for specs in (signature.inputs, signature.outputs)
    )
    return any(step.effect for step in session.program(fetches, feeds).steps)


def _accepts_zeros(session: Session, signature: Signature, inputs: Mapping[str, Any]) -> bool:
    """Whether the model runs in a warm-up with zeros; Triton does not load one that fails."""
    empty = {
        name: np.full_like(a, b"") if a.dtype == object else np.zeros_like(a) for name, a in inputs.items()
    }
    try:
        _answers(session, signature, empty)
    except Error:
        return False
    return True


def _is_batch(
    model: Model, signature: Signature, inputs: Mapping[str, Any], answers: Mapping[str, Any]
) -> bool:
    """Whether the first axis of all tensors is a batch whose examples do not affect each other."""
    shapes = [spec.shape.dims for spec in signature.inputs.values()]
    if not inputs or any(not dims or dims[0] is not None for dims in shapes):
        return False
    count = {len(array) if np.ndim(array) else -1 for array in (*inputs.values(), *answers.values())}
    try:
        return len(count) == 1 and not mixed_outputs(model, signature, inputs, answers, 1)
    except Error:  # one example alone is refused
        return False


# The configuration, as text of Triton's ModelConfig


def _config(
    name: str,
    backend: str,
    batch: int,
    signature: Signature,
    inputs: Mapping[str, Any],
    answers: Mapping[str, Any],
) -> Iterator[str]:
    yield f"name: {_quoted(name)}"
    yield f"backend: {_quoted(backend)}"
    yield f"max_batch_size: {batch}"
    yield from _tensors("input", signature.inputs, inputs, batch)
    yield from _tensors("output", signature.outputs, answers, batch)
    if batch:
        yield "dynamic_batching { }"


def _instances(device: str, backend: str) -> Iterator[str]:
    yield f"instance_group [ {{ count: 1 kind: {device} }} ]"
    if backend == "python":
        yield "# environment.yml has the packages; pack it with conda-pack and name it here:"
        yield '# parameters: { key: "EXECUTION_ENV_PATH", value: { string_value: "…/environment.tar.gz" } }'


def _tensors(
    field: str, specs: Mapping[str, TensorSpec], arrays: Mapping[str, Any], batch: int
) -> Iterator[str]:
    for name, spec in specs.items():
        dims = spec.shape.dims if spec.shape.dims is not None else (None,) * np.ndim(arrays[name])
        sizes = [-1 if size is None else size for size in (dims[1:] if batch else dims)]
        # a tensor without sizes has one for clients, as in Triton's own TensorFlow backend
        described = f"dims: {_list(sizes or [1])}"
        described += " reshape: { shape: [ ] }" if batch and not sizes else ""
        yield f"{field} [ {{ name: {_quoted(name)} data_type: {_type(spec.dtype)} {described} }} ]"


def _warm_up(signature: Signature, inputs: Mapping[str, Any], batch: int) -> Iterator[str]:
    yield "model_warmup [ {"
    yield '  name: "zeros"'
    yield "  batch_size: 1"  # Triton skips a warm-up with 0, also for a model without batches
    for name, spec in signature.inputs.items():
        sizes = np.shape(inputs[name])[1 if batch else 0 :] or (1,)
        value = f"data_type: {_type(spec.dtype)} dims: {_list(sizes)} zero_data: true"
        yield f"  inputs {{ key: {_quoted(name)} value {{ {value} }} }}"
    yield "} ]"


def _type(dtype: DType) -> str:
    return TYPES[dtype.name]


def _quoted(text: str) -> str:
    return json.dumps(text)


def _list(sizes: Sequence[int]) -> str:
    return f"[ {', '.join(map(str, sizes))} ]"


# A model of the Python backend


def _write_python_model(folder: Path, version: Path, signature: Signature, scalars: list[str]) -> None:
    types = {name: str(spec.dtype.numpy) for name, spec in signature.outputs.items()}
    text = MODEL_PY.read_text("utf-8")
    values = {
        "SIGNATURE": signature.name,
        "INPUTS": list(signature.inputs),
        "OUTPUTS": types,
        "SCALARS": scalars,
    }
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", repr(value))
    (version / "model.py").write_text(text, encoding="utf-8")
    (folder / "environment.yml").write_text(
        "name: tfport\nchannels: [conda-forge]\n"
        f"dependencies:\n  - python=3.12\n  - pip\n  - pip: [tfport=={own_version()}]\n",
        encoding="utf-8",
    )
