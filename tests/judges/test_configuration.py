"""A configuration is read strictly, names what is wrong in it, and keeps its secrets."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from judges.configuration import Configuration, ConfigurationFault, configuration_in, load_configuration
from sandbox.protocols import Limits, Plain, ThinkingBox
from sandbox.refusals import UserFault
from sandbox.simulated_user import SimulatedUser
from sandbox.user import ScriptedUser
from tests.judges.modelled import CONFIGURATION, KEY

HOME = {"MODEL_URL": "http://localhost:1/v1", "MODEL_KEY": KEY}
MODEL = "{base_url: 'http://localhost:1/v1', model: m}"


def read(text: str, folder: Path = Path()) -> Configuration:
    return configuration_in(yaml.safe_load(text), "agent.yaml", folder, HOME)


def test_one_endpoint_may_serve_all_parties_and_nothing_else_is_needed() -> None:
    made = read(f"models: {{all: {MODEL}}}\nagent: {{model: all}}\nuser: {{model: all}}\njudge: {{model: all}}")
    assert {id(one) for one in made.endpoints.values()} == {id(made.endpoints["agent"])}
    assert (made.agent_name, made.protocol, made.written.limits, made.gate()) == ("m", ThinkingBox(), Limits(), None)
    assert isinstance(made.user(()), SimulatedUser)
    assert read(f"agent: {{model: {MODEL}}}\nuser: none\nprotocol: plain").protocol == Plain()


def test_a_protocol_may_name_tools_that_end_a_turn() -> None:
    made = read(f"agent: {{model: {MODEL}}}\nprotocol: {{name: thinkingbox, end_turn_tools: [{{name: hand_over}}]}}")
    assert [tool.name for tool in made.protocol.end_turn_tools] == ["hand_over"]


def test_the_key_is_at_hand_and_told_nowhere() -> None:
    made = read(CONFIGURATION)
    assert made.endpoints["agent"].settings.key.reveal() == KEY
    assert made.endpoints["agent"].settings.base_url == HOME["MODEL_URL"]
    for told in (made.settings, repr(made), str(made.endpoints)):
        assert KEY not in told
    assert HOME["MODEL_URL"] not in made.settings
    assert json.loads(made.settings)["agent"]["model"]["base_url"] == "${MODEL_URL}"


WRONG = {
    "agent: {model: m}\nagnet: 1": "unknown field `agnet`; did you mean 'agent'?",
    "agent: {modle: m}": "unknown field `modle` - at `$.agent`; did you mean 'model'?",
    "agent: {scripted: oracle}\nlimits: {trial: 1}": "`trial` - at `$.limits`; did you mean 'trial_s'?",
    "agent: {scripted: oracle}\ngate: {rules: [{action: ask, tool: [x]}]}": "did you mean 'tools'?",
    "agent: {scripted: orcale}": "no scripted agent 'orcale'; did you mean 'oracle'?",
    "agent: {scripted: oracle, model: m}\nmodels: {m: {base_url: 'http://h/v1', model: m}}": "give one of the two",
    "agent: {model: al}\nmodels: {all: {base_url: 'http://h/v1', model: m}}": "'al'; did you mean 'all'?",
    "agent: {model: {base_url: 'http://h/v1', model: m, temprature: 1}}": "did you mean 'temperature'?",
    "agent: {model: {base_url: 'http://h/v1', model: m, budgets: {serve: 1}}}": "did you mean 'server'?",
    "agent: {model: {base_url: 'http://h/v1', model: m, temperature: 3}}": "temperature 3.0 is not between 0 and 2",
    "agent: {model: {base_url: 'http://h/v1', model: m, budgets: {server: -1}}}": "budgets are counts from 0 on",
    "agent: {model: {base_url: ftp, model: m}}": "is no http(s) address",
    "agent: {model: {model: m}}": "missing required field `base_url`",
    "agent: {model: {base_url: 'http://h/v1', model: m, key: sk-1}}": "write it as ${NAME}",
    "agent: {model: {base_url: 'http://h/v1', model: m, key: '${NO_KEY}'}}": "the environment has no NO_KEY",
    "agent: {name: '${MODEL_KEY}', scripted: oracle}": "only a model's key and base_url may",
    "agent: {model: {base_url: 'http://h/v1', model: m, extra_body: {key: '${MODEL_KEY}'}}}": "only a model's key and",
    "agent: {seed: 1, model: {base_url: 'http://h/v1', model: m}}": "agent.seed is for scripted agents",
    "agent: {model: {base_url: 'http://h/v1', model: m, api: responses, seed: 1}}": "Responses API takes no seed",
    "agent: {scripted: oracle}\nlimits: {trial_s: .nan}": "limits.trial_s is nan",
    "agent: {scripted: oracle}\nlimits: {trial_s: 0}": "times above 0 seconds",
    "agent: {scripted: oracle}\ngate: {timeout_s: 0}": "gate.timeout_s is 0",
    "agent: {scripted: oracle}\njudge: {votes: 2, model: {base_url: 'http://h/v1', model: m}}": "an odd number",
    "agent: {scripted: oracle}\nprotocol: plan": "protocol",
    "agent: {scripted: oracle}\nprotocol: {name: thinkingbox, end_turn_tools: [{nam: x}]}": "did you mean 'name'?",
    "agent: {scripted: oracle}\nprices: {source: s, date: d, models: {m: {inpt: 1}}}": "did you mean `input`?",
    "agent: {scripted: oracle}\nuser: {scripts: users.yaml}": "talks to nobody",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_told_with_its_place_and_the_nearest_name(text: str) -> None:
    with pytest.raises(UserFault) as refused:
        read(text)
    assert WRONG[text] in str(refused.value)
    assert "configuration agent.yaml: " in str(refused.value)


def test_a_key_that_only_the_other_protocol_has_is_not_recommended() -> None:
    with pytest.raises(ConfigurationFault, match="unknown field `end_turn_tools`") as refused:
        read(f"agent: {{model: {MODEL}}}\nprotocol: {{name: plain, end_turn_tools: []}}")
    assert "did you mean" not in str(refused.value)


def test_a_model_may_go_by_any_name_and_still_has_its_key_from_the_environment() -> None:
    made = read("models: {m.1: {base_url: '${MODEL_URL}', key: '${MODEL_KEY}', model: m}}\nagent: {model: m.1}")
    assert made.endpoints["agent"].settings.key.reveal() == KEY


@pytest.mark.parametrize("field", ["base_url", "model"])
def test_a_secret_in_the_wrong_place_is_not_shown(field: str) -> None:
    given = {"base_url": "http://localhost:1/v1", "model": "m"} | {field: "${MODEL_KEY}"}
    with pytest.raises(ConfigurationFault) as refused:
        configuration_in({"agent": {"model": given}}, "agent.yaml", Path(), HOME)
    assert KEY not in str(refused.value)


def test_a_script_for_a_task_that_is_spelt_almost_like_one_without_a_script_is_refused(tmp_path: Path) -> None:
    (tmp_path / "users.yaml").write_text("stuck-waranty: {turns: [{text: Yes.}]}\nother: {turns: [{text: No.}]}\n")
    text = f"agent: {{model: {MODEL}}}\nuser: {{scripts: users.yaml}}"
    (tmp_path / "agent.yaml").write_text(text)
    made = load_configuration(tmp_path / "agent.yaml", {})
    made.ensure_scripts_fit(["late-espresso"])
    with pytest.raises(UserFault, match="one for 'stuck-waranty', and none for task 'stuck-warranty'"):
        made.ensure_scripts_fit(["late-espresso", "stuck-warranty"])


def test_scripts_and_prices_are_read_from_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "users.yaml").write_text("a-task: {turns: [{text: 'Yes, please.'}]}")
    (tmp_path / "prices.yaml").write_text("{source: s, date: '2026-01-01', models: {m: {input: 1, output: 2}}}")
    text = f"agent: {{model: {MODEL}}}\nuser: {{scripts: users.yaml}}\nprices: prices.yaml"
    (tmp_path / "agent.yaml").write_text(text)
    made = load_configuration(tmp_path / "agent.yaml", {})
    assert isinstance(made.user(()), ScriptedUser)
    assert list(made.prices.prices) == ["m"]
    (tmp_path / "users.yaml").write_text("a-task: {turns: [{txt: x}]}")
    with pytest.raises(ConfigurationFault, match="did you mean 'text'"):
        load_configuration(tmp_path / "agent.yaml", {})


DIFFERENT: list[dict[str, Any]] = [
    {"agent": {"scripted": "careless"}},
    {"agent": {"scripted": "careless", "seed": 1}},
    {"agent": {"scripted": "careless"}, "gate": {}},
    {"agent": {"scripted": "careless"}, "retries_user_faults": True},
]


def test_all_that_trials_depend_on_is_told_and_prices_are_not() -> None:
    told = [configuration_in(one, "x", Path(), {}).settings for one in DIFFERENT]
    assert len(set(told)) == len(DIFFERENT)
    prices = {"source": "s", "date": "d", "models": {"m": {"input": 1}}}
    assert configuration_in(DIFFERENT[0] | {"prices": prices}, "x", Path(), {}).settings == told[0]
