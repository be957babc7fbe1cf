"""Where things are in a checkout of the public benchmark: scenarios, test files, seed rows."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from domains.importers.cases import Case, cases_in, is_file_name
from sandbox import Document, ImportFault, json_of, text_of, yaml_of

RELEASE = "releases/thinkingbox_bench_v1/testlist_thinkingbox_bench_v1.yaml"
RETAIL = ("oms", "stripe", "extend", "jobber", "loop_returns", "netsuite", "promo", "salesforce", "shopify_pim")


class Business(Struct, frozen=True):
    """A scenario's company here, and its seed rows there: folders below `toolslib`, with the prefix of their tables."""

    domain: str
    toolsets: Mapping[str, str]


def _business(domain: str, package: str, *toolsets: str) -> Business:
    return Business(domain, {f"{package}/{name}": name for name in toolsets})


BUSINESSES = {
    "sandbox_external_retail": Business(
        "retail",
        {
            "zendesk": "zendesk",
            **{f"external_retail_toolset/{name}": f"external_retail_toolset_{name}_models" for name in RETAIL},
        },
    ),
    "sandbox_auto_insurance": _business(
        "insurance", "sandbox_auto_insurance", "zendesk", "policy", "billing", "claims", "crm"
    ),
    "external_booking_v1": _business(
        "travel",
        "external_booking",
        *("zendesk", "booking_api", "corporate_api", "crm_api", "hotel_partner_api", "payment_api", "lookup"),
    ),
    "sandbox_neobank_support_v1": Business(
        "neobank",
        {
            "sandbox_neobank_support/zendesk": "zendesk",
            "sandbox_neobank_support/main": "sandbox_neobank_support_main_models",
        },
    ),
    "sandbox_consulting": _business(
        "consulting",
        "sandbox_consulting",
        *("zendesk", "software_catalog", "salesforce_crm", "workday", "okta", "mavenlink", "concur"),
        *("asset_management", "license_management", "degreed", "client_access", "approval", "box"),
    ),
}


class Scenario(Struct, frozen=True):
    """What the tasks of one scenario share."""

    name: str
    tools: tuple[str, ...]
    instructions: str
    documents: tuple[Document, ...]
    state: Mapping[str, Any]
    """By server, as written."""
    problem: str = ""
    """Why none of its tasks can be taken over."""


class Checkout:
    """A folder with the benchmark's files."""

    def __init__(self, home: Path) -> None:
        if not home.is_dir():
            raise ImportFault(f"there is no folder {home}; name a checkout of the public benchmark's repository")
        self.home = home

    @property
    def licence(self) -> str:
        """The text that travels with the data."""
        return text_of(self.home / "LICENSE.txt")

    def released(self) -> list[str]:
        """The uids of the release, in order; ImportFault if the list is none, or names one twice."""
        uids = yaml_of(text_of(self.home / RELEASE), RELEASE)
        if not isinstance(uids, list) or not all(isinstance(uid, str) and uid.count(":") == 1 for uid in uids):
            raise ImportFault(f"{RELEASE} is no list of `FILE:FUNCTION`")
        for uid in uids:
            if not is_file_name(uid.partition(":")[0]):
                raise ImportFault(f"{RELEASE}: {uid!r} does not begin with the name of a Python file")
        if len(set(uids)) < len(uids):
            twice = next(uid for uid in uids if uids.count(uid) > 1)
            raise ImportFault(f"{RELEASE} names {twice!r} twice; every task must be told apart")
        return uids

    def cases(self) -> dict[str, Case]:
        """Every test case of every file, by uid; ImportFault if a file cannot be read, or two have one name."""
        folder = self._folder("dataset/test_case")
        found: dict[str, Case] = {}
        paths = sorted([*folder.glob("*.py"), *folder.glob("*/*.py")])
        for path in paths:
            others = [other for other in paths if other.name == path.name]
            if len(others) > 1:
                raise ImportFault(f"two test files are named {path.name}: {others[0]} and {others[1]}; remove one")
            found |= cases_in(text_of(path), path.name)
        return found

    def scenario(self, name: str) -> Scenario:
        """What the tasks of a scenario share; ImportFault if its file cannot be read."""
        if not re.fullmatch(r"[\w-]+", name):
            raise ImportFault(f"{name!r} is no name of a scenario; use letters, digits, _ and -")
        where = f"dataset/scenario/{name}.yaml"
        content = yaml_of(text_of(self.home / where), where)
        if not isinstance(content, dict) or not isinstance(content.get("world_state"), dict):
            raise ImportFault(f"{where}: a scenario is a mapping with world_state, tools, bot_instructions")
        state = content["world_state"]
        own = state.get(name)
        if not isinstance(own, dict):
            raise ImportFault(f"{where}: world_state has no settings for {name!r}")
        tools, problem = _tools(content.get("tools"), where)
        others = [str(server) for server in state if server != name]
        if others:
            problem = f"its scenario starts further servers: {', '.join(others)}"
        instructions = content.get("bot_instructions") or ""
        if not isinstance(instructions, str):
            raise ImportFault(f"{where}: bot_instructions is no text")
        documents = tuple(_documents(own.get("sources") or [], where))
        rest = {key: value for key, value in own.items() if key != "sources"}
        return Scenario(name, tools, instructions, documents, {name: rest}, problem)

    def seed(self, business: Business) -> dict[str, list[dict[str, Any]]]:
        """The rows that are there before any patch, by table; a file that holds no list gives none."""
        home = self._toolslib(business)
        seed: dict[str, list[dict[str, Any]]] = {}
        for toolset, prefix in business.toolsets.items():
            for path in sorted((home / toolset / "initial_data").glob("*.json")):
                where = path.relative_to(self.home).as_posix()
                rows = json_of(text_of(path), where)
                if isinstance(rows, list):
                    if not all(isinstance(row, dict) for row in rows):
                        raise ImportFault(f"{where}: a row is an object")
                    seed[f"{prefix}_{path.stem}"] = rows
        return seed

    def _toolslib(self, business: Business) -> Path:
        """The one package whose folders hold all the business's rows."""
        servers = self._folder("servers")
        homes = sorted(servers.glob("*/*/toolslib"))
        missing = {home: _missing(home, business) for home in homes}
        complete = [home for home in homes if not missing[home]]
        if len(complete) == 1:
            return complete[0]
        if complete:
            raise ImportFault(f"seed rows of {business.domain} are in {complete[0]} and {complete[1]}; remove one")
        nearest = min(homes, key=lambda home: len(missing[home]), default=None)
        lacking = f"{nearest} lacks {missing[nearest][0]}/initial_data" if nearest else f"no toolslib is in {servers}"
        raise ImportFault(f"seed rows of {business.domain} are not there: {lacking}; get the whole checkout")

    def _folder(self, name: str) -> Path:
        if not (self.home / name).is_dir():
            raise ImportFault(f"{self.home} has no folder {name}, so it is no checkout of the public benchmark")
        return self.home / name


def _missing(home: Path, business: Business) -> list[str]:
    return [name for name in business.toolsets if not (home / name / "initial_data").is_dir()]


def _tools(given: Any, where: str) -> tuple[tuple[str, ...], str]:
    """The names of the visible tools, and what about them cannot be represented."""
    if not isinstance(given, list) or not all(isinstance(t, dict) and isinstance(t.get("name"), str) for t in given):
        raise ImportFault(f"{where}: tools is a list of mappings with a name")
    changed = [tool["name"] for tool in given if any(value for key, value in tool.items() if key != "name")]
    problem = f"its scenario changes how tools are shown or end a turn: {', '.join(changed)}" if changed else ""
    return tuple(tool["name"] for tool in given), problem


def _documents(sources: Any, where: str) -> list[Document]:
    """Each snippet as a document: the first under its source's name, further ones numbered."""
    made: dict[str, Document] = {}
    for source in sources if isinstance(sources, list) else [sources]:
        match source:
            case {"name": str(name), "snippets": list(snippets), **rest} if not rest:
                for number, text in enumerate(snippets, 1):
                    title = name if number == 1 else f"{name} ({number})"
                    if not isinstance(text, str) or title in made:
                        raise ImportFault(f"{where}: source {title!r} has a snippet that is no text, or is there twice")
                    made[title] = Document(title, text)
            case _:
                raise ImportFault(f"{where}: a source is a mapping with name and a list of snippets")
    return list(made.values())
