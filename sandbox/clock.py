"""What time it is inside a trial: declared by each mounted toolset, never read from the host."""

from collections.abc import Mapping

from msgspec import Struct

from sandbox.values import Instant, later


class Ticking(Struct, frozen=True):
    """The task's instant and one second for each call so far; the first call is one second in."""

    def now(self, start: Instant, number: int, occasion: str) -> Instant:
        return later(start, number)


class Pinned(Struct, frozen=True):
    """A world whose clock stands still: one instant for everything, or others for named occasions."""

    at: Instant
    occasions: Mapping[str, Instant] = {}

    def now(self, start: Instant, number: int, occasion: str) -> Instant:
        return self.occasions.get(occasion, self.at)


Clock = Ticking | Pinned
