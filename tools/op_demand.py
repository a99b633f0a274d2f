"""Which ops real models need and tfport lacks, and how many of the models answer.

    python tools/op_demand.py FOLDER… [-o FILE.json] [--seconds 60]

`audit` examines every model below the folders on tfport itself: it loads or not, and its signatures resolve
or not. Each model that resolves is then run in a process of its own, on generated inputs: it answers if one
of the sizes is accepted for each signature. Prints a table of ops by the number of models that lack them,
and the models that do not answer with the reason.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import tempfile
from collections import Counter
from itertools import chain, islice
from pathlib import Path
from typing import Any

import tfport
from tfport.audit.audit import audit_store
from tfport.audit.coverage import Coverage, coverage_of
from tfport.audit.database import AuditDatabase
from tfport.audit.examine import AuditQuestions
from tfport.audit.workers import WorkerLimits
from tfport.errors import Error
from tfport.fix.certify.inputs.arrays import ORDINARY
from tfport.fix.certify.runners import ModelSide, OwnSession
from tfport.fix.certify.trial_plan import Attempts, FittingSizes
from tfport.fix.certify.trials import TrialBuilder
from tfport.runtime.select_signature import select_signature

OTHER_TAGS = "TFP041"
"""What a server says of a model without a graph tagged `serve`; `run` runs its first graph."""
MEMORY = 10 << 30
SIZES = 25
"""The most sizes to try for each signature."""


def examined(folders: list[str]) -> Coverage:
    with tempfile.TemporaryDirectory() as folder:
        database = AuditDatabase(str(Path(folder, "audit.sqlite")))
        questions = AuditQuestions(("tfport",), scan=False)
        audit_store(folders, questions, database, WorkerLimits(1, 120.0, 4 << 30))
        try:
            return coverage_of(database)
        finally:
            database.close()


def answers(path: str) -> str:
    """Run the signatures of a model; the reason why one of them does not answer, or nothing."""
    model = tfport.load(path)
    listed = model.signatures.values() or [select_signature(model)]
    signatures = {signature.name: signature for signature in listed}
    side = ModelSide(model, signatures)
    session = OwnSession(side, None)
    if session.why:
        return session.why
    words = session.words()
    for signature in signatures.values():
        try:
            if why := refused(TrialBuilder(model, signature, words), session):
                return f"{signature.name}: {why}"
        except Error as error:
            return f"{signature.name}: no inputs: {error}"
    return ""


def refused(builder: TrialBuilder, session: OwnSession) -> str:
    """The first reason why the trials of a signature are refused, or nothing if one is answered."""
    attempts, sizes, first = Attempts(builder, session.ask), FittingSizes(builder), "no sizes"
    for sizing in islice(chain(sizes.usual, sizes.unusual, sizes.larger()), SIZES):
        if not sizes.fit(sizing):
            continue
        _, outcome = attempts.first_accepted(sizing, ORDINARY, again=builder.parses_features)
        if outcome.outputs is not None:
            return ""
        first = outcome.why if first == "no sizes" else first
        if not outcome.ran:
            break
    return first


def run(path: str, seconds: float) -> str:
    """The same in another process, which may crash or take too long; a fork has imported everything."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=send_answer, args=(path, sender))
    process.start()
    sender.close()
    try:
        why = receiver.recv() if receiver.poll(seconds) else f"no answer in {seconds:g} s"
    except EOFError:
        why = "the process ended"
    process.kill()
    process.join()
    return why


def send_answer(path: str, sender: Any) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        sender.send(answers(path))
    except (Error, MemoryError) as error:
        sender.send(str(error) or type(error).__name__)


def demand(folders: list[str], seconds: float) -> dict[str, Any]:
    coverage = examined(folders)
    rows = []
    for model in coverage.models:
        reason = "" if model.reason.startswith(OTHER_TAGS) else model.reason
        why = "; ".join(model.lacks) or reason or run(model.path, seconds)
        rows.append({"path": model.path, "lacks": list(model.lacks), "loads": model.loads, "why": why})
        print(f"{'answers' if not why else why[:150]}  {model.path}", file=sys.stderr, flush=True)
    ops = Counter(op for row in rows for op in row["lacks"])
    counts = {
        "models": len(rows),
        "load": sum(row["loads"] for row in rows),
        "resolve": sum(row["loads"] and not row["lacks"] for row in rows),
        "answer": sum(not row["why"] for row in rows),
    }
    return {"counts": counts, "ops": dict(ops.most_common()), "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    args = parser.parse_args()
    found = demand(args.folders, args.seconds)
    print(json.dumps(found["counts"]), *(f"{n:4} {op}" for op, n in found["ops"].items()), sep="\n")
    if args.output:
        args.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
