"""Write a folder with what `gpu_probe` needs on a machine with a GPU: programs, models and tasks.

    python tools/truth/gpu_tasks.py FOLDER [--questions FILE] [--limit BYTES]

The machine needs Python and TensorFlow's libraries, nothing else. Each question is asked four times: by two
loaders, with and without soft placement. `record_gpu` records the answers.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "atlas"))

from capi_tasks import tasks
from gpu_probe import ROOT
from outcomes import ROOT as REPOSITORY
from records import release_order
from tests.truth_models import read_questions

QUESTIONS = REPOSITORY / "tests/truth/questions.json"
PROGRAMS = (
    "tools/truth/gpu_probe.py", "tools/truth/capi_probe.py", "tools/truth/capi_loaders.py",
    "tools/atlas/native.py", "tools/atlas/session.py", "tools/atlas/tensors.py", "src/tfport/atlas/capi.py",
)  # fmt: skip
RELEASE = "2.21.0"
LOGGED = b"\x40\x01"
"""ConfigProto: log_device_placement."""
CONFIGS = {"gpu": LOGGED, "gpu_soft": LOGGED + b"\x38\x01"}
"""By group of records; the second with allow_soft_placement."""


def main() -> None:
    args = arguments()
    questions = read_questions(args.questions)
    models, graphs = args.folder / "models", args.folder / "graphs"
    for folder in (models, graphs):
        folder.mkdir(parents=True)
    for program in PROGRAMS:
        (args.folder / program).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / program, args.folder / program)
    lines = []
    for number, (case, question) in enumerate(questions.items()):
        source = Path(question["path"])
        if size(source) > args.limit:
            continue
        shutil.copytree(source, models / str(number))
        moved = {**question, "path": f"models/{number}"}
        for task in tasks(moved, args.folder, graphs, release_order(RELEASE)):
            for group, config in CONFIGS.items():
                lines.append(json.dumps({"case": case, "group": group, **task, "config": config.hex()}))
    text = "".join(line.replace(str(args.folder), ROOT) + "\n" for line in lines)
    (args.folder / "tasks.jsonl").write_text(text)
    print(f"{len(lines)} tasks")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--questions", type=Path, default=QUESTIONS)
    parser.add_argument("--limit", type=int, default=1 << 40, help="leave out larger models (bytes)")
    return parser.parse_args()


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
