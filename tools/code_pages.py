"""Write `docs/codes/`: one page for each finding code, and an index.

    python tools/code_pages.py

The pages come from the docstrings and declarations of the finding classes; `make docs-refresh` runs this,
and `tests/check/findings/test_codes.py` fails when a page is stale.
"""

from __future__ import annotations

import re
from pathlib import Path

from tfport.check.findings.finding import Finding, all_findings, scan_findings
from tfport.check.loader_stages import FIRST, LIVE, LOAD, LOADING, REACHED, RUN, SKIPPED, Noticed, When
from tfport.registry.unresolved import Question

OUT = Path(__file__).resolve().parent.parent / "docs/codes"
GROUPS = {
    "00": "Format and graph version",
    "01": "The graph itself",
    "02": "Files",
    "03": "State and signatures",
    "04": "Python objects",
    "05": "Keras",
    "06": "Things that only the saving process has",
    "1": "Ops and functions",
    "2": "Attributes and inputs",
    "3": "Kernels, devices and GPUs",
    "40": "Library files",
    "41": "A library's dependencies",
    "42": "A library's symbols",
    "43": "A library's ops",
    "6": "tfport's own runtime",
    "7": "Keras files",
    "8": "TensorFlow Lite files",
    "90": "What the ops of a model could do",
    "91": "What Keras would run or open",
}
"""Titles by the first digits of a code."""
SCANNED = scan_findings().values()
LOADERS = {
    "serving": "TensorFlow Serving",
    "capi": "C API",
    "python_1": "Python, TensorFlow 1",
    "python_2": "Python, TensorFlow 2, model saved by 1",
    "objects": "Python, TensorFlow 2, model saved by 2",
    "keras_objects": "`keras.models.load_model`, model saved by 2",
    "tfport": "tfport",
}
WHEN: dict[When, str] = {
    LOAD: "at load",
    RUN: "at run",
    LIVE: "when it runs",
    REACHED: "at load, if anything runs it",
    LOADING: "at load, if loading runs it",
    FIRST: "at the first run",
    SKIPPED: "not checked",
    None: "never",
}


def pages() -> dict[str, str]:
    """The text of every page, by file name."""
    findings = all_findings()
    return {"index.md": index(findings)} | {
        f"{code}.md": page(declared) for code, declared in findings.items()
    }


def index(findings: dict[str, type[Finding]]) -> str:
    lines = [
        "# Finding codes",
        "",
        f"The {len(findings)} findings of `tfport check`, `tfport lib` and `tfport scan`. "
        "`tfport explain CODE` prints the same page.",
        "A code is never reused.",
    ]
    for digits, title in GROUPS.items():
        lines += ["", f"## {title}", "", "| code | name | severity | message |", "|---|---|---|---|"]
        for code, declared in findings.items():
            if code.removeprefix("TFP").startswith(digits):
                name = f"[{code}]({code}.md) | {declared.name}"
                lines.append(f"| {name} | {declared.default_severity} | {message(declared)} |")
    return "\n".join(lines) + "\n"


def page(declared: type[Finding]) -> str:
    command = "lib" if declared.is_about_library() else "scan" if declared in SCANNED else "check"
    verdict = "" if declared.decides else " The verdict is `unknown`."
    lines = [
        f"# {declared.code}: {declared.name}",
        "",
        f"> {message(declared)}",
        "",
        f"Severity: {declared.default_severity}. Reported by `tfport {command}`.{verdict}",
        "",
        *sections(declared),
    ]
    if command == "check":
        lines += noticed(declared)
    return "\n".join(lines).rstrip() + "\n"


def message(declared: type[Finding]) -> str:
    """The message with its placeholders in italics."""
    text = re.sub(r"`\{(\w+)\}`", r"*\1*", str(declared.title))
    return re.sub(r"(?<!\{)\{(\w+)\}(?!\})", r"*\1*", text).replace("{{", "{").replace("}}", "}")


def sections(declared: type[Finding]) -> list[str]:
    lines: list[str] = []
    for part in declared.page.split("## ")[1:]:
        title, _, body = part.partition("\n")
        lines += [f"## {title}", ""]
        lines += example(body) if title == "Example" else [body.rstrip()]
        lines.append("")
    return lines


def example(body: str) -> list[str]:
    language = "sh" if "tfport " in body else "text"
    return [f"```{language}", *(line.removeprefix("    ") for line in body.rstrip().splitlines()), "```"]


def noticed(declared: type[Finding]) -> list[str]:
    """When each loader notices it, in the newest release."""
    lines = ["## When a loader notices it", "", "This is what each loader's newest release does."]
    if isinstance(declared.noticed, Noticed):
        return [*lines, "", *table(declared.noticed)]
    tables: dict[str, list[str]] = {}
    for question, stages in declared.noticed.items():
        case = f"the question “{question.value}”" if isinstance(question, Question) else question
        tables.setdefault("\n".join(table(stages)), []).append(case)
    for text, cases in tables.items():
        lines += ["", *([f"For {' or '.join(cases)}:", ""] if len(tables) > 1 else []), text]
    return lines


def table(declared: Noticed) -> list[str]:
    stages = {loader: [WHEN[when] for when in declared.stages(path)] for path, loader in LOADERS.items()}
    columns = ["main graph", "called function", "uncalled function"]
    if all(len(set(row)) == 1 for row in stages.values()):  # no node is involved
        columns, stages = ["noticed"], {loader: row[:1] for loader, row in stages.items()}
    head = [f"| loader | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    return head + [f"| {loader} | {' | '.join(row)} |" for loader, row in stages.items()]


def main() -> None:
    OUT.mkdir(exist_ok=True)
    texts = pages()
    for stale in {path.name for path in OUT.glob("*.md")} - set(texts):
        (OUT / stale).unlink()
    for name, text in texts.items():
        (OUT / name).write_text(text)


if __name__ == "__main__":
    main()
