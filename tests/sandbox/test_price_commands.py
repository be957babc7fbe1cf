"""`trialbox prices` makes tables that are read back as they were in the list."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from sandbox.price_commands import written
from sandbox.prices import from_litellm, from_openrouter, load_prices
from trialbox import main

OPENROUTER = {
    "data": [
        {"id": "acme/small", "pricing": {"prompt": "0.0000005", "completion": "0.0000015", "input_cache_read": "0"}},
        {"id": "acme/large", "pricing": {"prompt": "0.00001", "completion": "0.00003", "request": "0.002"}},
        {"id": "acme/varies", "pricing": {"prompt": "-1", "completion": "-1"}},
    ]
}  # fmt: skip
LITELLM = {
    "sample_spec": {"input_cost_per_token": 0.0},
    "m-1": {
        "input_cost_per_token": 3e-06,
        "output_cost_per_token": 1.5e-05,
        "input_cost_per_token_above_200k_tokens": 6e-06,
    },
}


@pytest.mark.parametrize(("form", "content"), [("openrouter", OPENROUTER), ("litellm", LITELLM)])
def test_the_table_that_is_written_says_what_the_list_says(
    tmp_path: Path, form: str, content: object, capsys: pytest.CaptureFixture[str]
) -> None:
    text = json.dumps(content)
    (tmp_path / "list.json").write_text(text)
    table = tmp_path / "prices.yaml"
    assert main(["prices", form, str(tmp_path / "list.json"), "-o", str(table), "--date", "2026-03-01"]) == 0
    read = {"openrouter": from_openrouter, "litellm": from_litellm}[form]
    assert load_prices(table) == read(text, "2026-03-01")
    assert "models in" in capsys.readouterr().out
    assert main(["prices", form, str(tmp_path / "list.json"), "-o", str(table), "--date", "2026-03-01"]) == 2


def test_a_model_can_be_chosen_and_one_that_is_not_there_is_named_with_those_like_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "list.json").write_text(json.dumps(OPENROUTER))
    command = ["prices", "openrouter", str(tmp_path / "list.json"), "--date", "2026-03-01", "-o"]
    assert main([*command, str(tmp_path / "a.yaml"), "--model", "acme/large"]) == 0
    found = load_prices(tmp_path / "a.yaml")
    assert list(found.prices) == ["acme/large"]
    assert found.prices["acme/large"].request == Decimal("0.002")
    assert main([*command, str(tmp_path / "b.yaml"), "--model", "small"]) == 2
    assert "has no price of small; it has acme/small" in capsys.readouterr().err
    assert not (tmp_path / "b.yaml").exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"data": 7}', '{"data": [null]}', "\x00", '{"m": 1}'])
def test_what_is_no_list_is_said_in_a_line(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "list.json").write_text(text)
    for form in ("openrouter", "litellm"):
        options = ["-o", str(tmp_path / "t.yaml"), "--date", "2026-03-01"]
        assert main(["prices", form, str(tmp_path / "list.json"), *options]) == 2
        assert str(tmp_path / "list.json") in capsys.readouterr().err
    assert written(from_openrouter(json.dumps(OPENROUTER), "2026-03-01")).startswith("source: OpenRouter\n")
