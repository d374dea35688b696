"""Which kind of model a file or folder holds, and what it takes and gives."""

from pathlib import Path

from catalog.artifacts.code import PICKLE, code_in
from catalog.artifacts.rules import EXPORTED_PROGRAM, TORCHSCRIPT
from catalog.errors import ConfigError
from catalog.extras import require
from serve_app.cli.init.reading.described import Described, Sizes

KNOWN = "an .onnx file, a file of torch.export.save, or a folder of transformers' save_pretrained"


def read_model(path: Path, sizes: Sizes) -> Described:
    """What a model takes and gives; ``sizes`` fixes axes of any length by name. Raises `ConfigError`."""
    if not path.exists():
        raise ConfigError(f"--from {path} is not there; give {KNOWN}")
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ConfigError(f"--from {path} has no config.json; give {KNOWN}")
        require("transformers", f"--from {path}")
        from serve_app.cli.init.reading.transformers_folder import read_folder

        return read_folder(path)
    if path.suffix == ".onnx":
        from serve_app.cli.init.reading.onnx_file import read_onnx

        return read_onnx(path, sizes)
    try:
        kinds = code_in(path)
    except OSError as error:
        raise ConfigError(f"--from {path} cannot be read: {error.strerror}; check its permissions") from error
    if EXPORTED_PROGRAM in kinds:
        require("torch", f"--from {path}")
        from serve_app.cli.init.reading.torch_file import read_exported

        return read_exported(path, sizes)
    if TORCHSCRIPT in kinds:
        raise ConfigError(
            f"--from {path} is TorchScript, which does not say what it takes and gives; export the module with "
            "torch.export.save and give that file, or write an entry with runtime: torch by hand, with its inputs and "
            "outputs (docs/configuration.md), which the catalogue may have without more ado and clients register only "
            "where artifacts.allow_code has torchscript"
        )
    if PICKLE in kinds:
        raise ConfigError(
            f"--from {path} holds pickled objects, as torch.save writes them, which are never loaded since they run "
            f"whatever their maker put into them; give {KNOWN}, or wrap it in a class of your own (docs/your-code.md)"
        )
    raise ConfigError(f"--from {path} is none of what can be read; give {KNOWN}")
