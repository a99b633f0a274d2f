"""The sizes to try for a signature: those into which every window of the model fits.

Some models need far more than the usual sizes, such as a convolution over a thousand positions or a
slice that cuts off the ends of a sequence. For these the size grows until every window fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tfport.fix.certify.empty_windows import WindowSizes
from tfport.fix.certify.trials import Sizing, TrialBuilder
from tfport.startup.dataclass import replace

MOST_ELEMENTS = 1 << 21
"""The most elements of all inputs together for a size that is searched."""
FINE = 4
"""The search ends if a size that does not fit is smaller by at most this part of one that fits."""


class FittingSizes:
    """Sizes for the trials of one signature, from likely to unlikely."""

    def __init__(self, builder: TrialBuilder) -> None:
        self.builder = builder
        self.usual, self.unusual = builder.sizings()
        self.windows = WindowSizes(builder.model, builder.signature)
        self.too_small: dict[Sizing, str] = {}
        """A node without a window, for each size that is too small."""

    def fit(self, sizing: Sizing) -> bool:
        """Whether every window fits; a size that is too small is recorded."""
        if node := self._misfit(sizing):
            self.too_small[sizing] = node
        return not node

    def larger(self) -> Iterator[Sizing]:
        """Sizes about as small as fit, if those before were too small."""
        if not self.too_small:
            return
        start = replace(max(self.too_small, key=lambda sizing: sizing.other), rows=1, spread=0)
        smallest = self._smallest(start, rows=False) or self._smallest(start, rows=True)
        if smallest is None:
            return
        yield smallest
        yield replace(smallest, rows=smallest.rows + 1)
        yield replace(smallest, other=smallest.other + 3, spread=1)

    def words(self) -> str:
        """What was too small for which nodes."""
        nodes = ", ".join(f"`{node}`" for node in dict.fromkeys(self.too_small.values()))
        return f"sizes too small for the windows of {nodes} ({'; '.join(map(str, self.too_small))})"

    def _smallest(self, start: Sizing, *, rows: bool) -> Sizing | None:
        """Double the sizes until every window fits, then halve the distance; with `rows`, the rows too."""

        def sized(size: int) -> Sizing:
            return replace(start, other=size, rows=size if rows else start.rows)

        below = above = start.other
        while self._misfit(sized(above)):
            below, above = above, above * 2
            elements = self._elements(sized(above))
            if elements > MOST_ELEMENTS or elements == self._elements(sized(below)):  # no size is open
                return None
        while above - below > max(1, above // FINE):
            middle = (below + above) // 2
            below, above = (middle, above) if self._misfit(sized(middle)) else (below, middle)
        return sized(above)

    def _misfit(self, sizing: Sizing) -> str:
        return self.windows.misfit(self.builder.shapes_at(sizing))

    def _elements(self, sizing: Sizing) -> int:
        return sum(math.prod(shape) for shape in self.builder.shapes_at(sizing).values())
