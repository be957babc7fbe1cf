"""The query language with its quirks on answers as the recorded servers of five businesses did."""

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from domains.shared.odata import FilterQuirks, QueryFault, select_rows

BENCH = Path(__file__).resolve().parents[3] / "shared" / "bench"
USABLE = ("tickets", "users", "organizations", "comments", "ticket_comments")

pytestmark = pytest.mark.skipif(not BENCH.exists(), reason="the recorded answers are not here: ../shared/bench")

EVERYWHERE = FilterQuirks(
    prefix_keywords=True,
    only_comparisons_evaluated=True,
    literals_not_values=True,
    python_comparison=True,
    unknown_names_pass=True,
    first_order_key_only=True,
    mixed_values_unordered=True,
)
PLAIN = FilterQuirks(**{name: True for name in FilterQuirks.__struct_fields__ if name != "table_name_is_field"})
QUIRKS = {"retail": PLAIN} | dict.fromkeys(("insurance", "travel", "neobank", "consulting"), EVERYWHERE)

Tables = dict[str, dict[str, dict[str, Any]]]


class Desk:
    """Tables of one business: its seed rows, patched and then changed as recorded."""

    def __init__(self, domain: str) -> None:
        declared = json.loads((BENCH / "interface" / f"{domain}.json").read_text())["tables"]
        self.tables = {table["table"]: table for table in declared if table["table"].startswith("zendesk_")}

    def rows(self, patch: Mapping[str, list[dict[str, Any]]] | None) -> Tables:
        rows: Tables = {}
        for name, table in self.tables.items():
            rows[name] = {str(row["id"]): row for row in table["seed_rows"]}
            for row in (patch or {}).get(name, ()):
                rows[name][str(row["id"])] = {field["name"]: stored(field, row) for field in table["fields"]}
        return rows

    def columns(self, table: str) -> list[str]:
        return [field["name"] for field in self.tables[table]["fields"]]


def stored(field: Mapping[str, Any], row: Mapping[str, Any]) -> Any:
    """Value of a field as the table keeps it: the default if not given, a float where one is declared."""
    value = row.get(field["name"], field.get("default"))
    return float(value) if "float" in field["type"].lower() and value is not None else value


def lines(kind: str, domain: str) -> Iterator[dict[str, Any]]:
    path = next((BENCH / kind).glob(f"{domain}.jsonl*"))
    content = path.read_bytes()
    yield from map(json.loads, (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines())


def patches(domain: str) -> dict[str, Any]:
    return {task["uid"]: task["data_patch"] for task in lines("tasks", domain)}


def apply(rows: Tables, changes: list[dict[str, Any]]) -> None:
    for change in changes:
        table = rows.get(change["table"], {})
        if change["op"] in ("create", "update"):
            table[str(change["pk"])] = change["after"]
        elif change["op"] == "delete":
            del table[str(change["pk"])]


def option(arguments: Mapping[str, Any], name: str) -> Any:
    """An argument by either of its names; the one with the dollar sign wins."""
    return arguments.get(f"${name}", arguments.get(name))


def answer(desk: Desk, rows: Tables, arguments: Mapping[str, Any], quirks: FilterQuirks) -> list[dict[str, Any]] | None:
    """What the language answers; None for a refusal."""
    table = f"zendesk_{arguments['table']}"
    try:
        return select_rows(
            rows[table].values(),
            where=option(arguments, "filter"),
            order=option(arguments, "orderby"),
            skip=int(option(arguments, "skip") or 0),
            top=int(option(arguments, "top") or 512),
            fields=option(arguments, "select"),
            columns=desk.columns(table),
            quirks=quirks,
        )
    except QueryFault:
        return None


def comparable(step: Mapping[str, Any]) -> bool:
    """Whether the language itself decides the step: not the tool's check of its arguments, nor of the table."""
    return step["tool"].endswith("get_items") and not any(
        words in step.get("error", "") for words in ("Input validation failed", "Unsupported table", "validation error")
    )


def differences(desk: Desk, rows: Tables, steps: list[dict[str, Any]], quirks: FilterQuirks) -> Iterator[str | None]:
    """For each step that the language decides None, or how it differs."""
    for step in steps:
        if comparable(step):
            recorded = step["result"]["items"] if "result" in step else None
            ours = answer(desk, rows, step["arguments"], quirks)
            same = json.dumps(ours) == json.dumps(recorded)
            yield None if same else f"{step['arguments']}: recorded {recorded}, got {ours}"
        apply(rows, step.get("changes", []))


@pytest.mark.parametrize("domain", QUIRKS)
@pytest.mark.parametrize("kind", ["quirks", "golden", "probes"])
def test_each_recorded_query_is_answered_alike(domain: str, kind: str) -> None:
    desk, patched = Desk(domain), patches(domain)
    found: list[str | None] = []
    for line in lines(kind, domain):
        patch = line.get("data_patch") or patched.get(line.get("uid", line.get("base_uid", "")))
        found += differences(
            desk, desk.rows(patch), [line] if kind == "probes" else line.get("steps", []), QUIRKS[domain]
        )
    assert len(found) >= 10
    assert [difference for difference in found if difference] == []


@pytest.mark.parametrize("domain", QUIRKS)
def test_recorded_queries_before_the_first_write_of_a_mistaken_trial_are_answered_alike(domain: str) -> None:
    declared = json.loads((BENCH / "interface" / f"{domain}.json").read_text())["tools"]
    reads = {tool["name"] for tool in declared if not tool["mutating"]}
    desk, patched = Desk(domain), patches(domain)
    found: list[str | None] = []
    for line in lines("perturbed", domain):
        calls = line["calls"]
        writes = next((at for at, call in enumerate(calls) if call["tool"] not in reads), len(calls))
        found += differences(desk, desk.rows(patched[line["uid"]]), calls[:writes], QUIRKS[domain])
    assert len(found) >= 50
    assert [difference for difference in found if difference] == []
