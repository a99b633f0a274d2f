"""Print the version of tfport, which `pyproject.toml` states."""

import tomllib
from pathlib import Path

if __name__ == "__main__":
    print(
        tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text("utf-8"))["project"][
            "version"
        ]
    )
