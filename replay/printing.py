"""Lines for a terminal: whatever a pack, an agent or a model put into them, each stays one printable line."""

from collections.abc import Iterable

from judges.lines import printable


def say(lines: Iterable[str]) -> None:
    """Print lines, each as one printable line."""
    print("\n".join(map(printable, lines)))
