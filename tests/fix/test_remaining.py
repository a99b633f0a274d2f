"""What is left after a rewrite is said with what to do."""

import pytest
from tests.fix.certify.models import frozen

import tfport

BEFORE = """
x = Placeholder() {dtype=float32, shape=(2,)}
n = Neg(x) {T=float32}
"""


@pytest.mark.parametrize("end", ["y = AcmeZeroOut(n)", "y = AcmeZeroOut(n, x, n)"])
def test_a_custom_op_at_the_end_of_a_graph_says_what_to_fetch_instead(end):
    result = tfport.fix(frozen(BEFORE + end), target="tensorflow==2.8.4")
    fetched = ("n", "x") if ", x" in end else ("n",)
    fetches = " ".join(f"--fetch {name}" for name in fetched)
    assert result.remaining[0].startswith("TFP102: op `AcmeZeroOut`")
    assert result.remaining[1] == f"or `{fetches}`: the graph up to `y`, without the custom op AcmeZeroOut"
    assert tfport.fix(frozen(BEFORE + end), target="tensorflow==2.8.4", fetches=fetched).ok
