"""XlaCallModule nodes become calls of functions; what cannot be translated stays, with a reason."""

import numpy as np
import pytest
from tests.frontends.stablehlo.modules import rewritten, run
from tests.frontends.stablehlo.programs import X
from tests.runtime.ops.xla.test_call_module import module_of

from tfport.fix.attempt import ModelForm
from tfport.fix.rule import ROUNDING

KINDS = ["tensor<3x4xf32>"]


def test_a_module_that_the_target_runs_stays():
    attempt = rewritten(module_of("softmax"), (X,), KINDS, "tensorflow==2.21.0")
    assert [node.op for node in attempt.model.graph if node.name == "y"] == ["XlaCallModule"]
    assert not attempt.journal.entries


def test_a_module_of_a_newer_version_is_written_as_ops():
    attempt = rewritten(module_of("softmax"), (X,), KINDS, "tensorflow==2.13.0", ModelForm.SESSION)
    assert attempt.runs
    entry = next(entry for entry in attempt.journal.entries if entry.name == "program as ops")
    assert (entry.keeps, entry.examples) == (ROUNDING, ["y"])


def test_branches_of_platforms_are_decided():
    """The number of the platform is constant, so that only its branch is written."""
    for platforms, sign in (([b"CPU", b"CUDA"], -1), ([b"CUDA", b"CPU"], 1)):
        attempt = rewritten(
            module_of("case"), (X,), KINDS, "tensorflow==2.8.4", ModelForm.SESSION, platforms=platforms
        )
        ops = {node.op for node in attempt.model.graph}
        assert not ops.intersection(("If", "StatelessIf"))
        assert np.array_equal(run(attempt.model, (X,), 1)[0], sign * X)


def test_equal_elements_are_not_written_out():
    attempt = rewritten(
        module_of("reduce odd"), (X,), ["tensor<3xf32>"], "tensorflow==2.8.4", ModelForm.SESSION
    )
    sizes = [node.attrs["value"].numpy().size for node in attempt.model.graph if node.op == "Const"]
    assert max(sizes) <= X.size


@pytest.mark.parametrize(
    ("module", "inputs", "reason"),
    [
        (b"module {}", (X,), "expected MLIR bytecode"),
        (None, (X, X), "its program takes 1 tensors, found 2"),
        (None, (X.astype(np.float64),), "is float64, its program takes"),
    ],
)
def test_a_module_that_cannot_be_read_stays(module, inputs, reason):
    attempt = rewritten(module or module_of("softmax"), inputs, KINDS, "tensorflow==2.8.4")
    assert not attempt.runs
    assert len(attempt.reasons) == 1
    assert reason in attempt.reasons[0]
