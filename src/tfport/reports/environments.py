"""A comparison of environments as text and JSON, the contract of `tfport env --json`, version 1.

The text has both environments side by side, then what each difference breaks:

breaks: models that use one of 131 ops that 2.8.4 does not register
  tensorflow  2.21.0 → 2.8.4
  which:      …
  measured:   the recorded registrations of both builds
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tfport.atlas.environment import Environment
from tfport.check.findings.finding import Finding
from tfport.env.compare import (
    BOTH,
    BUILD,
    EnvironmentComparison,
    ModelComparison,
    SideConflict,
    environment_facts,
)
from tfport.env.difference import BREAKS, MAY_BREAK, NONE, NOTE, UNKNOWN, EnvironmentDifference
from tfport.env.libraries import LibraryComparison
from tfport.rendering import json_of
from tfport.reports.check.json import finding_json, result_json
from tfport.reports.check.phrases import nodes_text, verdict_text
from tfport.reports.check.text import STYLES
from tfport.reports.console import GAP, columns, facts, indented, labeled, text_of, title
from tfport.reports.layout import Grid, ReportPart, Text
from tfport.words import printable

if TYPE_CHECKING:
    from tfport.runtime.engines.gpu.availability import GpuReport


VERSION = 1
WORDS = {BREAKS: ("breaks", "bold red"), MAY_BREAK: ("may break", "bold yellow"), NOTE: ("note", "bold cyan")}
VERDICTS = {BREAKS: "red", MAY_BREAK: "yellow", "unknown": "yellow", "ok": "green"}
_SIDES = {BUILD: "conflicts in {}", BOTH: "conflicts in both environments"}
NO_PART = "none"
MOST_NAMES = 8
MOST_NODES = 4
LABEL = len("declared: ")


@text_of(EnvironmentComparison)
def comparison_text(
    comparison: EnvironmentComparison, width: int, *, everything: bool = False
) -> Iterator[ReportPart]:
    """Render the whole report; long lists are cut unless `everything` is set."""
    yield title(f"{comparison.build.name} → {comparison.runtime.name}")
    yield indented(Text(printable(_verdict(comparison)), style=VERDICTS[comparison.verdict]))
    yield from (
        indented(Text(printable(f"unknown: {sentence}"), style="yellow")) for sentence in comparison.unknown
    )
    yield Text("")
    yield columns(_sides(comparison), width, head=("", "build", "runtime"))
    yield from (indented(Text(printable(note), style="dim")) for note in _notes(comparison))
    if comparison.model:
        yield from _model(comparison.model)
    for library in comparison.libraries:
        yield from _library(library)
    for difference in comparison.differences:
        yield from _difference(difference, everything=everything)
    for side, name in _SIDES.items():
        yield from _conflicts(comparison, side, name)


def _notes(comparison: EnvironmentComparison) -> list[str]:
    """How the environments were read, without what is said as unknown."""
    return [note for note in comparison.notes if not any(note.endswith(text) for text in comparison.unknown)]


def _verdict(comparison: EnvironmentComparison) -> str:
    severities = [difference.severity for difference in comparison.all_differences]
    numbers = {WORDS[kind][0]: severities.count(kind) for kind in (BREAKS, MAY_BREAK)}
    counts = [f"{number} {word}" for word, number in numbers.items() if number]
    subjects: list[tuple[str, str, ModelComparison | LibraryComparison]] = [
        (library.file, "load", library) for library in reversed(comparison.libraries)
    ]
    subjects += [(comparison.model.model, "run", comparison.model)] if comparison.model else []
    for name, verb, subject in subjects:
        if subject.breaks:
            counts.insert(0, f"{name} does not {verb} in the second environment")
        elif subject.fails:
            counts.insert(0, f"{name} does not {verb} in either environment")
    nothing = "not everything could be compared" if comparison.unknown else "no relevant differences"
    return ", ".join(counts) or nothing


def _conflicts(comparison: EnvironmentComparison, side: str, where: str) -> Iterator[ReportPart]:
    """What does not fit together inside an environment."""
    conflicts = [each.conflict for each in comparison.conflicts if each.side == side]
    if conflicts:
        yield title(where.format(comparison.build.name))
    for conflict in conflicts:
        yield from _difference(conflict, everything=True, inside=True)


def _sides(comparison: EnvironmentComparison) -> Iterator[tuple[str, str, str]]:
    """The facts that are known of at least one environment."""
    build_facts, runtime_facts = environment_facts(comparison.build), environment_facts(comparison.runtime)
    for name in dict.fromkeys([*build_facts, *runtime_facts]):
        before, after = build_facts.get(name, NONE), runtime_facts.get(name, NONE)
        if before or after:
            yield name, before or UNKNOWN, after or UNKNOWN


def _difference(
    difference: EnvironmentDifference, *, everything: bool, inside: bool = False
) -> Iterator[ReportPart]:
    word, style = WORDS[difference.severity]
    yield Text.assemble("\n", (f"{word}: ", style), (printable(difference.breaks), "bold"))
    versions = difference.runtime if inside else f"{difference.build} → {difference.runtime}"
    body = [("", f"{difference.subject} {versions}")]
    body += [("which:", _names(difference.names, everything=everything))] if difference.names else []
    body += [(f"{difference.sure}:", difference.source)]
    body += [("fix:", fix) for fix in difference.fixes]
    yield from labeled(body, LABEL)


def _names(names: Sequence[str], *, everything: bool) -> str:
    shown = names if everything else names[:MOST_NAMES]
    more = [f"… {len(names) - len(shown):,} more; --all shows them"] if len(shown) < len(names) else []
    return ", ".join([*shown, *more])


def _model(model: ModelComparison) -> Iterator[ReportPart]:
    """The verdicts on the model in both environments, then its new findings in the second."""
    yield title(model.model)
    grid = Grid(gap=GAP)
    for result in [*model.build, *model.runtime]:
        grid.add_row(
            Text(printable(result.target.name)),
            Text(verdict_text(result), style=STYLES[result.verdict]),
            Text(", ".join(result.loaders), style="dim"),
        )
    yield indented(grid)
    for finding in model.new:
        yield from _finding(finding)


def _library(library: LibraryComparison) -> Iterator[ReportPart]:
    """The verdicts on an op library in both environments, then why it does not load in the second."""
    yield title(library.file)
    grid = Grid(gap=GAP)
    for result in (library.build, library.runtime):
        style = STYLES.get(result.verdict, "green")
        grid.add_row(Text(printable(result.target.name)), Text(result.verdict, style=style))
    yield indented(grid)
    for finding in library.findings:
        yield from _finding(finding)


def _finding(finding: Finding) -> Iterator[ReportPart]:
    yield Text.assemble(
        "\n", (f"{finding.severity}[{finding.code}]", "bold red"), (f": {printable(finding.message)}", "bold")
    )
    body = [("nodes:", nodes_text(finding.nodes, MOST_NODES).partition(": ")[2])] if finding.nodes else []
    body += [("cause:", cause)] if (cause := finding.cause()) else []
    body += [("fix:", fix) for fix in [*finding.fixes(), *finding.ways_out][:MOST_NODES]]
    yield from labeled(body, LABEL)


@json_of(EnvironmentComparison)
def comparison_json(comparison: EnvironmentComparison) -> dict[str, Any]:
    return {
        "version": VERSION,
        "build": environment_json(comparison.build),
        "runtime": environment_json(comparison.runtime),
        "breaks": comparison.breaks,
        "verdict": comparison.verdict,
        "unknown": comparison.unknown,
        "differences": [difference_json(difference) for difference in comparison.differences],
        "conflicts": [conflict_json(conflict) for conflict in comparison.conflicts],
        "model": model_json(comparison.model) if comparison.model else None,
        "libraries": [library_json(library) for library in comparison.libraries],
    }


def environment_json(environment: Environment) -> dict[str, Any]:
    target = environment.target
    return {
        "name": environment.name,
        "target": target.requirement if target else None,
        "device": target.device if target else None,
        "system": environment.system.name or None,
        "has": {name: text or None for name, text in environment_facts(environment).items()},
        "notes": environment.notes,
        "unknown": environment.unknown or None,
    }


def difference_json(difference: EnvironmentDifference) -> dict[str, Any]:
    return {
        "name": difference.name,
        "subject": difference.subject,
        "build": difference.build,
        "runtime": difference.runtime,
        "severity": difference.severity,
        "concerns": difference.concerns,
        "breaks": difference.breaks,
        "sure": difference.sure,
        "source": difference.source,
        "names": list(difference.names),
        "fixes": list(difference.fixes),
    }


def conflict_json(conflict: SideConflict) -> dict[str, Any]:
    return {"side": conflict.side, **difference_json(conflict.conflict)}


def library_json(library: LibraryComparison) -> dict[str, Any]:
    return {
        "library": library.file,
        "breaks": library.breaks,
        "build": library.build.verdict,
        "runtime": library.runtime.verdict,
        "findings": [finding_json(finding) for finding in library.findings],
    }


def model_json(model: ModelComparison) -> dict[str, Any]:
    return {
        "model": model.model,
        "breaks": model.breaks,
        "build": [result_json(result) for result in model.build],
        "runtime": [result_json(result) for result in model.runtime],
        "new": [finding_json(finding) for finding in model.new],
    }


def render_gpus(report: GpuReport, width: int) -> Iterator[ReportPart]:
    driver = report.driver
    yield title("GPUs", "usable" if not report.problem else "cannot be used")
    rows = {"problem": report.problem} if report.problem else {}
    for gpu in driver.gpus if driver else ():
        memory = f"{gpu.free_bytes / 1e9:,.1f} of {gpu.total_bytes / 1e9:,.1f} GB free"
        rows[f"cuda:{gpu.index}"] = f"{gpu.name}, compute capability {gpu.compute_capability}, {memory}"
    rows["driver"] = f"{driver.version}, for CUDA up to {driver.cuda}" if driver else NO_PART
    rows["onnxruntime"] = f"{report.package}, {f'CUDA {report.cuda}' if report.cuda else 'without CUDA'}"
    rows["cuDNN"] = report.cudnn or NO_PART
    yield facts(((name, [value]) for name, value in rows.items()), width)
