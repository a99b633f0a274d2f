"""Pack the models that releases saved into tests/frontends/keras/recorded, small enough for the repository.

    python tools/truth/keras_corpus/pack.py CORPUS RELEASE...

CORPUS/RELEASE has what `save` wrote. Each family of cases becomes an archive FAMILY.tar.xz of
CASE/RELEASE.SUFFIX, and CASE/answers-N.npz. The files of a case are neighbors, as releases
write nearly the same bytes. Releases whose answers agree within SAME share a file of answers.
index.json says which files a case has, and which answers are theirs.
"""

import io
import json
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[3]))

from tests.truth_models import pack

HERE = Path(__file__).parent
RECORDED = HERE.parents[2] / "tests" / "frontends" / "keras" / "recorded"
SUFFIXES = ("h5", "keras", "weights.h5", "json")
SAME = 1e-6
"""Relative to the largest answer: a tenth of the accuracy that tests ask for."""

Arrays = dict[str, np.ndarray]


def main(corpus: Path, releases: list[str]) -> None:
    RECORDED.mkdir(parents=True, exist_ok=True)
    index = {}
    for family, cases in sorted(families().items()):
        packed = {case: pack_case(corpus, releases, family, case) for case in cases}
        if members := [member for _, members in packed.values() for member in members]:
            archive = pack(members)
            (RECORDED / f"{family}.tar.xz").write_bytes(archive)
            index[family] = {case: entry for case, (entry, _) in packed.items() if entry}
            print(f"{family}: {len(index[family])} cases, {len(archive) // 1024} kB", flush=True)
    lines = [f"{json.dumps(family)}: {{\n{case_lines(cases)}\n}}" for family, cases in index.items()]
    (RECORDED / "index.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def case_lines(cases: dict) -> str:
    return ",\n".join(f"{json.dumps(case)}: {json.dumps(entry)}" for case, entry in cases.items())


def families() -> dict[str, list[str]]:
    """Return the names of cases by the module that declares them; those of Keras 1 are their own family."""
    sys.path.insert(0, str(HERE))
    import case

    result = {}
    for module in ("keras1", "keras2"):
        case.CASES.clear()
        __import__(f"cases.{module}")
        for name, declared in sorted(case.CASES.items()):
            result.setdefault(declared.family, []).append(name)
    return result


def pack_case(
    corpus: Path, releases: list[str], family: str, case: str
) -> tuple[dict, list[tuple[str, bytes]]]:
    """Return the entry of a case in the index, and the members of the archive."""
    entry, members, answers = {}, [], []
    for release in releases:
        if (family == "keras1") != release.startswith("keras-1."):
            continue
        path = corpus / release / case
        suffixes = [suffix for suffix in SUFFIXES if path.with_name(f"{case}.{suffix}").exists()]
        recorded = path.with_name(f"{case}.npz")
        if suffixes and recorded.exists():
            number = shared_answers(answers, dict(np.load(recorded)))
            entry[release] = [number, *suffixes]
            members += [
                (f"{case}/{release}.{s}", path.with_name(f"{case}.{s}").read_bytes()) for s in suffixes
            ]
    members.sort(key=lambda member: member[0].split(".")[-1])
    return entry, members + [(f"{case}/answers-{i}.npz", saved(arrays)) for i, arrays in enumerate(answers)]


def shared_answers(answers: list[Arrays], arrays: Arrays) -> int:
    """Return the number of answers that agree with these, which are added if there are none."""
    for number, other in enumerate(answers):
        if other.keys() == arrays.keys() and all(agree(other[name], arrays[name], name) for name in arrays):
            return number
    answers.append(arrays)
    return len(answers) - 1


def agree(a: np.ndarray, b: np.ndarray, name: str) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if "in" in name or a.dtype.kind not in "f" or a.dtype.itemsize < 4:
        return np.array_equal(a, b)
    return np.allclose(a, b, rtol=SAME, atol=SAME * np.nanmax(np.abs(a), initial=0), equal_nan=True)


def saved(arrays: Arrays) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
