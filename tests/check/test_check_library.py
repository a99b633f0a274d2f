"""A custom op is registered once its library is named."""

from pathlib import Path

from tests.recorded_models import graph

import tfport
from tfport.graph.build import graph_to_def

LIBRARY = Path(__file__).parents[1] / "libraries/good/op.so"


def model(text: str) -> bytes:
    return graph_to_def(graph(text)).SerializeToString()


def test_an_op_of_a_library_fails_until_the_library_is_named():
    from tfport.registry.library import library_source

    source = library_source(LIBRARY)
    (op,) = source.ops()
    arguments = ", ".join("x" for _ in source.definition(op).input_arg)
    attrs = ", ".join(f"{a.name}=float32" for a in source.definition(op).attr if a.type == "type")
    made = model(f"x = Placeholder() {{dtype=float32, shape=(2,)}}\ny = {op}({arguments}) {{{attrs}}}")
    report = tfport.check(made, on="tensorflow==2.21.0", loader="capi")
    assert (report.verdict, report.findings[0].code) == ("fails", "TFP102")
    assert report.findings[0].fixes() == ["name its library with --library FILE"]
    report = tfport.check(made, on="tensorflow==2.21.0", loader="capi", libraries=[str(LIBRARY)])
    assert report.verdict == "runs"
    assert "assumes that op.so is loaded" in report.results[0].target.notes[-1]
