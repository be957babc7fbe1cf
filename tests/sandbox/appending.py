"""
A process to be killed: many trials append to one store at once, and each acknowledged position is printed.

Every batch ends with a record that says where it began.
"""

import random
import sys
from pathlib import Path

import anyio

from sandbox.records import Chain, Draft
from sandbox.stream import Store
from sandbox.values import Instant
from sandbox.writer import Writer
from tests.sandbox.streams import drafts, stream

LAST = "desk.batch-ended.1"
NOW: Instant = "2025-10-01T13:00:00Z"


def batch(chain: Chain, chance: random.Random) -> list[Draft]:
    """Some records of different sizes, and the one that ends them."""
    first = (chain.position + 1).to_bytes(4, "big")
    return [*drafts(chance.randint(0, 4), chance.choice((10, 200, 6000))), Draft(LAST, NOW, first)]


async def trial(writer: Writer, number: int, chance: random.Random) -> None:
    """Append without end, going on where the stream ends."""
    of = stream(number)
    last = writer.store.last(of)
    chain = Chain(of, last.position, last.digest) if last else Chain(of)
    while True:
        records = chain.sealed(batch(chain, chance), b"")
        await writer.append(of, records)
        chain.advance(records)
        print(f"{number} {chain.position}", flush=True)


async def main(path: Path, trials: int, seed: int) -> None:
    """All trials at once."""
    with Store.open(path, create=True) as store:
        async with Writer(store) as writer, anyio.create_task_group() as tasks:
            for number in range(trials):
                tasks.start_soon(trial, writer, number, random.Random(seed * 1000 + number))


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
