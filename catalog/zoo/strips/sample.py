"""Labelled strips for ``accord load --dataset``: ``python -m catalog.zoo.strips.sample strips.npz`` writes them.

Those of the test split, which no model was trained on and no choice was made by: ``image`` UINT8 [N, 12, 128], and
``labels``, the number on each as a string.
"""

import argparse
from pathlib import Path

import numpy as np

from catalog.zoo.strips.measures import measured_strips


def write_sample(path: Path) -> None:
    """Write the test strips with their numbers to a .npz file."""
    strips = measured_strips("test")
    np.savez_compressed(path, image=strips.images, labels=np.array(strips.numbers))


def main() -> None:
    """Write from the command line."""
    parser = argparse.ArgumentParser(description="Write labelled strips, a .npz file for accord load.")
    parser.add_argument("file", type=Path)
    write_sample(parser.parse_args().file)


if __name__ == "__main__":
    main()
