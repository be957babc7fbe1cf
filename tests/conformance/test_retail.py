"""Retail's public mount answers, changes rows and is judged exactly as recorded."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from domains.retail import public_domain
from domains.retail.shop import RetailQuirks
from judges.strict import THINKINGBOX, comparison_form, state_hash
from sandbox import Domain, RowFault
from tests.conformance.records import ABSENT, BENCH, KINDS, Records
from tests.conformance.run import Business, Comparison, Exempt, Report, compared, table

Rows = Mapping[str, Sequence[Mapping[str, Any]]]

pytestmark = pytest.mark.skipif(not BENCH.exists(), reason=ABSENT)

UNDONE = "a refused call changes nothing here; there the stock stays reduced"
HOST_TIME = "the code had expired by the host's clock; the trial's clock is read here"

RETAIL = Business(
    "retail",
    public_domain,
    exempt=(
        Exempt("quirks", "profiles", 5, "answer", HOST_TIME),
        Exempt("quirks", "replacement_partial_write", 0, "changes", UNDONE),
        Exempt("quirks", "replacement_partial_write", 1, "answer", UNDONE),
        Exempt("quirks", "replacement_partial_write", -1, "final_hash", UNDONE),
    ),
)


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    made = compared(RETAIL)
    print(table(made))
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_was_recorded_happens_again(reports: dict[str, Report], kind: str) -> None:
    assert reports[kind].calls > 200
    assert "\n".join(map(str, reports[kind].differences)) == ""


def test_every_exception_is_one_still(reports: dict[str, Report]) -> None:
    met = {(d.kind, d.trajectory, d.at, d.what) for report in reports.values() for d in report.exempted}
    assert met == {(e.kind, e.trajectory, e.at, e.what) for e in RETAIL.exempt}


def test_the_rows_before_any_patch_have_the_recorded_hash() -> None:
    form = comparison_form(Comparison(RETAIL).world({}).rows, THINKINGBOX)
    assert state_hash(form) == Records("retail").interface["initial_state_hash"]


def test_a_patch_with_a_bad_row_is_refused_as_a_whole() -> None:
    (patch,) = [t.patch for t in Records("retail").trajectories("quirks") if t.name == "invalid_patch_partial"]
    with pytest.raises(RowFault, match=r"zendesk_tickets\[1\].*subject"):
        Comparison(RETAIL).world(patch)


@pytest.mark.parametrize(
    ("switch", "kind", "noticed"),
    [
        ("utc_as_offset", "golden", {"answer"}),
        ("upgrade_demotes_vip", "probes", {"answer", "changes"}),
        ("first_membership_of_any_status", "quirks", {"answer", "changes", "final_hash"}),
        ("unkept_ids_unchecked", "perturbed", {"answer", "final_hash", "verdict"}),
    ],
)
def test_the_comparison_notices_a_switch_that_is_off(switch: str, kind: str, noticed: set[str]) -> None:
    def domain(seed: Rows) -> Domain:
        mounts = public_domain(seed).mounts
        odd = [mount for mount in mounts if isinstance(mount.quirks, RetailQuirks)]
        right = [replace(mount, quirks=replace(mount.quirks, **{switch: False})) for mount in odd]
        others = [mount for mount in mounts if mount not in odd]
        return Domain("retail", *right, *others, seed=seed, refusals="object")

    report = Comparison(replace(RETAIL, domain=domain)).report(kind)
    assert {difference.what for difference in report.differences} == noticed
