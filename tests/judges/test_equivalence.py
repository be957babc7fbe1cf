"""That rows end equal is found without the judge, and agrees with it."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.mutation.equivalence import same_rows
from judges.profile import profile_of
from tests.judges.shop import Script, after, domain, edit, new, refunded
from tests.judges.test_comparison_laws import compared, scripts

PROFILE = profile_of(domain, {}, "t")


def told(golden: Script, trial: Script) -> str:
    return same_rows(domain, domain.snapshot, PROFILE, after(golden).effects, after(trial).effects)


CREATED = [new("orders", customer="C-1"), new("orders", customer="C-2"), new("lines", order="ORD-4", sku="pen")]
SWAPPED = [new("orders", customer="C-2"), new("orders", customer="C-1"), new("lines", order="ORD-3", sku="pen")]


@pytest.mark.parametrize(
    ("golden", "trial", "words"),
    [
        ([refunded()], [refunded()], "the rows end equal"),
        ([refunded()], [refunded(), edit("orders", "ORD-1", status="open")], "the rows end equal"),
        ([refunded()], [refunded(), edit("orders", "ORD-1", touched=3)], "the rows end equal"),
        (
            [edit("orders", "ORD-1", status="hold")],
            [edit("orders", "ORD-1", status="hold", note="called")],
            "the rows end equal but for shop_orders.note (prose)",
        ),
        ([refunded()], [refunded(), edit("orders", "ORD-1", note="called")], ""),
        (CREATED, SWAPPED, "the rows end equal, new rows under other ids"),
        (CREATED, [*SWAPPED[:2], CREATED[2]], ""),
        ([refunded()], [refunded(amount=30)], ""),
        ([refunded()], [refunded(), refunded()], ""),
        ([refunded()], [], ""),
    ],
)
def test_rows_end_equal_or_not(golden: Script, trial: Script, words: str) -> None:
    assert told(golden, trial) == words


@given(scripts, st.randoms(use_true_random=False))
def test_what_ends_equal_is_equal_for_the_judge(golden: Script, dice: Random) -> None:
    trial = [*golden]
    dice.shuffle(trial)
    ours, theirs = after(golden).effects, after(trial).effects
    if same_rows(domain, domain.snapshot, PROFILE, ours, theirs):
        assert compared(ours, theirs).equal == "yes"
    else:
        assert compared(ours, theirs).equal != "yes"
