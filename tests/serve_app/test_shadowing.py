"""Files of a user that have the names of Accord's packages."""

import subprocess
import sys
from pathlib import Path

import pytest

from serve_app.shadowing import HOME, PACKAGES, ShadowedPackage, refuse_shadows


def test_accord_s_own_folder_shadows_nothing() -> None:
    refuse_shadows([HOME, HOME / "docs", Path("nowhere")])


def test_the_packages_are_those_that_the_wheel_brings() -> None:
    there = {path.parent.name for path in HOME.glob("*/py.typed")}
    assert there == set(PACKAGES)


@pytest.mark.parametrize("name", ["forecast.py", "catalog/__init__.py", "dispatch/mine.py"])
def test_a_file_of_that_name_is_refused_with_the_remedy(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.touch()
    package = Path(name).parts[0].removesuffix(".py")
    with pytest.raises(ShadowedPackage, match=f"would be imported instead of Accord's own package '{package}'; rename"):
        refuse_shadows([tmp_path])


def test_files_of_other_names_and_folders_without_code_are_fine(tmp_path: Path) -> None:
    (tmp_path / "mine.py").touch()
    (tmp_path / "forecast").mkdir()
    (tmp_path / "forecast" / "load.csv").touch()
    refuse_shadows([tmp_path])


def test_what_serve_imports_says_so_first(tmp_path: Path) -> None:
    (tmp_path / "forecast.py").write_text("raise RuntimeError('the wrong one')\n")
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(HOME)!r}]; import serve_app.main"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 1
    assert "ShadowedPackage" in done.stderr
    assert f"{tmp_path / 'forecast.py'} would be imported instead of Accord's own package 'forecast'" in done.stderr
