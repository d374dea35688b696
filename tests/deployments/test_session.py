"""A process that leads a session of its own, with a niceness beside others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

GROUP = Path("/proc/self/autogroup")
pytestmark = pytest.mark.skipif(not GROUP.exists(), reason="this kernel has no autogroups")

LEADS = """
import os, sys
from pathlib import Path
from deployments.session import lead_session
os.setuid(int(sys.argv[1]))
lead_session(int(sys.argv[2]))
print(os.getsid(0) == os.getpid(), *Path("/proc/self/autogroup").read_text().split()[-1:])
"""


def leads(niceness: int, *, user: int | None = None, group: int | None = None) -> list[str]:
    """Whether it leads a session, and the niceness of that: the kernel says none of those that init's session is."""
    command = [sys.executable, "-c", LEADS, f"{os.getuid() if user is None else user}", f"{niceness}"]
    return subprocess.run(command, capture_output=True, text=True, check=True, process_group=group).stdout.split()


@pytest.mark.parametrize(
    "niceness",
    [7, pytest.param(-5, marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root may go first for sure"))],
)
def test_the_niceness_is_that_of_the_new_session_alone(niceness: int) -> None:
    own = GROUP.read_text()
    assert leads(niceness) == ["True", f"{niceness}"]
    assert GROUP.read_text() == own


def test_who_leads_a_process_group_leaves_its_session_as_it_is() -> None:
    own = GROUP.read_text()
    assert leads(7, group=0) == ["False", *own.split()[-1:]]
    assert GROUP.read_text() == own


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user who may not")
def test_who_may_not_go_first_has_a_session_of_its_own_all_the_same() -> None:
    assert leads(-5, user=65534) == ["True", "0"]
