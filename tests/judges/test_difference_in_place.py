"""The quick way to tell what differs says what the thorough one says."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from judges.compare import Required
from judges.outcome import Outcome
from judges.profile import profile_of
from tests.judges.shop import Script, after, domain, drop, edit, new, refunded

PROFILE = profile_of(domain, {}, "t")
STEPS = st.one_of(
    st.builds(refunded, st.sampled_from(["ORD-1", "ORD-2"]), st.sampled_from([1.0, 25.0]), st.sampled_from("ab")),
    st.builds(lambda total: edit("orders", "ORD-1", total=total), st.sampled_from([None, 1.0, 100.0])),
    st.builds(lambda tags: edit("orders", "ORD-2", tags=tags), st.lists(st.sampled_from("xy"), max_size=2)),
    st.builds(lambda order: new("lines", order=order, sku="mug"), st.sampled_from(["ORD-1", "ORD-3", "LIN-1"])),
    st.builds(lambda line: new("shipments", lines=[line]), st.sampled_from(["LIN-1", "LIN-9"])),
    st.builds(lambda number: new("reservations", order="ORD-1", sku="mug", quantity=number), st.integers(1, 2)),
    st.just(drop("orders", "ORD-2")),
    st.builds(lambda address: edit("customers", "C-1", address=address), st.sampled_from(["1 Elm", "RFD-1", "LIN-1"])),
)


def played(script: Script) -> Any:
    """Effects; a step that the shop declines, as its row is gone by then, ends the script."""
    done: Script = []
    for step in script:
        if step[1].get("key") == "ORD-2" and drop("orders", "ORD-2") in done:
            break
        if step[1].get("order") == "ORD-2" and drop("orders", "ORD-2") in done:
            break
        done.append(step)
    return after(done).effects


@settings(max_examples=300)
@given(st.lists(STEPS, max_size=4), st.lists(STEPS, max_size=4))
def test_both_ways_say_the_same(golden: Script, trial: Script) -> None:
    required = [Required(Outcome("golden", played(golden)), domain, domain.snapshot, PROFILE) for _ in range(2)]
    required[1]._is_simple = False
    quick, thorough = (one.compare(played(trial)) for one in required)
    assert quick == thorough


def test_one_wrong_field_is_told_in_place() -> None:
    required = Required(Outcome("golden", played([refunded()])), domain, domain.snapshot, PROFILE)
    assert required._is_simple
    (finding,) = required.compare(played([refunded(amount=30)])).findings
    assert (finding.kind, finding.key, finding.field, finding.required, finding.found) == (
        "wrong",
        "RFD-1",
        "amount",
        25.0,
        30.0,
    )
