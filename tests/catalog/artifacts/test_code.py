"""Model files that bring code, told by what is in them."""

import pickle
import zipfile
from pathlib import Path

import fsspec
import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from catalog.artifacts.code import code_in, refuse_code
from catalog.artifacts.rules import ArtifactRules
from catalog.catalogue import BUILTIN
from catalog.errors import ArtifactError
from catalog.store import FsspecStore
from catalog.variant import Artifact


class Evil:
    """Would run code where it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return eval, ("1/0",)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    module = torch.nn.Linear(2, 2)
    torch.jit.trace(module, torch.zeros(1, 2)).save(str(folder / "scripted"))
    torch.export.save(torch.export.export(module, (torch.zeros(1, 2),)), str(folder / "program.pt2"))
    torch.save(module.state_dict(), folder / "weights.bin")
    for protocol in (2, 3, 4, 5):
        (folder / f"evil-{protocol}.onnx").write_bytes(pickle.dumps(Evil(), protocol))
    (folder / "evil.pkl").write_bytes(pickle.dumps(Evil(), 0))
    (folder / "modeling.py").write_text("raise SystemExit")
    (folder / "ops.so").write_bytes(b"\x7fELF")
    for length in (640, 900, 1152, 1400):  # headers whose length looks like the start of a pickle
        save_file({"w": np.zeros(2)}, folder / f"{length}.safetensors", {"pad": "x" * length})
    return folder


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_code_is_told_by_content_not_by_name(files: Path) -> None:
    kinds = {
        "scripted": {"torchscript"},
        "program.pt2": {"exported_program"},
        "weights.bin": {"pickle"},
        **{f"evil-{protocol}.onnx": {"pickle"} for protocol in (2, 3, 4, 5)},
        "evil.pkl": {"pickle"},
        "modeling.py": {"code"},
        "ops.so": {"code"},
    }
    for file in sorted(files.iterdir()):
        assert code_in(file) == kinds.get(file.name, set()), file.name
    for model in sorted(Path(BUILTIN).parent.rglob("*.onnx")):
        assert code_in(model) == set()


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_model_store_may_bring_only_the_code_that_is_allowed(files: Path, tmp_path: Path) -> None:
    store = fsspec.filesystem("memory")
    root = "/code-test"
    for file in files.iterdir():
        store.pipe(f"{root}/{file.name}", file.read_bytes())
    try:
        plain = FsspecStore(f"memory:/{root}", tmp_path / "plain")
        allowing = ArtifactRules(allow_code=frozenset({"torchscript", "exported_program"}))
        trusting = FsspecStore(f"memory:/{root}", tmp_path / "trusting", allowing)
        for name in ("scripted", "program.pt2"):
            with pytest.raises(ArtifactError, match=r"artifacts\.allow_code"):
                plain.fetch(Artifact(name))
            assert trusting.fetch(Artifact(name)).is_file()
        for name in ("weights.bin", "evil-2.onnx", "evil.pkl", "modeling.py", "ops.so", f"memory:/{root}"):
            with pytest.raises(ArtifactError, match="runs whatever its maker put into it"):
                trusting.fetch(Artifact(name))
        assert plain.fetch(Artifact("640.safetensors")).is_file()
        assert not [path for path in (tmp_path / "plain").rglob("*") if path.name == "scripted"]
    finally:
        store.rm(root, recursive=True)


def test_an_archive_that_unpacks_to_more_than_allowed_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.pt2"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model/archive_format", "pt2")
        archive.writestr("model/weights", b"\0" * 10_000_000)
    assert bomb.stat().st_size < 20_000
    rules = ArtifactRules(max_bytes=1_000_000, allow_code=frozenset({"exported_program"}))
    with pytest.raises(ArtifactError, match="unpacks to 100000"):
        refuse_code(bomb, rules, "the bomb")


def test_names_of_a_folder_in_a_store_cannot_leave_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = fsspec.filesystem("memory")
    store.pipe("/folder/good.onnx", b"x")
    monkeypatch.setattr(type(store), "find", lambda self, path, **_: [f"{path}/good.onnx", f"{path}/../../evil.onnx"])
    try:
        with pytest.raises(ArtifactError, match="would not lie in its folder"):
            FsspecStore(".", tmp_path / "cache").fetch(Artifact("memory://folder"))
    finally:
        monkeypatch.undo()
        store.rm("/folder", recursive=True)
    assert not list(tmp_path.rglob("evil.onnx"))


def test_a_folder_may_not_have_more_bytes_in_all_than_allowed(tmp_path: Path) -> None:
    store = fsspec.filesystem("memory")
    store.pipe({f"/many/{number}": b"x" * 100 for number in range(11)})
    try:
        with pytest.raises(ArtifactError, match=r"artifacts\.max_bytes"):
            FsspecStore(".", tmp_path, ArtifactRules(max_bytes=1000)).fetch(Artifact("memory://many"))
        assert FsspecStore(".", tmp_path, ArtifactRules(max_bytes=1100)).fetch(Artifact("memory://many")).is_dir()
    finally:
        store.rm("/many", recursive=True)
