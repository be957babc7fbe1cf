"""An endpoint that repeats its key in every way it can: nothing that is kept, exported or printed holds it."""

import json
from pathlib import Path

import pytest

from sandbox.records import ToolCalled, ToolReturned
from tests.judges import modelled
from tests.judges.modelled import TASKS, done, home, right, run_arguments, store_in
from tests.sandbox.parties import DONE, REMARK, tried
from tests.sandbox.spellings import forms, is_in
from tests.stub import Answer, Asked, Outcome, Turn, call, failing, serving

pytestmark = pytest.mark.anyio

KEYS = ["sk-planted-0123456789", "sk/PLANTED/0123456789", 'sk-"PLANTED\\01234"56789', "u0041<&>+=%0123456789"]


def spelt(key: str, place: int) -> str:
    """The key inside a JSON string, in one of the ways that JSON has."""
    return "".join(forms(sign)[min(place, len(forms(sign)) - 1)] for sign in key)


def repeating(key: str, asked: Asked) -> Outcome:
    """An endpoint's answer with the key in all of its places: split, spelt out, in arguments that spell it again."""
    place, half = asked.number % 4, len(key) // 2
    if asked.number % 7 == 1:
        return failing(500, f"no key {key}", retry_after=key)
    if asked.number % 7 == 2:
        return Answer(f"<p>no key {key} or {spelt(key, place)}</p>", 503, {"X-Key": key})
    if asked.body["model"] != "agent-1":
        answer = (
            json.dumps({"answer": "yes", "reason": "@HERE@"}) if asked.body["model"] == "judge-1" else "Yes. @HERE@"
        )
        return Answer(wired({"model": "@HERE@", "choices": [{"message": {"content": answer}}]}, key, place))
    parts = [{"type": "text", "text": f"p1 {key[:half]}"}, {"type": "text", "text": f"{key[half:]} <DONE>"}]
    names = [message["role"] for message in asked.body["messages"]]
    asks = [{"id": "@HERE@", "function": {"name": name, "arguments": '{"table":"@HERE@"}'}} for name in ("f", "@HERE@")]
    message = {"content": parts} if "tool" in names else {"content": None, "tool_calls": asks, "reasoning": "@HERE@"}
    choice = {"message": message, "finish_reason": "@HERE@"}
    return Answer(wired({"model": "@HERE@", "choices": [choice], "usage": {"prompt_tokens": "@HERE@"}}, key, place))


def wired(body: object, key: str, place: int) -> str:
    """A body on the wire; inside of JSON in a string the key is spelt twice."""
    text = json.dumps(body)
    twice = "".join(forms(sign)[-1] if sign not in '"\\' else f"\\{sign}" for sign in spelt(key, place))
    return text.replace('\\"@HERE@\\"', f'\\"{twice}\\"').replace("@HERE@", spelt(key, place))


@pytest.mark.parametrize("key", KEYS)
async def test_a_key_that_is_repeated_is_nowhere(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modelled, "KEY", key)
    folder = home(tmp_path, tasks=TASKS[:1])
    async with serving(lambda asked: repeating(key, asked)) as stub:
        made = [await done(stub.url, *run_arguments(folder, "-k", "2"))]
        made.append(await done(stub.url, "check", str(folder / "agent.yaml")))
        made.append(await done(stub.url, "explain", str(store_in(folder)), f"{TASKS[0]}/0", "--all"))
        made.append(await done(stub.url, "show", str(store_in(folder)), f"{TASKS[0]}/0"))
        made.append(await done(stub.url, "rows", str(store_in(folder)), "-o", str(folder / "rows.jsonl")))
        made.append(await done(stub.url, "replay", str(store_in(folder))))
        assert len(stub.asked) > 6
    assert "p1 [key]" in made[3].out
    assert made[-1].code == 0, made[-1].out + made[-1].err
    texts = [one.out + one.err for one in made]
    texts += [path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()]
    assert [text for text in texts if is_in(key, text)] == []
    assert any("[key]" in text for text in texts)


@pytest.mark.parametrize("key", ["remark", "shop", "none", "hello"])
async def test_a_placeholder_changes_nothing_that_the_model_did(key: str) -> None:
    trial = await tried([Turn("", [REMARK]), DONE], key=key)
    [called] = trial.all(ToolCalled)
    assert (called.tool, called.arguments) == (REMARK["name"], REMARK["arguments"])
    assert len(trial.all(ToolReturned)) == 1
    broken = await tried(lambda asked: failing(401, f"no such key: {key}"), key=key)
    assert "no such key: [key]" in broken.end.detail


async def test_what_is_called_is_what_is_recorded() -> None:
    key = KEYS[0]
    arguments = '{"id": "SO-1", "text": "' + spelt(key, 1) + '"}'
    trial = await tried([Turn("", [call("shop_remark", arguments, "c1")]), DONE], key=key)
    [called] = trial.all(ToolCalled)
    assert json.loads(called.arguments) == {"id": "SO-1", "text": "[key]"}
    assert "[key]" in trial.all(ToolReturned)[0].result


async def test_check_says_which_keys_are_too_short_to_be_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home(tmp_path, tasks=TASKS[:1])
    told = {}
    for key in ("test", KEYS[0]):
        monkeypatch.setattr(modelled, "KEY", key)
        async with serving(right) as stub:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(modelled, "KEY", key)
                told[key] = (await done(stub.url, "check", str(folder / "agent.yaml"))).out
    words = "key of model agent-1 has 4 characters: too few to be told from other words, so it is not looked for in"
    assert f"{words} what models say\n" in told["test"]
    assert "characters: too few" not in told[KEYS[0]]
