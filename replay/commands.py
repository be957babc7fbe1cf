"""Commands about recorded trials; each module adds its own."""

from typing import Any

from replay import (
    compare_commands,
    fork_commands,
    look_commands,
    prove_command,
    rejudge_command,
    repair_commands,
    seal_commands,
)
from replay.exports import commands as export_commands


def add_to(commands: Any) -> None:
    """All of them."""
    for module in (
        look_commands,
        prove_command,
        rejudge_command,
        fork_commands,
        compare_commands,
        repair_commands,
        seal_commands,
        export_commands,
    ):
        module.add_to(commands)
