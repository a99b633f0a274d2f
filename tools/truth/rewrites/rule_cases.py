"""Run every case of every rule, rewritten for a release by all rules, in the real binary of the release.

    python tools/truth/rewrites/rule_cases.py 1.4.1 1.15.5 [--only 'test_softmax*'] [--python COMMAND]

What a kernel refuses though it is registered, and what it computes otherwise, shows here and nowhere
else. Expected are tfport's own answers to the graph before. A case that no chain makes acceptable is
counted and left out. Prints what differs; exits with 1 where anything does. `--python` is for machines
that are not x86-64 (see `release`).
"""

import argparse
import importlib
import sys
import tempfile
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[3]))

from jobs import Job
from release import add_python, unpacked_release
from tests.fix.rule_cases import PRODUCER, RuleCase, answers, assert_alike, case_modules

from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.target import Target
from tfport.errors import Error
from tfport.fix.engine import RuleEngine
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.rule import RULES, Rulebook
from tfport.fix.structure.functional_ops import FUNCTIONAL
from tfport.graph.build import graph_to_def

ROOT = Path(__file__).parents[3]
REFUSED, DIFFERS, SAME, LEFT = "refused there", "differs", "same", "not rewritten"


def main() -> int:
    parser = argparse.ArgumentParser(description="Run rewritten rule cases in real releases.")
    parser.add_argument("releases", nargs="+")
    parser.add_argument("--only", nargs="+", default=["*"], help="families, with * and ?")
    add_python(parser)
    args = parser.parse_args()
    cases = [c for name in families(args.only) for c in named_cases(name)]
    bad = 0
    for release in args.releases:
        counted = hold(release, cases, args.python)
        print(f"{release}: " + ", ".join(f"{n} {what}" for what, n in counted.most_common()), flush=True)
        bad += counted[REFUSED] + counted[DIFFERS]
    return 1 if bad else 0


def families(patterns: list[str]) -> list[str]:
    modules = case_modules()
    return [m for m in modules if any(fnmatchcase(m.rpartition(".")[2], pattern) for pattern in patterns)]


def named_cases(module: str) -> list[tuple[str, RuleCase]]:
    cases = getattr(importlib.import_module(module), "CASES", ())
    return [(f"{module}[{i}] {c}", c) for i, c in enumerate(cases)]


def hold(release: str, cases: list[tuple[str, RuleCase]], python: list[str]) -> Counter[str]:
    """Run the cases that can be rewritten for a release in its binary, and compare."""
    target, counted = resolve_targets(f"tensorflow=={release}")[0], Counter[str]()
    jobs, asked = [], []
    with tempfile.TemporaryDirectory() as folder:
        for index, (name, c) in enumerate(cases):
            record = rewritten(c, target)
            if record is None:
                counted[LEFT] += 1
                continue
            path = Path(folder, f"{index}.pb")
            path.write_bytes(record)
            inputs = {k: np.asarray(v) for k, v in c.feeds.items() if k not in c.constants}
            jobs.append(Job(path, inputs, fetches=tuple(c.fetches)))
            asked.append((name, c))
        with unpacked_release(release, python=python) as there:
            answered = there.run(jobs).answers
    for (name, c), answer in zip(asked, answered, strict=True):
        what, why = outcome(c, answer)
        counted[what] += 1
        if what != SAME:
            print(f"{release} {what}: {name}: {why}", flush=True)
    return counted


def rewritten(c: RuleCase, target: Target) -> bytes | None:
    """The graph of a case rewritten for the target; None if no chain of rules succeeds."""
    model = c.model()
    checker = NodeChecker(target, PRODUCER)
    engine = RuleEngine(checker, Rulebook([c.rule], RULES), Facts(model), Journal(), allow_lossy=True)
    stuck = engine.rewrite(model.graph, {name.partition(":")[0] for name in c.fetches})
    if stuck or any(node.op in FUNCTIONAL for node in model.graph):
        return None
    record = graph_to_def(model.graph)
    record.versions.producer = 21
    return record.SerializeToString()


def outcome(c: RuleCase, answer: dict | str) -> tuple[str, str]:
    if isinstance(answer, str):
        return REFUSED, answer[:300]
    try:
        expected = answers(c.model(), c)
        for ours, theirs in zip(answer.values(), expected, strict=True):
            assert_alike(ours, theirs, c, exact=False)
    except (AssertionError, Error) as error:
        return DIFFERS, " ".join(str(error).split())[:300]
    return SAME, ""


if __name__ == "__main__":
    sys.exit(main())
