"""Task files made of plain values, and what lint says of them."""

from copy import deepcopy
from functools import partial
from typing import Any

from judges.lint.pack import Item, Pack
from judges.lint.report import Remark, Report
from judges.lint.run import lint
from sandbox.domain import Domain
from tests.judges.shop import START, domain

READ = {"shop_get_order": {"id": "ORD-1"}}
REFUND = {"shop_refund": {"order": "ORD-1", "amount": 25}}
TABLES = "The tables are orders, lines, customers, tickets and refunds."
NOTED = {"shop_change": {"table": "orders", "key": "ORD-1", "fields": {"note": "called back"}}}


def edited(table: str, key: str, **fields: Any) -> dict[str, Any]:
    """A golden call that changes a row."""
    return {"shop_change": {"table": table, "key": key, "fields": fields}}


def new(table: str, **row: Any) -> dict[str, Any]:
    """A golden call that creates a row."""
    return {"shop_create": {"table": table, "row": row}}


def task(*calls: dict[str, Any], id: str = "late-mixer", **more: Any) -> dict[str, Any]:
    """A task file of the shop, with one outcome; what belongs under `expect` may be given beside the rest."""
    expect: dict[str, Any] = {
        name: more.pop(name) for name in ("rules", "rubrics", "compare", "refusal") if name in more
    }
    if calls:
        expect["outcomes"] = [{"name": "golden", "calls": [deepcopy(call) for call in calls]}]
    goal = "The mixer of ORD-1 came damaged. I want 25 dollars back."
    public = {"id": id, "instant": START, "goal": goal, "user": "Nothing else."}
    return {**public, "expect": expect, **more, "policy": f"{TABLES} {more.get('policy', '')}"}


def pack(*contents: Any, of: Domain = domain) -> Pack:
    """Task files `0.yaml`, `1.yaml`, …; an exception as content is a file that cannot be read."""
    items = [Item(f"tasks/{place}.yaml", partial(_content, given)) for place, given in enumerate(contents)]
    return Pack(of.name, of, "here", tuple(items))


def linted(*contents: Any, of: Domain = domain) -> Report:
    """What lint says of these task files."""
    return lint(pack(*contents, of=of))


def found(report: Report, check: str) -> list[Remark]:
    """The remarks of one check."""
    return [remark for remark in report.remarks if remark.check == check]


def _content(given: Any) -> Any:
    if isinstance(given, Exception):
        raise given
    return given
