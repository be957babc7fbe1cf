"""The command `serve-model`."""

import argparse
import re
from pathlib import Path
from typing import Any

from sandbox.local_model import ROOM, LocalModel, packaged_weights

PORT = 8000
_LARGEST = 65535


def add_to(commands: Any) -> None:
    """`serve-model`."""
    serving = commands.add_parser("serve-model", help="serve a small model on this machine, for agents and users")
    serving.add_argument("--port", type=_port, default=PORT, help=f"0 for any free one (default: {PORT})")
    serving.add_argument("--threads", type=_count, default=1, help="more help only where cores are idle (default: 1)")
    serving.add_argument("--context", type=_count, default=ROOM, help=f"tokens of one dialogue (default: {ROOM})")
    serving.add_argument("--weights", type=Path, help="a GGUF file of a chat model (default: SmolLM2-135M-Instruct)")
    serving.set_defaults(run=_serve)


def _serve(options: argparse.Namespace) -> int:
    # The web server is loaded only when it is used.
    from sandbox.local_server import HOST, bound, serve

    with bound(options.port) as listening:
        model = LocalModel(options.weights or packaged_weights(), threads=options.threads, room=options.context)
        told = f"http://{HOST}:{listening.getsockname()[1]}/v1\nserves {model.name}; stop it with Ctrl-C"
        serve(model, listening, lambda: print(told, flush=True))
    return 0


def _port(text: str) -> int:
    return _number(text, 0, _LARGEST)


def _count(text: str) -> int:
    return _number(text, 1, 1_000_000)


def _number(text: str, least: int, most: int) -> int:
    if not re.fullmatch(r"[0-9]{1,7}", text) or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} to {most:,}")
    return int(text)
