"""Figures show every agent once, with its name as it is, and are the same bytes each time."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from xml.etree import ElementTree

import pytest

from judges.lines import cut
from judges.metrics.cost import Bill
from judges.metrics.frontier import Point
from judges.metrics.study import Study
from judges.report.figures import Picture, pictures
from judges.report.figures_heat import MOST_TOLD
from judges.report.figures_scatter import LOG_FROM, cost
from judges.report.figures_sheet import LONGEST_NAME, styled
from judges.report.report import report_of
from judges.report.sections import heat, leaderboard
from sandbox.prices import Cost
from tests.judges.report.studies import (
    counts,
    failed,
    hostile,
    hostile_report,
    lonely,
    published,
    small,
    study_of_counts,
)

SVG = "{http://www.w3.org/2000/svg}"


def hostile_drawn() -> dict[str, Picture]:
    return {picture.name: picture for picture in hostile_report().pictures}


def drawn(study: Study) -> dict[str, Picture]:
    return {picture.name: picture for picture in report_of(study).pictures}


def texts(picture: Picture) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(picture.svg).iter(f"{SVG}text")]


def marks(picture: Picture, what: str) -> int:
    elements = ElementTree.fromstring(picture.svg).iter(f"{SVG}g")
    return sum(element.get("id", "").startswith(f"{picture.name}-{what}-") for element in elements)


def test_every_agent_has_its_marks() -> None:
    found = hostile_drawn()
    assert marks(found["leaderboard"], "agent") == 13
    assert marks(found["leaderboard"], "interval") == 13
    assert [marks(found["spread"], what) for what in ("every", "once", "best")] == [13, 13, 13]
    assert marks(found["cost"], "agent") == marks(found["cost-dependable"], "agent") == 13
    assert marks(found["cost"], "lower-bound") == 6


def test_names_are_shown_as_they_are() -> None:
    study = hostile()
    for name in ("leaderboard", "spread"):
        shown = texts(hostile_drawn()[name])
        for agent in study.agents:
            assert cut(agent.name, LONGEST_NAME) in shown


def test_a_picture_is_the_same_bytes_each_time() -> None:
    assert drawn(hostile()) == hostile_drawn()


def test_pictures_hold_no_date_and_no_style_sheet_for_others() -> None:
    for picture in report_of(small()).pictures:
        assert not {"metadata", "style", "script"} & {
            element.tag.removeprefix(SVG) for element in ElementTree.fromstring(picture.svg).iter()
        }
        assert picture.png.startswith(b"\x89PNG")
        assert b"tEXt" not in picture.png


def test_letters_are_nine_points_or_more() -> None:
    for picture in hostile_report().pictures:
        for element in ElementTree.fromstring(picture.svg).iter(f"{SVG}text"):
            size = element.get("style", "").partition("font-size: ")[2].partition("px")[0]
            assert float(size) >= 9, (picture.name, element.text)


@pytest.mark.parametrize("study", [lonely(0), lonely(1), lonely(1, 3)], ids=["nothing", "everything", "something"])
def test_one_agent_at_one_task_can_be_drawn(study: Study) -> None:
    found = drawn(study)
    assert marks(found["leaderboard"], "agent") == 1
    assert "solo" in texts(found["leaderboard"])
    assert set(found) >= {"leaderboard", "spread", "breadth", "tasks"}
    assert "cost" not in found


def test_an_agent_without_a_trial_has_a_row_and_no_mark() -> None:
    study = study_of_counts({"ada": counts("ada", [1]), "bob": counts("bob", [0], trials=0, missing=2)})
    found = drawn(study)
    assert "bob" in texts(found["leaderboard"])
    assert marks(found["leaderboard"], "agent") == 1
    assert "no trial that counts" in texts(found["tasks"])


def test_cells_of_a_heat_map_have_numbers_as_long_as_they_are_few() -> None:
    few = drawn(study_of_counts({"ada": counts("ada", [1] * MOST_TOLD)}))["tasks"]
    many = drawn(study_of_counts({"ada": counts("ada", [1] * (MOST_TOLD + 1))}))["tasks"]
    assert texts(few).count("25") == MOST_TOLD
    assert texts(many).count("25") == 0


def test_a_heat_map_of_hundreds_of_tasks_thins_its_labels() -> None:
    study = published()
    leaders = leaderboard(study)
    picture = pictures({"leaderboard": leaders, "tasks": heat(study)}, ([], []))["tasks"][0]
    shown = texts(picture)
    assert len(shown) < 120
    assert set(map(str, leaders.column("agent"))) <= set(shown)
    assert [e.get("id") for e in ElementTree.fromstring(picture.svg).iter(f"{SVG}image")]


def test_an_agent_may_be_called_like_the_column_of_tasks() -> None:
    study = study_of_counts({"task": counts("task", [1]), "ada": counts("ada", [3])})
    assert {"25", "75"} <= set(texts(drawn(study)["tasks"]))


def test_what_is_known_of_no_group_is_drawn_apart() -> None:
    study = study_of_counts({"ada": counts("ada", [0])}, notes={"ada": [failed("ada", 4, "stopped", "")]})
    assert "not known" in texts(drawn(study)["failures"])


def test_agents_on_the_frontier_are_ringed() -> None:
    found = {"ada": counts("ada", [4]), "bob": counts("bob", [2]), "cyd": counts("cyd", [1])}
    bills = {"ada": Bill(Cost(Decimal(4))), "bob": Bill(Cost(Decimal(2))), "cyd": Bill(Cost(Decimal(3)))}
    picture = drawn(study_of_counts(found, bills))["cost"]
    assert marks(picture, "ring") == 2
    assert {"ada", "bob", "cyd"} <= set(texts(picture))


@pytest.mark.parametrize(("dearest", "scale"), [(LOG_FROM, "linear"), (LOG_FROM + 1, "log")])
def test_costs_far_apart_stand_on_a_logarithmic_axis(dearest: int, scale: str) -> None:
    points = [Point("a", Fraction(1), Fraction(1, 2)), Point("b", Fraction(dearest), Fraction(1))]
    assert scale_of(points) == scale


def test_a_cost_of_nothing_stands_on_a_linear_axis() -> None:
    assert scale_of([Point("a", 0, Fraction(0)), Point("b", Fraction(100), Fraction(1))]) == "linear"
    assert scale_of([Point("a", 0, 0)]) == "linear"


def scale_of(points: Sequence[Point]) -> str:
    with styled():
        figure = cost(points, "pass@1")
    assert figure is not None
    return figure.axes[0].get_xscale()
