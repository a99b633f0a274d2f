"""Record again what the wheels of TensorFlow require, for all builds in atlas.sqlite.

    python tools/atlas/requirements.py [--cache FOLDER]

Reads only the METADATA of the recorded wheels, with HTTP range requests. `collect.py` records the
same for a new release.
"""

import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from atlas_file import ATLAS, AtlasContent, RecordedBuild
from facts import from_metadata
from package_index import files
from package_versions import cached, metadata
from records import sorted_json

from tfport.atlas.atlas import TENSORFLOWS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, help="folder for what was downloaded")
    args = parser.parse_args()
    content = AtlasContent.read()
    with ThreadPoolExecutor(8) as pool:
        content.builds = list(pool.map(lambda build: with_requirements(build, args.cache), content.builds))
    content.write(ATLAS)


def with_requirements(build: RecordedBuild, cache: Path | None) -> RecordedBuild:
    """Return the build with everything that its wheel requires; an add-on stays as it is."""
    if build.package not in TENSORFLOWS:
        return build
    text = cached(cache, f"{build.wheel}.METADATA", lambda: metadata(url_of(build)))
    read = from_metadata(text.decode(errors="replace"))
    if not read["requires"]:
        raise ValueError(f"{build.wheel}: METADATA without requirements, which is incomplete")
    facts = json.loads(build.facts) | read
    return replace(build, facts=sorted_json(facts))


def url_of(build: RecordedBuild) -> str:
    return next(file.url for file in files(build.package) if file.name == build.wheel)


if __name__ == "__main__":
    main()
