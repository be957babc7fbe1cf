"""Names beside dots, so that no name lies on another name, a dot or a line."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, cos, hypot, pi, sin
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from msgspec import Struct

from judges.lines import cut
from judges.report.figures_sheet import LONGEST_NAME, MIDDLE, settle

DISTANCES = (8, 14, 22, 32, 44, 58, 74, 92, 112, 134, 160)
"""Points from a dot to the nearest edge of its name, tried in this order."""
TURNS = 16
SIZE = 9
"""Of the letters, in points."""
DOT = 5.5
"""Points from the middle of a dot to its edge."""
FAR = 5
"""Points between dot and name from which on a line leads from one to the other."""
ARROW = 24
"""Points that an arrow reaches to the right of a dot."""
MANY = 12
"""Dots from which on names are cut shorter."""
LONGEST_OF_MANY = 22
CROSSED_UP_TO = 24
"""Dots up to which a line may cross another where a name finds no other room."""
MOST_NAMES = 3
"""Told at one dot; of more only how many."""

Place = tuple[float, float]
"""In points, from the lower left corner of the figure."""


class Box(NamedTuple):
    """A rectangle, in points."""

    left: float
    low: float
    right: float
    high: float

    def meets(self, other: "Box") -> bool:
        """Whether they overlap."""
        return self.left < other.right and other.left < self.right and self.low < other.high and other.low < self.high

    def holds(self, other: "Box") -> bool:
        """Whether the other lies within it."""
        return (
            self.left <= other.left and other.right <= self.right and self.low <= other.low and other.high <= self.high
        )

    def nearest(self, place: Place) -> Place:
        """The place in it that is nearest."""
        return min(max(place[0], self.left + 2), self.right - 2), min(max(place[1], self.low + 1), self.high - 1)


class Spot(Struct, frozen=True):
    """A dot with one name or several, where agents are equal."""

    x: float
    y: float
    names: tuple[str, ...]
    matters: bool = False
    """Whether its name is written before others take the room."""

    def label(self, longest: int) -> str:
        """The names, a line for each."""
        told = [cut(name, longest) for name in self.names[:MOST_NAMES]]
        rest = len(self.names) - len(told)
        return "\n".join([*told, *([f"and {rest} more"] if rest else [])])


def spots_of(found: Sequence[tuple[str, float, float]], that_matter: Sequence[str] = ()) -> list[Spot]:
    """One for each place; agents at the same place share it."""
    names: dict[Place, list[str]] = {}
    for name, x, y in found:
        names.setdefault((x, y), []).append(name)
    first = set(that_matter)
    return [Spot(x, y, tuple(own), not first.isdisjoint(own)) for (x, y), own in names.items()]


def label_spots(
    figure: Figure, axes: Axes, spots: Sequence[Spot], line: Sequence[Place] = (), arrows: Sequence[Place] = ()
) -> None:
    """
    Write the names of spots. One for which there is no room is left out; the table beside the figure has it.

    Args:
        line: corners of a line that is drawn, in data; names keep off it.
        arrows: dots with an arrow to the right, in data; names keep off them too.
    """
    settle(figure)
    longest = LONGEST_NAME if len(spots) <= MANY else LONGEST_OF_MANY
    labels = [spot.label(longest) for spot in spots]
    dots = [_placed(axes, (spot.x, spot.y)) for spot in spots]
    drawn = _along([_placed(axes, corner) for corner in line])
    taken = [_around(dot, DOT, DOT) for dot in dots]
    taken += [Box(x, y - 3, x + ARROW, y + 3) for x, y in (_placed(axes, dot) for dot in arrows)]
    whole = Box(*axes.bbox.extents)
    sizes = _sizes(figure, labels)
    found = [_arranged(order, dots, sizes, taken, drawn, whole) for order in _orders(spots, dots)]
    best = max(found, key=lambda boxes: (len(boxes), -sum(hypot(*_off(dots[i], boxes[i])) for i in boxes)))
    for i, box in best.items():
        _write(axes, spots[i], labels[i], dots[i], box)


def _placed(axes: Axes, data: Place) -> Place:
    right, up = axes.transData.transform(data)
    return float(right), float(up)


def _sizes(figure: Figure, labels: Sequence[str]) -> list[Place]:
    """Half the width and height of each text, with some air."""
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    found = []
    for label in labels:
        text = figure.text(0, 0, label, fontsize=SIZE, linespacing=1.05)
        box = text.get_window_extent(renderer)
        found.append((box.width / 2 + 2, box.height / 2 + 1))
        text.remove()
    return found


def _orders(spots: Sequence[Spot], dots: Sequence[Place]) -> list[list[int]]:
    """In which names may choose their room: the crowded first, then from each of four sides."""

    def crowd(i: int) -> int:
        return -sum(hypot(dots[i][0] - x, dots[i][1] - y) < 60 for x, y in dots)

    keys = (crowd, lambda i: -dots[i][0], lambda i: dots[i][0], lambda i: -dots[i][1], lambda i: dots[i][1])
    return [sorted(range(len(spots)), key=lambda i, key=key: (not spots[i].matters, key(i), i)) for key in keys]  # type: ignore[misc]


def _arranged(
    order: Sequence[int],
    dots: Sequence[Place],
    sizes: Sequence[Place],
    taken: Sequence[Box],
    drawn: Sequence[Box],
    whole: Box,
) -> dict[int, Box]:
    """Where names stand; those without room are not in it. What is drawn may be crossed, but not written upon."""
    full = list(taken)
    found: dict[int, Box] = {}
    for i in order:
        rooms = [box for box in _around_dot(dots[i], sizes[i], whole) if not _meets(box, [*full, *drawn])]
        # Best a line that crosses nothing; then one that crosses lines and names, but no dot; then any.
        choices = (full, taken, ()) if len(dots) <= CROSSED_UP_TO else (full,)
        box = next((box for kept in choices for box in rooms if _is_clear(dots[i], box, kept)), None)
        if box is not None:
            full += [box, *_lead(dots[i], box)]
            found[i] = box
    return found


def _around_dot(dot: Place, size: Place, whole: Box) -> Iterator[Box]:
    """Boxes of a size around a dot, the nearest first, to the right before other sides."""
    wide, high = size
    for distance in DISTANCES:
        for turn in range(TURNS):
            # 0, +1, -1, +2, … steps away from the right
            angle = 2 * pi / TURNS * (turn // 2 + turn % 2) * (1 if turn % 2 else -1)
            place = dot[0] + cos(angle) * (wide + distance), dot[1] + sin(angle) * (high + distance)
            box = _around(place, wide, high)
            if whole.holds(box):
                yield box


def _meets(box: Box, others: Sequence[Box]) -> bool:
    return any(box.meets(other) for other in others)


def _is_clear(dot: Place, box: Box, taken: Sequence[Box]) -> bool:
    """Whether the line from a dot to its name crosses nothing; what touches the dot itself is no matter."""
    lead = _lead(dot, box)
    own = _around(dot, DOT, DOT)
    return not lead or not any(_meets(part, [other for other in taken if not own.meets(other)]) for part in lead)


def _around(middle: Place, wide: float, high: float) -> Box:
    return Box(middle[0] - wide, middle[1] - high, middle[0] + wide, middle[1] + high)


def _along(corners: Sequence[Place]) -> list[Box]:
    """Small boxes that cover a line."""
    boxes = []
    for (x, y), (right, up) in pairwise(corners):
        parts = max(1, ceil(hypot(right - x, up - y) / 4))
        boxes += [_around((x + (right - x) * n / parts, y + (up - y) * n / parts), 1, 1) for n in range(parts + 1)]
    return boxes


def _off(dot: Place, box: Box) -> Place:
    """From a dot to the nearest place of its name."""
    x, y = box.nearest(dot)
    return x - dot[0], y - dot[1]


def _lead(dot: Place, box: Box) -> list[Box]:
    """What the line from a dot to its name covers, up to the edges of both."""
    right, up = _off(dot, box)
    length = hypot(right, up)
    if length <= FAR + DOT:
        return []
    start, end = (DOT + 2) / length, 1 - 3 / length
    return _along([(dot[0] + right * part, dot[1] + up * part) for part in (start, max(start, end))])


def _write(axes: Axes, spot: Spot, text: str, dot: Place, box: Box) -> None:
    middle = (box.left + box.right) / 2 - dot[0], (box.low + box.high) / 2 - dot[1]
    label = axes.annotate(
        text, (spot.x, spot.y), xytext=middle, textcoords="offset points", ha="center", va="center", fontsize=SIZE,
        linespacing=1.05, annotation_clip=False, zorder=5,
    )  # fmt: skip
    label.set_in_layout(False)
    if _lead(dot, box):
        leader = axes.annotate(
            "", (spot.x, spot.y), xytext=_off(dot, box), textcoords="offset points", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": MIDDLE, "lw": 0.6, "shrinkA": 0, "shrinkB": DOT - 1},
        )  # fmt: skip
        leader.set_in_layout(False)
