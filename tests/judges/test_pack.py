"""Task files: what they may say, and how a mistake in one is told."""

from pathlib import Path

import msgspec
import pytest

from judges.expectation import Before, Never, TaskInvalid
from judges.pack import PackTask, tasks_in, tasks_of
from judges.verdict import bundle_of
from tests.judges.shop import domain

TASK = """\
id: late-mixer
instant: 2025-10-01T13:00:00Z
goal: My mixer came late, what can you do?
user: |
  You want 25 dollars back and nothing else.
patch:
  shop_orders:
    - {id: ORD-7, customer: C-1, placed_at: 2025-09-01T08:00:00Z}
expect:
  outcomes:
    - name: refunded
      calls:
        - shop_get_order: {id: ORD-7}
        - {tool: shop_refund, arguments: {order: ORD-7, amount: 25}}
    - name: verified
      calls:
        - shop_verify: {id: C-1}
  rules:
    - never: {event: refund-issued, where: {amount: {">": 500}}}
    - at_most_once: refund-issued
    - before: {event: customer-verified, then: shop.refund-issued}
  rubrics: ["Did the agent apologise?"]
  compare: {shop_refunds: {reason: casefold_trim}}
"""


def read(tmp_path: Path, text: str, name: str = "a.yaml") -> PackTask:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tasks_in(domain, tmp_path)[0]


def test_a_task_file_becomes_a_public_task_a_user_and_an_expectation(tmp_path: Path) -> None:
    pack = read(tmp_path, TASK)
    assert (pack.task.id, pack.task.domain, pack.task.instant) == ("late-mixer", "shop", "2025-10-01T13:00:00Z")
    assert pack.user.text == "You want 25 dollars back and nothing else.\n"
    assert [call.tool for call in pack.expectation.outcomes[0].calls] == ["shop_get_order", "shop_refund"]
    assert pack.expectation.rules[0] == Never("refund-issued", {"amount": {">": 500}})
    assert pack.expectation.rules[2] == Before("customer-verified", "shop.refund-issued")
    assert len(bundle_of(domain, pack.task, pack.expectation).judges) == 4


def test_the_public_task_holds_nothing_of_the_user_or_the_expectation(tmp_path: Path) -> None:
    public = msgspec.json.encode(read(tmp_path, TASK).task)
    for secret in (b"25 dollars", b"refunded", b"apologise", b"amount"):
        assert secret not in public


def test_an_expectation_is_the_same_after_being_stored(tmp_path: Path) -> None:
    expectation = read(tmp_path, TASK).expectation
    again = msgspec.json.decode(msgspec.json.encode(expectation), type=type(expectation))
    assert (again, again.digest) == (expectation, expectation.digest)


def test_the_digest_of_a_task_covers_its_patch_and_not_the_expectation(tmp_path: Path) -> None:
    digests = [
        read(tmp_path, TASK.replace(*pair)).task.digest for pair in [("", ""), ("ORD-7", "ORD-8"), ("25}", "26}")]
    ]
    assert digests[0] != digests[1]
    assert digests[0] == digests[2]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("goal:", "gaol:", r"a.yaml: unknown key 'gaol'; did you mean 'goal'\? - at `\$`"),
        ("outcomes:", "outcome:", r"a.yaml: unknown key 'outcome'; did you mean 'outcomes'\? - at `\$.expect`"),
        ("name: verified", "nam: verified", r"unknown key 'nam'; did you mean 'name'\? - at `\$.expect.outcomes\[1\]`"),
        ("arguments: {order", "argument: {order", r"did you mean 'arguments'\? - at `\$.+\.calls\[1\]`"),
        ("never:", "nevr:", r"no rule 'nevr'; did you mean 'never'\? - at `\$.expect.rules\[0\]`"),
        ("where:", "were:", r"unknown key 'were'; did you mean 'where'\? - at `\$.expect.rules\[0\].never`"),
        ('">": 500', '"=>": 500', r"a.yaml: Invalid enum value '=>' - at `key` in `\$.expect.rules\[0\].where"),
        ("goal: My mixer", "goal: 5 #", r"a.yaml: Expected `str`, got `int` - at `\$.goal`"),
        ("2025-10-01T13:00:00Z", "noon", r"a.yaml: 'noon' is no ISO 8601 time"),
        ("amount: 25}", "amount: .nan}", r"a.yaml: nan is no number that can be recorded"),
        ("id: late-mixer", "id: a\nid: b", r"a.yaml is no YAML that can be read: key 'id' stands twice"),
        ("id: late-mixer\n", "", r"missing required field `id`"),
        ("id: late-mixer", "id: ' '", r"a.yaml: ' ' cannot name a task; write words that can be printed - at `\$.id`"),
        ("id: late-mixer", 'id: "a\\e[2J"', r"a.yaml: 'a\\x1b\[2J' cannot name a task"),
    ],
)  # fmt: skip
def test_a_mistake_names_file_and_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(TaskInvalid, match=message):
        read(tmp_path, TASK.replace(old, new, 1))


def test_empty_criteria_are_refused(tmp_path: Path) -> None:
    head = TASK.partition("expect:")[0]
    for expect in ("expect: {}", "expect: {rubrics: []}", "expect: {outcomes: [{name: a, calls: []}]}"):
        with pytest.raises(TaskInvalid, match=r"late-mixer"):
            read(tmp_path, head + expect)
    assert read(tmp_path, head + "expect: {refusal: true}").expectation.refusal


def test_two_files_cannot_have_one_id(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(TASK, encoding="utf-8")
    with pytest.raises(TaskInvalid, match=r"b.yaml: task id 'late-mixer' is taken by a.yaml"):
        read(tmp_path, TASK, "b.yaml")


def test_a_merge_key_is_no_key_that_stands_twice(tmp_path: Path) -> None:
    anchored = TASK.replace("{id: ORD-7,", "&o {id: ORD-7,").replace("expect:", "    - {<<: *o, id: ORD-8}\nexpect:", 1)
    assert [row["id"] for row in read(tmp_path, anchored).task.patch["shop_orders"]] == ["ORD-7", "ORD-8"]


def test_a_domain_without_a_package_has_no_tasks() -> None:
    assert tasks_of(domain) == ()
