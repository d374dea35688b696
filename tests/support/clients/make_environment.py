"""Makes an environment for the clients inside the one that runs this: ``clients`` in its folder.

It finds whatever the outer one has, and puts in front what the clients want otherwise: they ask for other versions of
two packages than Accord does.
"""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

REQUIREMENTS = Path(__file__).parent / "requirements.txt"
FOLDER = Path(sys.prefix) / "clients"


def main() -> None:
    """Raises SystemExit with what pip says where packages cannot be had."""
    venv.create(FOLDER, clear=True)
    own = Path(sysconfig.get_path("purelib", vars={"base": str(FOLDER)}))
    (own / "outer.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(FOLDER / "bin" / "python"), "--disable-pip-version-check"]
    done = subprocess.run([*pip, "install", "-r", str(REQUIREMENTS)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])


if __name__ == "__main__":
    main()
