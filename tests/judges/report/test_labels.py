"""Names beside dots never lie on one another, on a dot, or outside."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from judges.report.figures_labels import label_spots, spots_of
from judges.report.figures_sheet import percent_axis, sheet, styled

Places = list[tuple[float, float]]
SHARES = st.sampled_from([n / 20 for n in range(21)])


def labelled(places: Places) -> tuple[Figure, Axes, list[Annotation]]:
    with styled():
        figure, axes = sheet("Names", 5)
        percent_axis(axes, "across")
        percent_axis(axes, "up", of_y=True)
        label_spots(figure, axes, spots_of([(f"agent {n}", x, y) for n, (x, y) in enumerate(places)]))
        figure.draw_without_rendering()
    return figure, axes, [text for text in axes.texts if isinstance(text, Annotation) and text.get_text()]


def boxes(figure: Figure, labels: list[Annotation]) -> list[Bbox]:
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    return [label.get_window_extent(renderer) for label in labels]


@settings(max_examples=15)
@given(st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=25))
def test_names_lie_on_nothing(places: Places) -> None:
    figure, axes, labels = labelled(places)
    found = boxes(figure, labels)
    assert not any(a.overlaps(b) for a, b in combinations(found, 2))
    dots = [axes.transData.transform(place) for place in places]
    assert not any(box.contains(*dot) for box in found for dot in dots)
    assert all(axes.bbox.padded(1).contains(x, y) for box in found for x, y in box.corners())


def test_up_to_twenty_names_in_a_crowd_are_all_there() -> None:
    places = [(0.5 + n % 5 / 40, 0.5 + n // 5 / 40) for n in range(20)]
    _, _, labels = labelled(places)
    assert sorted(label.get_text() for label in labels) == sorted(f"agent {n}" for n in range(20))


def test_equal_agents_share_a_name() -> None:
    _, _, labels = labelled([(0.0, 0.0)] * 5)
    assert [label.get_text() for label in labels] == ["agent 0\nagent 1\nagent 2\nand 2 more"]
