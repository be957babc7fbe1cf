"""`make bench`: every claim on speed and memory, measured in this run, beside what it should be."""

import importlib
import pkgutil
import platform
import sys

from tests import bench
from tests.bench import Line


def main(names: list[str]) -> int:
    """Measure all modules of this folder, or those named, and print a table; 0 also where a target is missed."""
    found = [module.name for module in pkgutil.iter_modules(bench.__path__) if not module.name.startswith("_")]
    unknown = [name for name in names if name not in found]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are {', '.join(found)}", file=sys.stderr)
        return 2
    print(f"Python {platform.python_version()} on {platform.machine()}\n")
    for name in names or found:
        module = importlib.import_module(f"tests.bench.{name}")
        if hasattr(module, "measure"):
            print(name)
            for line in module.measure():
                print(told(line), flush=True)
    return 0


def told(line: Line) -> str:
    """One measurement: what, how much, what was aimed at, and whether that was reached."""
    mark = {True: "reached", False: "MISSED", None: ""}[line.met]
    return f"  {line.name:62} {line.value:>22}   {line.target:26} {mark}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
