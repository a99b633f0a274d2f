"""Does a decoder answer with the log probabilities of other releases? Finding 311."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tfport.atlas.target import Target
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import WARNING, Finding, check, finding
from tfport.check.loader_stages import NEVER, WHEN_RUN, Noticed
from tfport.check.loaders import Loader
from tfport.check.log_probabilities import DECODER, uncorrected
from tfport.check.release_quirks import normalizes_log_probabilities
from tfport.graph.reach import every_node


@finding(
    "TFP311", "log-probability-not-normalized", WARNING, noticed=Noticed(serving=WHEN_RUN, python_2=NEVER)
)
class LogProbabilityNotNormalized(Finding):
    """the log probabilities of `{node}` are not normalized in {target}

    ## Cause
    Until 1.10, CTCBeamSearchDecoder subtracts only the largest logit of each step, not the
    logarithm of the sum of the exponentials. The decoded paths are the same, but their log
    probabilities are too large, and may be above 0: 0.0 instead of -0.42 for a step with five
    logits. A LogSoftmax before it does not help.
    ## Fix
    `tfport fix` subtracts the difference for releases that need it. Or use 1.11 or later.
    ## Example
        x = Placeholder() {dtype=float32, shape=(?, ?, 5)}
        lengths = Placeholder() {dtype=int32, shape=(?,)}
        d = CTCBeamSearchDecoder(x, lengths) {beam_width=8, top_paths=1}
        y = Neg(d:3) {T=float32}
        on tensorflow==1.4.1
    """

    def fixes(self) -> list[str]:
        return ["`tfport fix` subtracts the difference for releases that need it"]


@check
def log_probabilities_are_normalized(
    model: CheckedModel, target: Target, loader: Loader
) -> Iterator[Finding]:
    if not normalizes_log_probabilities(target):
        yield from model.once(_not_normalized)


def _not_normalized(model: CheckedModel) -> Sequence[Finding]:
    program, outputs = model.model, model.outputs
    signatures = program.signatures.values() if outputs is None else [outputs.signature]
    answers = {value for signature in signatures for value in program.ends_of(signature)}
    return [
        LogProbabilityNotNormalized(nodes=[node], op=DECODER)
        for node in every_node(program.graph)
        if (value := uncorrected(node)) is not None and (value.uses or value in answers)
    ]
