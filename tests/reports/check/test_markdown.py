import pytest
from tests.reports.check.reports import fails, report, runs, target, unregistered

from tfport.reports.check import markdown as report_markdown
from tfport.reports.check.markdown import code, escaped

TWO = """\
### tfport check: 2 models: 1 fail, 1 cannot be read

| model | target | verdict | loaders | findings |
|---|---|---|---|---|
| `export/1` | tensorflow 1.11.0 to 1.13.2 | ❌ fails at load | python, serving | `TFP101 BatchMatMulV2` |
| `export/1` | tensorflow 1.14.0 | ✅ runs | python, serving |  |
| `c` |  | ⚠️ cannot be read |  | c: an empty file |

<details><summary>error[TFP101]: op <code>BatchMatMulV2</code> is not registered in tensorflow 1.11.0 to 1.13.2</summary>

- in `export/1`: `y = BatchMatMulV2(a, a) {T=float32, adj_x=false, adj_y=false}`
- 2 nodes: y, y\\_1
- stops serving\\_default
- cause: registered since 1.14.0; only BatchMatMul in tensorflow 1.11.0 to 1.13.2
- TensorFlow says: `Op type not registered 'BatchMatMulV2' in binary running on HOST. …`

</details>
"""  # noqa: E501


def test_a_table_and_folded_details():
    old = [target(version) for version in ("1.11.0", "1.12.3", "1.13.2")]
    made = report(*(fails(on, unregistered(on)) for on in old), runs(target("1.14.0")))
    parts = [report_markdown.part(made), report_markdown.unreadable("c", "c: an empty file")]
    assert report_markdown.whole(parts) == TWO


def test_only_the_first_of_many_findings_are_shown():
    on = target("1.13.2")
    made = report(fails(on, *(unregistered(on, f"Op{i}") for i in range(60))))
    markdown = report_markdown.whole([report_markdown.part(made)])
    assert markdown.count("<details>") == report_markdown.MOST_DETAILS
    assert markdown.endswith("… and 10 more findings; `tfport check` prints them all\n")
    assert "`TFP101 Op3`, 56 more |" in markdown


MEANT = [
    ("a|b", r"a\|b", r"`a\|b`"),
    ("<b>", r"\<b\>", "`<b>`"),
    ("a`b", r"a\`b", "`a'b`"),
    ("say `x_y`", "say `x_y`", "`say 'x_y'`"),
    ("a\nb", r"a\\nb", r"`a\nb`"),
]


@pytest.mark.parametrize(("text", "prose", "span"), MEANT)
def test_text_from_a_model_is_escaped(text, prose, span):
    assert (escaped(text), code(text)) == (prose, span)
