"""Compare the table of op effects with the system calls of TensorFlow that runs the ops.

    python tools/scan/op_effects.py [--cases-per-op N] [--trace FILE]     with TensorFlow and strace installed

Runs `traced_ops.py` under strace. Each op with effects that can run here must do what the table claims, and
nothing else. Each op of the recorded cases that the table does not have must touch nothing: no file outside
of the folders of Python and TensorFlow, no socket, no other process. Prints a table of the classes; exit 1 if
any op disagrees.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import site
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tfport.graph.op_effects import effects_of

HERE = Path(__file__).parent
TRACED = "trace=%file,%network,%process,write,writev,pwrite64"
STRACE = ["strace", "-f", "-y", "-qq", "-s", "300", "-e", TRACED]
MARK = re.compile(r'"/tfport-mark/(begin|end)/(\d+)"')
CALL = re.compile(r"^\d+ +(?P<name>\w+)\((?P<args>.*)")
PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')
SEEN = ("reads files", "writes files", "deletes files", "lists files", "network", "python", "runs programs")
"""The effects that are system calls, or that a case turns into one."""
LOOKS = "looks at files"
"""Calls such as stat: they come with the others."""
CHANGES = {"mkdir", "mkdirat", "rename", "renameat", "renameat2", "link", "linkat", "symlink", "truncate"}
DELETES = {"unlink", "unlinkat", "rmdir"}
WRITES = {"write", "writev", "pwrite64"}
WRITTEN = re.compile(r"(\d+)<(/[^>]*)>")
LOOKED = {"stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "statfs"}
NETWORK = {"socket", "connect", "bind", "listen", "accept4", "sendto", "sendmsg"}
OWN = tuple(
    {sys.prefix, sys.base_prefix, str(HERE.parents[1]), *site.getsitepackages()}
    | {"/proc/", "/sys/", "/usr/lib", "/lib", "/etc/ld.so.cache", "/dev/null", "/dev/urandom"}
    | {f"{tempfile.gettempdir()}/{folder}__autograph_generated_file" for folder in ("", "__pycache__/")}
)
"""Paths of Python, TensorFlow, the kernel's tables and this repository."""
RESOLVER = (
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/resolv.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/var/run/nscd",
)
"""Files that are read to find an address."""
CALLED = "/tfport-mark/called"
"""What the Python functions of the cases look for."""


CRASHED = "the process ended"


@dataclass
class TracedOutcome:
    """One case: what the table is asked about, and what the process did between the marks."""

    kind: str
    ops: list[str]
    ended: str = CRASHED
    effects: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)

    @property
    def claims(self) -> set[str]:
        """What the table says that this case may do, of what strace sees."""
        rows = (effects_of(op) for op in self.ops if self.kind != "harmless")
        return {effect for row in rows if row for effect in row.does if effect in SEEN}

    @property
    def has_run(self) -> bool:
        return bool(self.effects) or not self.ended.startswith(("failed", "not prepared"))

    @property
    def surplus(self) -> set[str]:
        """What was seen and is not claimed; who reads or writes files may look at them too."""
        return self.effects - self.claims - ({LOOKS} if self.claims else set())


def main(per_op: int, trace: Path) -> int:
    outcomes = run_traced(per_op, trace)
    read_trace(trace, outcomes)
    return report(list(outcomes.values()))


def run_traced(per_op: int, trace: Path) -> dict[int, TracedOutcome]:
    """Run all cases; a process that ends early is followed by one that starts after the case it was at."""
    trace.unlink(missing_ok=True)
    file = Path(tempfile.mkdtemp()) / "outcomes"
    file.touch()
    first = 0
    while True:
        command = [*STRACE, "-A", "-o", str(trace), sys.executable, str(HERE / "traced_ops.py")]
        ended = subprocess.run([*command, str(file), str(first), str(per_op)], check=False)
        outcomes = read_outcomes(file)
        if ended.returncode == 0:
            return outcomes
        if not outcomes or max(outcomes) < first:
            sys.exit("traced_ops.py fails before its first case")
        first = max(outcomes) + 1


def read_outcomes(file: Path) -> dict[int, TracedOutcome]:
    outcomes: dict[int, TracedOutcome] = {}
    for line in file.read_text().splitlines():
        facts = json.loads(line)
        if "ended" in facts:
            outcomes[facts["number"]].ended = facts["ended"]
        else:
            outcomes[facts["number"]] = TracedOutcome(facts["kind"], facts["ops"])
    return outcomes


def read_trace(trace: Path, outcomes: dict[int, TracedOutcome]) -> None:
    """Add the calls between two marks to the outcomes of their cases."""
    current: TracedOutcome | None = None
    with trace.open(errors="replace") as lines:
        for line in lines:
            if found := MARK.search(line):
                current = outcomes.get(int(found[2])) if found[1] == "begin" else None
            elif "execve(" in line and "traced_ops.py" in line:
                current = None  # the process of the last case ended in it
            elif current:
                for effect in effects_in(line):
                    current.effects.add(effect)
                    current.calls.append(line.strip()[:200])


def effects_in(line: str) -> Iterator[str]:
    """Yield what a line of strace means, if anything."""
    call = CALL.match(line)
    if not call:
        return
    name, args = call["name"], call["args"]
    if name in NETWORK:
        yield "network"
    elif name in ("execve", "fork", "vfork") or (name in ("clone", "clone3") and "CLONE_THREAD" not in args):
        yield "runs programs"
    elif name in WRITES:
        written = WRITTEN.match(args)
        if written and int(written[1]) > 2 and not written[2].startswith(OWN):
            yield "writes files"
    elif (path := PATH.search(args)) and path[1] and not path[1].startswith(OWN):
        yield from path_effects(name, args, path[1])


def path_effects(name: str, args: str, path: str) -> Iterator[str]:
    if path == CALLED:
        yield "python"
    elif path.startswith(RESOLVER):
        yield "network"
    elif name in ("open", "openat", "openat2"):
        yield from open_effects(args)
    elif name in CHANGES:
        yield "writes files"
    elif name in DELETES:
        yield "deletes files"
    elif name in LOOKED:
        yield LOOKS


def open_effects(args: str) -> Iterator[str]:
    if "O_DIRECTORY" in args:
        yield "lists files"
        return
    if any(flag in args for flag in ("O_WRONLY", "O_RDWR", "O_CREAT")):
        yield "writes files"
    if "O_WRONLY" not in args:
        yield "reads files"


def report(outcomes: list[TracedOutcome]) -> int:
    """Print the table and what disagrees; return the exit code."""
    tried: dict[str, set[str]] = defaultdict(set)
    wrong: dict[str, set[str]] = defaultdict(set)
    by_op: dict[str, list[TracedOutcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.kind == "claimed":
            by_op[outcome.ops[0]].append(outcome)
        name = "nothing with this path" if outcome.kind == "harmless" else "nothing"
        for op in outcome.ops if outcome.kind != "claimed" and outcome.ended != CRASHED else []:
            if outcome.kind == "harmless" or not effects_seen(op):
                tried[name].add(op)
                if outcome.surplus:
                    wrong[name].add(op)
                    print(f"{op}: more than nothing: {sorted(outcome.surplus)}: {outcome.calls[:3]}")
    not_run = [op for op, runs in by_op.items() if not any(run.has_run for run in runs)]
    for op, runs in by_op.items():
        if op in not_run:
            continue
        effects = set().union(*(run.effects for run in runs))
        claims = set().union(*(run.claims for run in runs))
        surplus = set().union(*(run.surplus for run in runs))
        for effect in claims:
            tried[effect].add(op)
            if effect not in effects:
                wrong[effect].add(op)
        for effect in surplus:
            wrong[effect].add(op)
            tried[effect].add(op)
        if surplus or claims - effects:
            calls = [call for run in runs for call in run.calls]
            print(f"{op}: claimed {sorted(claims)}, seen {sorted(effects)} ({runs[0].ended}): {calls[:6]}")
    print(f"\n{'class':24} {'ops tried':>9} {'agree':>6}")
    for name in [*SEEN, "nothing", "nothing with this path"]:
        print(f"{name:24} {len(tried[name]):9} {len(tried[name] - wrong[name]):6}")
    print(f"{'(cannot run here)':24} {len(not_run):9}        {' '.join(not_run)}")
    everything, bad = set().union(*tried.values()), set().union(*wrong.values())
    print(f"{'all':24} {len(everything):9} {len(everything - bad):6}")
    print(Counter(outcome.kind for outcome in outcomes), f"{len(outcomes)} cases")
    for outcome in outcomes:
        if outcome.ended != "ran":
            print(f"  {outcome.kind} {' '.join(outcome.ops)}: {outcome.ended[:160]!r}")
    return 1 if bad else 0


def effects_seen(op: str) -> bool:
    """Whether the table claims anything for this op that strace sees."""
    row = effects_of(op)
    return row is not None and any(effect in SEEN for effect in row.does)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases-per-op", type=int, default=2)
    parser.add_argument("--trace", type=Path, default=Path(tempfile.gettempdir()) / "tfport-scan-trace")
    options = parser.parse_args()
    if not shutil.which("strace"):
        sys.exit("strace is not installed")
    sys.exit(main(options.cases_per_op, options.trace))
