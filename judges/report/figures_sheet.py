"""What all figures share: sizes, inks, and how they become SVG and PNG."""

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter

from judges.lines import cut
from judges.report.table import AtLeast, Cell

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
FONTS = "'DejaVu Sans', Verdana, Arial, sans-serif"
POINTS = 72
"""Per inch; figures are laid out with as many dots per inch, so that a dot is a point."""
PNG_DPI = 144
WIDTH = 7.2
"""Inches, of most figures: what fits on a printed page."""
ROW = 0.29
"""Inches for each agent."""
LONGEST_NAME = 30
"""Characters of a name beside an axis."""
HEAD = 0.34
"""Inches that the title takes."""
LEGEND_ROW = 0.22
"""Inches of a row of the legend, which is below the title."""

DARK, MIDDLE, LIGHT = "#1a1a1a", "#767676", "#d9d9d9"
BLUE, VERMILION, ORANGE, GREEN = "#0072b2", "#d55e00", "#e69f00", "#009e73"
"""Of Okabe and Ito; none of them tells anything that a marker's shape does not."""

STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": MIDDLE,
    "axes.labelsize": 9.5,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.titlesize": 11.5,
    "figure.titleweight": "bold",
    "font.family": ["DejaVu Sans"],
    "font.size": 9.5,
    "grid.color": LIGHT,
    "hatch.linewidth": 0.8,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "trialbox",
    # Names are text, also those that look like formulas.
    "text.parse_math": False,
    "text.usetex": False,
    "xtick.color": DARK,
    "xtick.labelsize": 9,
    "ytick.color": DARK,
    "ytick.labelsize": 9.5,
}


@contextmanager
def styled() -> Iterator[None]:
    """Within it, figures are drawn in the house style, whatever the user's own settings are."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        # A letter that the font lacks is a box in the PNG; browsers have it in the SVG.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def sheet(title: str, height: float, width: float = WIDTH) -> tuple[Figure, Axes]:
    """An empty figure of one pair of axes; sizes in inches."""
    figure = Figure(figsize=(width, height), dpi=POINTS, layout="constrained", facecolor="white")
    figure.suptitle(title, x=0.01, y=1 - 0.06 / height, ha="left", va="top").set_in_layout(False)
    _leave_above(figure, HEAD)
    return figure, figure.add_subplot()


def add_legend(figure: Figure, handles: Sequence[Artist], columns: int) -> None:
    """A legend between the title and the axes."""
    height = figure.get_figheight()
    anchor = (0.0, 1 - (HEAD - 0.04) / height)
    # matplotlib fills column by column; this is read row by row.
    in_rows = [handle for column in range(columns) for handle in handles[column::columns]]
    legend = figure.legend(
        handles=in_rows, loc="upper left", bbox_to_anchor=anchor, ncols=columns, borderaxespad=0, borderpad=0.2,
        handletextpad=0.5, columnspacing=1.4,
    )  # fmt: skip
    legend.set_in_layout(False)
    _leave_above(figure, HEAD + legend_height(len(handles), columns))


def legend_height(entries: int, columns: int) -> float:
    """Inches."""
    return -(-entries // columns) * LEGEND_ROW


def _leave_above(figure: Figure, inches: float) -> None:
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(0, 0, 1, 1 - inches / figure.get_figheight()))


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """One row for each name, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def percent_axis(axes: Axes, label: str, *, of_y: bool = False) -> None:
    """Shares from 0 to 1, shown in percent, with room for markers at both ends."""
    axis = axes.yaxis if of_y else axes.xaxis
    (axes.set_ylim if of_y else axes.set_xlim)(-0.025, 1.025)
    axis.set_ticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.0f}%"))
    axis.grid(True)
    axis.set_label_text(label)


def rows_height(rows: int, beside: float) -> float:
    """Inches for so many agents, and what is above and below them."""
    return rows * ROW + beside


def short(name: Cell) -> str:
    """A name as it stands beside an axis."""
    return cut(str(name), LONGEST_NAME)


def told_failed(name: Cell, failed: Cell) -> str:
    """A name with the number of failed trials behind it; that stays, however long the name is."""
    count = "" if failed is None else f" ({failed})"
    return cut(str(name), LONGEST_NAME - len(count)) + count


def number(cell: Cell) -> float | None:
    """A cell as a position on an axis."""
    if isinstance(cell, AtLeast):
        return float(cell.value)
    return None if cell is None or isinstance(cell, str) else float(cell)


def settle(figure: Figure) -> None:
    """Lay a figure out, once for all of its files."""
    if isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine):
        figure.draw_without_rendering()
        figure.set_layout_engine("none")


def svg_of(figure: Figure, name: str, alt: str) -> bytes:
    """
    The figure as SVG, the same bytes each time; its texts are texts.

    It can stand in a page beside others: its identifiers begin with its name, and it has no style sheet.
    """
    content = _saved(figure, "svg", {"Date": None, "Creator": None}, POINTS)
    root = ElementTree.fromstring(content)
    for child in list(root):
        if child.tag == f"{{{SVG}}}metadata" or child.find(f"{{{SVG}}}style") is not None:
            root.remove(child)
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt")
    root.set("role", "img")
    root.set("aria-label", alt)
    for element in root.iter():
        _rename(element, name)
        if style := element.get("style"):
            element.set("style", style.replace("'DejaVu Sans'", FONTS))
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    return ElementTree.tostring(root)


def _rename(element: ElementTree.Element, name: str) -> None:
    """Put a figure's name before an element's identifier, and before those that it refers to."""
    for key, value in element.items():
        if key == "id":
            element.set(key, f"{name}-{value}")
        elif key == f"{{{XLINK}}}href" and value.startswith("#"):
            element.set(key, f"#{name}-{value[1:]}")
        elif "url(#" in value and key in ("clip-path", "style", "fill"):
            element.set(key, value.replace("url(#", f"url(#{name}-"))


def png_of(figure: Figure) -> bytes:
    """The figure as PNG, the same bytes each time."""
    return _saved(figure, "png", {"Software": None}, PNG_DPI)


def _saved(figure: Figure, form: str, metadata: dict[str, str | None], dpi: int) -> bytes:
    settle(figure)
    file = io.BytesIO()
    figure.savefig(file, format=form, metadata=metadata, dpi=dpi)
    return file.getvalue()
