"""Rewrite a model for TensorFlow.js, and write it as a graph model.

One signature, variables as constants, branches and loops in the main graph, assertions dropped, and only
ops that the release and its backend run, by the same rules and with the same comparison as for a release
of TensorFlow.
"""

from __future__ import annotations

import os
from dataclasses import fields

from tfport.atlas.target import Target
from tfport.atlas.tfjs.releases import TfjsSource
from tfport.check.tfjs import wrong_numbers
from tfport.fix.certify.verification import Verification
from tfport.fix.certify.verify import verify
from tfport.fix.export import saved_with, with_choice_among_changes
from tfport.fix.fix import Progress, fix_model
from tfport.fix.options import FixOptions
from tfport.fix.result import Fixed
from tfport.fix.rule import LOSSY
from tfport.fix.signature_sizes import PLACEHOLDERS
from tfport.formats.tfjs.write import WeightQuantization
from tfport.graph.dtypes import INT64, STRING
from tfport.graph.model import Model
from tfport.graph.save_tfjs import NO_QUANTIZATION, chosen_signature, save_tfjs, with_restored_weights
from tfport.startup.dataclass import dataclass, replace

TOLERANCE = 0.05
ONLY_UTF_8 = (
    "TensorFlow.js reads strings as UTF-8, inside the model too: for other bytes, and for letters beyond "
    "ASCII that the model splits into bytes, its answers may differ"
)
ONLY_INT32 = (
    "TensorFlow.js has int32 for int64: it takes no larger numbers, and its answers differ where the model "
    "computes larger ones"
)
QUANTIZED, FEWER_BITS = "quantized", "Weights are stored in fewer bits, as `--quantize` asks."


@dataclass
class FixedTfjs(Fixed):
    """A model rewritten for TensorFlow.js."""

    quantization: WeightQuantization = NO_QUANTIZATION

    def _write(self, path: str | os.PathLike[str]) -> str:
        save_tfjs(self.model, path, self.quantization)
        return str(path)


def fix_tfjs(
    model: Model,
    target: Target,
    options: FixOptions,
    progress: Progress = lambda doing: None,
    quantization: WeightQuantization = NO_QUANTIZATION,
    tolerance: float | None = None,
) -> FixedTfjs:
    """Rewrite one signature of a model for a release of TensorFlow.js.

    With quantized weights, outputs may differ by `tolerance`, a part of their largest number.
    """
    options = with_choice_among_changes(options)
    saved = saved_with(model, options)
    name = chosen_signature(saved)
    fed = [value for value in saved.starts_of(saved.signatures[name]) if value.node.op not in PLACEHOLDERS]
    feeds = tuple(value.name for value in fed)
    chosen = replace(options, signatures=(name,), fetches=(), feeds=feeds, drop_asserts=True)
    fixed = fix_model(saved, target, chosen, progress)
    if quantization.patterns and fixed.ok:
        progress("comparing outputs with quantized weights")
        restored, names = with_restored_weights(fixed.model, quantization)
        fixed.journal.changed(QUANTIZED, FEWER_BITS, [(name, "Const") for name in names], LOSSY)
        fixed.verification = verify_quantized(saved, restored, chosen, tolerance, progress)
    if fixed.verification is not None:
        signature = saved.signatures[name]
        ends = {spec.dtype for spec in (*signature.inputs.values(), *signature.outputs.values())}
        if any(spec.dtype == STRING for spec in signature.inputs.values()):
            fixed.verification.needed.append(ONLY_UTF_8)
        if INT64 in ends:
            fixed.verification.needed.append(ONLY_INT32)
        if target.tfjs is not None:
            wasm = TfjsSource(target.tfjs.version, "wasm")
            fixed.verification.needed += [
                f"{wasm.name} answers {finding.op} wrongly for {finding.numbers}"
                for finding in wrong_numbers(list(fixed.model.graph), wasm)
            ]
    values = {field.name: getattr(fixed, field.name) for field in fields(Fixed)}
    return FixedTfjs(**values, quantization=quantization)


def verify_quantized(
    before: Model, after: Model, options: FixOptions, tolerance: float | None, progress: Progress
) -> Verification:
    """Measure what quantized weights change."""
    part = TOLERANCE if tolerance is None else tolerance
    return verify(
        before,
        after,
        inputs=options.inputs or None,
        signatures=options.signatures,
        feeds=options.feeds,
        rtol=part,
        atol=options.atol,
        part=part,
        live=False,
        progress=progress,
    )
