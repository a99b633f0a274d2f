"""`make demo`: a model that fails on an older TensorFlow, the reason, and the fix."""

import json
import os
import textwrap
from pathlib import Path

import tfport
from tfport.atlas.known_ops import known_ops

ROOT = Path(__file__).resolve().parent.parent
MODEL = "examples/attention"
OLD = "tensorflow==1.13.2"


def main() -> None:
    os.chdir(ROOT)
    print(f"A small attention model that scores topics for words. Its contents:\n\n$ tfport inspect {MODEL}")
    report = tfport.inspect(MODEL)
    print(report)
    print(f"\nWhat real releases do with it (recorded in {MODEL}.recorded.json):\n")
    for outcome in json.loads(Path(f"{MODEL}.recorded.json").read_text())["outcomes"]:
        message = textwrap.shorten(outcome["says"], 52, placeholder=" …")
        print(f"  tensorflow {outcome['release']:8}{outcome['outcome']:15}{message}".rstrip())
    print("\nWhy:\n")
    releases = known_ops().recorded()
    for op, since in report.newest_ops.items():
        print(f"  {op} was added in {since}; {releases[releases.index(since) - 1]} does not have it.")
    print(f"\nRewrite it for 1.13.2:\n\n$ tfport fix {MODEL} --for {OLD} -o OUT")
    print(tfport.fix(MODEL, target=OLD))
    print(f'\nRun it without TensorFlow:\n\n$ tfport run {MODEL} --input \'words=[["river", "rises"]]\'\n')
    print(tfport.Session(MODEL).signature("serving_default")(words=[["river", "rises"]])["scores"])


if __name__ == "__main__":
    main()
