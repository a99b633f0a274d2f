"""The error for a target that does not read files of a model's format, whatever is in them."""

from __future__ import annotations

from tfport.errors import Error


class OtherFormat(Error):
    """Alone an error, as no release helps; among several targets, the verdict of this one."""

    def __init__(self, what: str, advice: str, loader: str) -> None:
        """`loader`: what would have to read the file."""
        super().__init__(f"{what}; {advice}")
        self.what, self.advice, self.loader = what, advice, loader
