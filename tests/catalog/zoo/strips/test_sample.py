"""The sample is a data set that load can be made of."""

from pathlib import Path

import orjson

from catalog.zoo.strips.layout import HEIGHT, WIDTH
from catalog.zoo.strips.measures import measured_strips
from catalog.zoo.strips.sample import write_sample
from serve_app.loadgen.dataset import load_dataset


def test_the_sample_is_read_as_labelled_requests_of_one_strip_each(tmp_path: Path) -> None:
    write_sample(tmp_path / "strips.npz")
    dataset = load_dataset(str(tmp_path / "strips.npz"))
    strips = measured_strips("test")
    assert dataset.labels == strips.numbers
    (image,) = orjson.loads(dataset.bodies[7])["inputs"]
    assert (image["name"], image["datatype"], image["shape"]) == ("image", "UINT8", [1, HEIGHT, WIDTH])
    assert image["data"] == strips.images[7].ravel().tolist()
