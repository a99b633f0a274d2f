"""Record what a release did on a machine with a GPU, from the answers of `gpu_probe`.

    python tools/truth/record_gpu.py FOLDER ANSWERS --machine "NVIDIA H200, driver 580.159.04" [--real]

FOLDER is what `gpu_tasks` wrote. The outcomes go to the records `gpu/tensorflow-RELEASE` and
`gpu_soft/tensorflow-RELEASE`, the second with soft placement; those of published models to
`real/tensorflow-RELEASE-gpu` and so on. An outcome also has `on_cpu`: the nodes of the main graph
that TensorFlow placed on the CPU, though the machine has a GPU.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path

from gpu_probe import ROOT
from gpu_tasks import QUESTIONS, RELEASE
from outcomes import Outcomes, capi_outcome, summary, update_outcomes


def main() -> None:
    args = arguments()
    tasks = [json.loads(line) for line in (args.folder / "tasks.jsonl").read_text().splitlines()]
    answers = {a["index"]: a for a in map(json.loads, args.answers.read_text().splitlines())}
    cases = set(json.loads(args.questions.read_text()))
    by_group: dict[str, Outcomes] = defaultdict(lambda: defaultdict(dict))
    for index, task in enumerate(tasks):
        if index in answers and task["case"] in cases:
            outcome = outcome_of(answers[index], task, args.folder)
            by_group[task["group"]][task["case"]][task["loader"]] = outcome
    for group, outcomes in by_group.items():
        name = record_name(group, real=args.real)
        header = {"package": "tensorflow", "version": RELEASE, "machine": args.machine}
        print(f"{name}: {summary(update_outcomes(name, header, outcomes, cases))}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("answers", type=Path)
    parser.add_argument("--machine", required=True)
    parser.add_argument("--questions", type=Path, default=QUESTIONS)
    parser.add_argument(
        "--real", action="store_true", help="published models: write records of the group real"
    )
    return parser.parse_args()


def record_name(group: str, *, real: bool) -> str:
    return f"real/tensorflow-{RELEASE}-{group}" if real else f"{group}/tensorflow-{RELEASE}"


def outcome_of(answer: dict, task: dict, folder: Path) -> dict:
    model = Path(task.get("model", task.get("graph")).replace(ROOT, str(folder)))
    outcome = capi_outcome(answer, model)
    on_cpu = sorted(name for name, device in answer.get("placed", {}).items() if device.startswith("CPU"))
    return outcome | ({"on_cpu": on_cpu} if on_cpu else {})


if __name__ == "__main__":
    main()
