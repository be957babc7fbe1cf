"""Reads an exported data set as anybody would, and prints what it found: python data_set.py FOLDER"""

import json
import sys
from pathlib import Path
from typing import Any

import datasets  # type: ignore[import-not-found]
import pandas  # type: ignore[import-not-found, import-untyped, unused-ignore]


def shape(feature: Any) -> Any:
    """A feature as the project names it."""
    if isinstance(feature, datasets.Value):
        return feature.dtype
    if isinstance(feature, datasets.List):
        return [shape(feature.feature)]
    return {name: shape(inner) for name, inner in feature.items()}


def main(folder: Path) -> None:
    """Through the card, through the files alone, and as data frames."""
    datasets.disable_progress_bars()
    whole = datasets.load_dataset(str(folder))
    files = datasets.load_dataset("parquet", data_files=str(folder / "data" / "*.parquet"), split="train")
    streamed = datasets.load_dataset(str(folder), split="train", streaming=True)
    frames = [pandas.read_parquet(file) for file in sorted((folder / "data").iterdir())]
    found = {
        "splits": {name: len(split) for name, split in whole.items()},
        "shapes": shape(whole["train"].features),
        "same_features": files.features == whole["train"].features,
        "rows": list(whole["train"]),
        "streamed": sum(1 for _ in streamed),
        "frames": [list(frame.trial) for frame in frames],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
