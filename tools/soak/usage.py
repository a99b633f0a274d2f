"""What the server of a soak test uses while it runs, and how busy other programs keep the machine.

Memory swings with the requests of the moment, and these are more when other programs keep the machine busy,
because each takes longer. What the server never returns is there in every moment. So the level is what most
samples exceed, at the end of a run against that after the warm-up. An answer that comes late is the server's
fault only if the processors were free for it: `others` says how much of them other programs used.
"""

import csv
import os
import statistics
import time
from dataclasses import astuple, dataclass, fields
from pathlib import Path

WARM_UP = 0.25
"""The part of a run after which the level is taken first, but not more than the next."""
LONGEST_WARM_UP = 300.0
"""Seconds."""
MOST_RISE = 0.1
"""How much more the server may use at the end than after the warm-up, as a part."""
LEVEL = 0.1
"""The part of the samples that is below the level."""
FEW = {"memory": 0, "threads": 8, "files": 20}
"""How many more besides: a leak in hundreds of versions and thousands of requests leaves more. A pool starts
its last threads when so many calls meet for the first time, and some connections of clients that have left
are always still open."""
SHORTEST = 5.0
"""Seconds over which it is measured, at least, for what came after the last sample."""
BUSY = 0.3
"""The part of the processors that other programs use on a busy machine."""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Sample:
    """What was used at one moment."""

    time: float
    memory: float
    """Megabytes of the server, without what it shares with its workers: the large bodies of the moment."""
    threads: int
    files: int
    """Open files of the server, without the connections that clients have open."""
    workers: int
    worker_memory: float
    """Megabytes of all workers together."""
    processors: float
    """Seconds that all processors have worked since the machine started, for anybody."""
    own: float
    """Seconds of these for the server, its workers and the soak test."""


class Usage:
    """Samples of a server, with its process and the one that asks for its health."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []

    def add(self, server: int, *others: int) -> None:
        """Take a sample; `others` are processes of the soak test."""
        status = _status(server)
        workers = _children(server)
        self.samples.append(
            Sample(
                time.monotonic(),
                _number(status, "RssAnon") / 1e3,
                _number(status, "Threads"),
                len(_open_files(server))
                - sum(name.startswith("socket:") for name in _open_files(os.getpid())),
                len(workers),
                sum(_number(_status(pid), "RssAnon") for pid in workers) / 1e3,
                _working_seconds(),
                sum(_seconds_of(pid) for pid in (os.getpid(), server, *workers, *others)),
            )
        )

    def others(self, begin: float, end: float) -> float:
        """Return the part of the processors that other programs used between two times, or at the end."""
        begin = min(begin, self.samples[-1].time - SHORTEST)
        before = [sample for sample in self.samples if sample.time <= begin] or self.samples[:1]
        after = [sample for sample in self.samples if sample.time >= end] or self.samples[-1:]
        first, last = before[-1], after[0]
        if last.time <= first.time:
            return 0.0
        other = (last.processors - first.processors) - (last.own - first.own)
        return max(other, 0.0) / ((last.time - first.time) * (os.cpu_count() or 1))

    def levels(self, what: str) -> tuple[float, float]:
        """Return the level of a field after the warm-up and at the end, each in a third of the rest."""
        begin, end = self.samples[0].time, self.samples[-1].time
        begin += min(WARM_UP * (end - begin), LONGEST_WARM_UP)
        third = (end - begin) / 3
        early = sorted(getattr(s, what) for s in self.samples if begin <= s.time <= begin + third)
        late = sorted(getattr(s, what) for s in self.samples if s.time >= end - third)
        return early[int(LEVEL * len(early))], late[int(LEVEL * len(late))]

    def rises(self) -> list[str]:
        """Return what is higher at the end than it may be."""
        levels = {what: self.levels(what) for what in FEW}
        return [
            f"{what} rose from {early:.0f} to {late:.0f}"
            for what, (early, late) in levels.items()
            if late > early * (1 + MOST_RISE) + FEW[what]
        ]

    def write(self, path: Path) -> None:
        """Write all samples as CSV."""
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(field.name for field in fields(Sample))
            writer.writerows(map(astuple, self.samples))

    def report(self) -> str:
        """Return the levels and peaks in a few lines."""
        lines = []
        for what, unit in (("memory", " MB"), ("threads", ""), ("files", "")):
            early, late = self.levels(what)
            values = [getattr(sample, what) for sample in self.samples]
            lines.append(
                f"{what}: {early:.0f}{unit} after the warm-up, {late:.0f} at the end, "
                f"median {statistics.median(values):.0f}, peak {max(values):.0f}"
            )
        most = max(sample.workers for sample in self.samples)
        lines.append(f"workers: at most {most}, {max(s.worker_memory for s in self.samples):.0f} MB together")
        share = self.others(self.samples[0].time, self.samples[-1].time)
        lines.append(f"other programs used {share:.0%} of the processors")
        return "\n".join(lines)


def _status(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:  # it has just ended
        return ""


def _number(status: str, field: str) -> int:
    return int(status.partition(f"{field}:")[2].split()[0]) if f"{field}:" in status else 0


def _open_files(pid: int) -> list[str]:
    """Return what the file descriptors of a process are."""
    names = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            names.append(os.readlink(descriptor))
        except OSError:  # it has just been closed
            continue
    return names


def _children(pid: int) -> list[int]:
    children = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children += map(int, task.read_text().split())
        except OSError:  # the thread has just ended
            continue
    return children


def _working_seconds() -> float:
    user, nice, system, _, _, irq, soft_irq, *_ = Path("/proc/stat").read_text().split()[1:]
    return sum(map(int, (user, nice, system, irq, soft_irq))) / _TICKS


def _seconds_of(pid: int) -> float:
    """Return the processor time of a process and of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS
