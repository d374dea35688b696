"""``python -m serve_app.grpc.generate``: the modules of inference.proto anew. Needs grpcio-tools 1.81.1."""

import importlib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROTO = "serve_app/grpc/protocol/inference.proto"


def main() -> None:
    """Write them beside the protocol; raises SystemExit with the compiler's code where that fails."""
    protoc = importlib.import_module("grpc_tools.protoc")
    outputs = (f"--{kind}_out={ROOT}" for kind in ("python", "pyi", "grpc_python"))
    raise SystemExit(protoc.main(["protoc", f"-I{ROOT}", *outputs, PROTO]))


if __name__ == "__main__":
    main()
