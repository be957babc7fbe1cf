"""The page on configurations names what there is, with its default, and nothing else; and its examples load."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args

import msgspec
import pytest
import yaml
from msgspec import NODEFAULT, Struct
from msgspec.inspect import CustomType, Field, StructType, Type, type_info

from domains.retail import domain
from judges.configuration import Configuration, Written, load_configuration
from judges.pack import tasks_of
from sandbox.agents import SCRIPTED
from sandbox.model_faults import ModelFault
from sandbox.model_settings import ModelSettings
from sandbox.prices import Price, PriceTable
from sandbox.records import End
from sandbox.trial import Flags
from sandbox.user import Script, ScriptedUser
from sandbox.world import Request
from tests.judges.modelled import variables

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
ROOTS: Mapping[str, type[Struct]] = {
    "": Written,
    "models.*": ModelSettings,
    "prices": PriceTable,
    "prices.models.*": Price,
    "TASK": Script,
}
"""Where a part of the files begins. Models, prices and scripts are plain values to what is around them."""
WRITTEN_AS = {"prices.prices": "prices.models"}
OUTER = re.compile(r'_flags\.add\("(\w+)"\)|^\w*FAULT = "(\w+)"|: "(\w+_reply)"', re.MULTILINE)


def documented() -> dict[str, str]:
    """Every key in the tables of the page, with its default."""
    rows = re.findall(r"^\| (`.*?`) \| .*? \| (.*?) \| .*\|$", PAGE, re.MULTILINE)
    return {key: default for cell, default in rows for key in re.findall(r"`(.*?)`", cell)}


def first_cells(heading: str) -> set[str]:
    """The names that a table of two columns is about."""
    table = PAGE.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0]
    return set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))


def existing() -> dict[str, str]:
    """Every key that a file may have, with its default as the page writes it."""
    found = {key: default for path, kind in ROOTS.items() for key, default in keys(type_info(kind), path)}
    return {WRITTEN_AS.get(key, key): default for key, default in found.items()}


def keys(kind: Type, path: str) -> Iterator[tuple[str, str]]:
    """The keys of a struct and of those in it, from a path on."""
    if isinstance(kind, StructType):
        if isinstance(kind.tag, str):
            yield f"{path}.{kind.tag_field}", "required"
        for field in kind.fields:
            place = f"{path}.{field.encode_name}".lstrip(".")
            yield place, shown(field)
            yield from keys(field.type, place)
    for item in getattr(kind, "types", ()):
        yield from keys(item, path)
    item = getattr(kind, "item_type", None)
    if item is not None:
        yield from keys(item, f"{path}[]")


def shown(field: Field) -> str:
    """A default as the page writes it; none where nothing is there."""
    if field.required:
        return "required"
    made = field.default_factory() if field.default is NODEFAULT else field.default
    if isinstance(field.type, CustomType) and not made:
        return "—"
    plain = msgspec.json.decode(msgspec.json.encode(made))
    if plain in (None, "", [], {}) or (isinstance(made, Struct) and made == type(made)()):
        return "—"
    if isinstance(plain, float):
        return f"`{plain:g}`"
    if isinstance(plain, str):
        return f"`{plain}`"
    line, *_ = yaml.safe_dump(plain, default_flow_style=True, sort_keys=False, width=1000).splitlines()
    return f"`{line}`"


@pytest.fixture
def example(tmp_path: Path) -> Configuration:
    """The files of the page, loaded."""
    for name, text in re.findall(r"<!-- (\S+) -->\n```yaml\n(.*?)```\n<!-- /\1 -->", PAGE, re.DOTALL):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return load_configuration(tmp_path / "agent.yaml", variables("http://localhost:8000/v1"))


def test_every_key_is_documented_with_its_default_and_no_other_is() -> None:
    assert documented() == existing()


def test_the_example_loads_with_its_scripts_and_prices(example: Configuration) -> None:
    assert example.agent_name == "clerk"
    assert sorted(example.endpoints) == ["agent", "judge"]
    assert isinstance(example.user(tasks_of(domain)), ScriptedUser)
    assert example.scripts.keys() <= {item.task.id for item in tasks_of(domain)}
    assert example.prices.price_of(example.endpoints["agent"].settings.model) is not None


def test_the_example_shows_every_key_of_the_top(example: Configuration) -> None:
    usual = Written(example.written.agent)
    same = [name for name in Written.__struct_fields__ if getattr(example.written, name) == getattr(usual, name)]
    assert same == ["agent"]


def test_the_gate_of_the_example_fits_what_its_commands_run(example: Configuration) -> None:
    rules = example.written.gate.rules if example.written.gate else ()
    assert {name for rule in rules for name in rule.tools} <= set(domain.tools)
    example.ensure_gate_fits(domain.tools)


def test_every_end_is_described() -> None:
    assert first_cells("end") == set(get_args(End))


def test_every_flag_that_a_trial_may_have_is_described() -> None:
    calls, still = Flags(), Flags()
    for _ in range(2):
        calls.see(Request("move", "{}"), True, True)
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "sandbox").glob("*.py")]
    named = {name for text in sources for found in OUTER.findall(text) for name in found if name}
    assert first_cells("flag") == {*calls.raised, *still.raised, *named}


def test_every_fault_of_a_call_is_named() -> None:
    kinds = {kind.kind for kind in ModelFault.__subclasses__()}
    assert {kind for kind in kinds if f"`{kind}`" not in PAGE} == set()


def test_every_scripted_agent_is_named() -> None:
    assert {name for name in SCRIPTED if f"`{name}`" not in PAGE} == set()
