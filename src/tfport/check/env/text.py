"""Render a comparison: both environments side by side, then what each difference breaks.

breaks: models that use one of 131 ops that 2.8.4 does not register
  tensorflow  2.21.0 → 2.8.4
  which:      …
  measured:   the recorded registrations of both builds
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tfport.check.console import GAP, columns, indented, title
from tfport.check.env.compare import EnvironmentComparison, ModelComparison
from tfport.check.env.difference import BREAKS, MAY_BREAK, NONE, NOTE, UNKNOWN, EnvironmentDifference
from tfport.check.env.environment_facts import environment_facts
from tfport.check.findings.finding import Finding
from tfport.check.printable import printable
from tfport.check.report.phrases import nodes_text, verdict_text
from tfport.check.report.text import STYLES

WORDS = {BREAKS: ("breaks", "bold red"), MAY_BREAK: ("may break", "bold yellow"), NOTE: ("note", "bold cyan")}
MOST_NAMES = 8
MOST_NODES = 4
LABEL = len("declared: ")


def render(
    comparison: EnvironmentComparison, width: int, *, everything: bool = False
) -> Iterator[RenderableType]:
    """Render the whole report; long lists are cut unless `everything` is set."""
    yield title(f"{comparison.build.name} → {comparison.runtime.name}")
    yield indented(Text(_verdict(comparison), style="red" if comparison.breaks else "green"))
    yield Text("")
    yield columns(_sides(comparison), width, head=("", "build", "runtime"))
    yield from (indented(Text(printable(note), style="dim")) for note in comparison.notes)
    if comparison.model:
        yield from _model(comparison.model)
    for difference in comparison.differences:
        yield from _difference(difference, everything=everything)


def _verdict(comparison: EnvironmentComparison) -> str:
    severities = [difference.severity for difference in comparison.differences]
    numbers = {WORDS[kind][0]: severities.count(kind) for kind in (BREAKS, MAY_BREAK)}
    counts = [f"{number} {word}" for word, number in numbers.items() if number]
    model = comparison.model
    if model and model.breaks:
        counts.insert(0, f"{model.model} does not run in the second environment")
    return ", ".join(counts) or "no relevant differences"


def _sides(comparison: EnvironmentComparison) -> Iterator[tuple[str, str, str]]:
    """The facts that are known of at least one environment."""
    build_facts, runtime_facts = environment_facts(comparison.build), environment_facts(comparison.runtime)
    for name in dict.fromkeys([*build_facts, *runtime_facts]):
        before, after = build_facts.get(name, NONE), runtime_facts.get(name, NONE)
        if before or after:
            yield name, before or UNKNOWN, after or UNKNOWN


def _difference(difference: EnvironmentDifference, *, everything: bool) -> Iterator[RenderableType]:
    word, style = WORDS[difference.severity]
    yield Text.assemble("\n", (f"{word}: ", style), (printable(difference.breaks), "bold"))
    body = [("", f"{difference.subject} {difference.build} → {difference.runtime}")]
    body += [("which:", _names(difference.names, everything=everything))] if difference.names else []
    body += [(f"{difference.sure}:", difference.source)]
    body += [("fix:", fix) for fix in difference.fixes]
    yield _labeled(body)


def _names(names: Sequence[str], *, everything: bool) -> str:
    shown = names if everything else names[:MOST_NAMES]
    more = [f"… {len(names) - len(shown):,} more; --all shows them"] if len(shown) < len(names) else []
    return ", ".join([*shown, *more])


def _labeled(body: Iterable[tuple[str, str]]) -> RenderableType:
    grid = Table.grid()
    grid.add_column(width=LABEL, no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in body:
        grid.add_row(Text(label, style="dim"), Text(printable(text)))
    return indented(grid)


def _model(model: ModelComparison) -> Iterator[RenderableType]:
    """The verdicts on the model in both environments, then its new findings in the second."""
    yield title(model.model)
    grid = Table.grid(padding=(0, GAP))
    for result in [*model.build, *model.runtime]:
        grid.add_row(
            Text(printable(result.target.name)),
            Text(verdict_text(result), style=STYLES[result.verdict]),
            Text(", ".join(result.loaders), style="dim"),
        )
    yield indented(grid)
    for finding in model.new:
        yield from _finding(finding)


def _finding(finding: Finding) -> Iterator[RenderableType]:
    yield Text.assemble(
        "\n", (f"{finding.severity}[{finding.code}]", "bold red"), (f": {printable(finding.message)}", "bold")
    )
    body = [("nodes:", nodes_text(finding.nodes, MOST_NODES).partition(": ")[2])] if finding.nodes else []
    body += [("cause:", cause)] if (cause := finding.cause()) else []
    body += [("fix:", fix) for fix in [*finding.fixes(), *finding.ways_out][:MOST_NODES]]
    yield _labeled(body)
