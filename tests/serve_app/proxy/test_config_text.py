"""The configuration that Ray renders, changed; HAProxy itself says whether it is one."""

import subprocess
from pathlib import Path

import grpc
import pytest

from haproxy_scene import render
from serve_app.proxy.command import binary
from serve_app.proxy.config_text import Changed, Server, Settings, change, error_files
from serve_app.proxy.refusals import LOADING

PORT = 20_001


def changed(folder: Path, routers: list[tuple[str, int]], fallback: int | None = None) -> Changed:
    return change(render(folder, PORT, routers, fallback), Settings(f"{folder}/h.sock", str(folder), "boot"))


def verdict(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    for name, content in error_files(str(folder)).items():
        Path(name).write_text(content)
    (folder / "changed.cfg").write_text(text)
    return subprocess.run([binary(), "-c", "-f", str(folder / "changed.cfg")], capture_output=True, text=True)


def section(text: str, header: str) -> str:
    return text.split(f"\n{header}\n", 1)[1].split("\nbackend ", 1)[0].split("\nlisten ", 1)[0]


@pytest.mark.parametrize("routers", [[], [("r1", 30001)], [("r1", 30001), ("r2", 30002)]], ids=["none", "one", "two"])
def test_haproxy_takes_it(tmp_path: Path, routers: list[tuple[str, int]]) -> None:
    done = verdict(tmp_path, changed(tmp_path, routers, fallback=30009).text)
    assert done.returncode == 0, done.stderr
    assert "likely a mistake" not in done.stderr


def test_routers_have_a_window_and_the_proxy_knows_their_waits(tmp_path: Path) -> None:
    found = changed(tmp_path, [("r1", 30001), ("r2", 30002)], fallback=30009)
    lines = [line.strip() for line in section(found.text, "backend http-accord").splitlines() if " server " in line]
    assert len(lines) == 3
    assert [line.rsplit(" ", 1)[1] for line in lines] == ["128", "128", "1024"], "the last is Serve's own proxy"
    assert found.servers == (
        Server("http-accord", "r1", "proc.accord_wait_0_0"),
        Server("http-accord", "r2", "proc.accord_wait_0_1"),
    )


def test_a_refused_connection_is_a_dead_router(tmp_path: Path) -> None:
    assert "observe layer4 error-limit 1 on-error mark-down" in changed(tmp_path, [("r1", 30001)]).text


def test_no_error_of_haproxys_own_is_a_500(tmp_path: Path) -> None:
    text = changed(tmp_path, [("r1", 30001)]).text
    assert "500.http\n" not in text.replace("accord-500.http", "")
    assert all(" 500 " not in content.splitlines()[0] for content in error_files(str(tmp_path)).values())


def test_what_serve_has_not_told_yet_is_no_404(tmp_path: Path) -> None:
    assert "status 404" not in changed(tmp_path, []).text
    assert "status 404" in changed(tmp_path, [("r1", 30001)]).text


def test_over_grpc_as_well(tmp_path: Path, free_ports: list[int]) -> None:
    """Serve's proxy, which lists applications there, is no route to a router."""
    port, grpc_port = free_ports
    rendered = render(tmp_path, port, [], 30009, grpc_port=grpc_port)
    assert "use_backend grpc_fallback_backend" in rendered
    done = verdict(tmp_path, text := change(rendered, Settings(f"{tmp_path}/h.sock", str(tmp_path), "boot")).text)
    assert done.returncode == 0, done.stderr
    assert "status 404" not in text
    process = subprocess.Popen([binary(), "-db", "-f", str(tmp_path / "changed.cfg")], stderr=subprocess.DEVNULL)
    try:
        with grpc.insecure_channel(f"127.0.0.1:{grpc_port}") as channel:
            ready = channel.unary_unary("/inference.GRPCInferenceService/ServerReady")
            with pytest.raises(grpc.RpcError) as refused:
                ready(b"", timeout=30, wait_for_ready=True)
    finally:
        process.kill()
        process.wait()
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert refused.value.details() == LOADING.error
    told = dict(refused.value.trailing_metadata())
    assert (told["x-accord-error"], told["x-accord-reason"], told["retry-after"]) == ("Loading", "loading", "1")


def test_what_is_set_by_an_operator_stays(tmp_path: Path) -> None:
    rendered = render(tmp_path, PORT, [("r1", 30001)])
    settings = Settings(f"{tmp_path}/h.sock", str(tmp_path), "boot")
    assert "timeout connect 250ms" in change(rendered, settings).text
    assert "timeout connect 7s" in change(rendered.replace("timeout connect 5s", "timeout connect 7s"), settings).text


def test_serves_socket_is_the_supervisors(tmp_path: Path) -> None:
    found = changed(tmp_path, [])
    assert found.admin_socket == f"{tmp_path}/a.sock"
    assert f"stats socket {tmp_path}/h.sock mode 600 level admin expose-fd listeners" in found.text


def test_haproxys_own_pages_listen_where_the_service_does(tmp_path: Path) -> None:
    text = changed(tmp_path, [("r1", 30001)]).text
    binds = [line.split()[1] for line in text.splitlines() if line.strip().startswith("bind ")]
    assert len(binds) == 3
    assert all(bind.startswith("127.0.0.1:") for bind in binds)


def test_a_configuration_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="stats socket"):
        change("global\n    maxconn 1\n", Settings("s", "f", "boot"))


def test_what_is_not_for_clients_listens_on_loopback(tmp_path: Path) -> None:
    own = changed(tmp_path, [("r1", 30001)]).text
    lines = [line.split()[1] for line in own.splitlines() if line.strip().startswith("bind ")]
    assert len(lines) == 3
    assert all(address.startswith("127.0.0.1:") for address in lines)


def test_metrics_are_where_the_service_is_and_statistics_never_are(tmp_path: Path) -> None:
    rendered = render(tmp_path, PORT, [("r1", 30001)], None).replace(f"bind 127.0.0.1:{PORT}", f"bind *:{PORT}")
    found = change(rendered, Settings(f"{tmp_path}/h.sock", str(tmp_path), "boot", None)).text
    metrics, statistics = found.split("frontend prometheus\n")[1], found.split("listen stats\n")[1]
    assert metrics.strip().startswith("bind *:")
    assert statistics.strip().startswith("bind 127.0.0.1:")


def test_a_call_over_grpc_has_its_age_from_the_proxy_too(tmp_path: Path) -> None:
    text = change(
        render(tmp_path, PORT, [("r1", 30001)], grpc_port=PORT + 1),
        Settings(f"{tmp_path}/h.sock", str(tmp_path), "boot"),
    ).text
    lines = [line.strip() for line in section(text, "frontend grpc_frontend").splitlines()]
    assert f"bind 127.0.0.1:{PORT + 1} proto h2" in lines
    assert "http-request set-header x-accord-received %[date(0,us)]-boot" in lines
    done = verdict(tmp_path, text)
    assert done.returncode == 0, done.stderr
