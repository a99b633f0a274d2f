"""Record what a reduced build of 1.4.1 does with the models of tests/truth.

    python tools/truth/record_reduced.py

Such a build cannot be downloaded, so it is simulated: `reduced_registration.cc` is preloaded
before the stock release and lets it register only the ops and kernels that
tests/truth/reduced/ops_to_register.h keeps. That header was made for four models:

    tfport targets header --for tensorflow==1.4.1 -o tests/truth/reduced/ops_to_register.h \\
        tests/truth/models.tar.xz/{all_is_well.main,variables,ref_variables,parse_example}
"""

import os
import re
import subprocess
from pathlib import Path

from outcomes import summary, update_outcomes
from record_capi import record
from tests.truth_models import TRUTH, read_questions
from wheels import Wheel, unpacked

from tfport.atlas.selective_registration import read_header

RELEASE = "1.4.1"
EVERYTHING = ("*",)
HEADER = TRUTH / "reduced/ops_to_register.h"
SHIM = Path(__file__).with_name("reduced_registration.cc")
INCLUDED = re.compile(r"/tensorflow/include/(tensorflow|google|external|third_party|Eigen|unsupported)/")


def main() -> None:
    questions = read_questions(TRUTH / "questions.json")
    with unpacked("tensorflow", RELEASE, more=INCLUDED) as wheel:
        outcomes = record(wheel, RELEASE, questions, reducing(wheel))
    header = {"package": "tensorflow", "version": RELEASE, "wheel": wheel.name, "sha256": wheel.sha256}
    name = f"capi/tensorflow-{RELEASE}-reduced"
    print(f"{name}: {summary(update_outcomes(name, header, outcomes, set(questions)))}")


def reducing(wheel: Wheel, header: Path = HEADER) -> dict[str, str]:
    """Return the environment in which the release registers only what the header keeps."""
    kept, shim = read_header(str(header)), wheel.root / "reduced.so"
    files = {"TFPORT_KEPT_OPS": kept.ops, "TFPORT_KEPT_KERNELS": kept.kernels}
    for variable, names in files.items():
        lines = [f"{name}\n" for name in sorted(EVERYTHING if names is None else names)]
        (wheel.root / variable).write_text("".join(lines))
    include = wheel.package / "include"
    # the C++ ABI and the standard that 1.4.1 was built with
    options = ["-std=c++11", "-D_GLIBCXX_USE_CXX11_ABI=0", "-shared", "-fPIC", "-w", "-fpermissive"]
    paths = [f"-I{include}", f"-I{include}/external/nsync/public"]
    subprocess.run([os.environ.get("CXX", "c++"), *options, *paths, SHIM, "-o", shim], check=True)
    return {"LD_PRELOAD": str(shim)} | {variable: str(wheel.root / variable) for variable in files}


if __name__ == "__main__":
    main()
