"""What Serve passes to the HAProxy executable."""

from serve_app.proxy.invocation import Invocation

RELOAD = ["-db", "-f", "/t/haproxy.cfg", "-dR", "-sf", "12", "34", "-x", "/t/admin.sock"]


def test_a_reload_names_its_predecessors_and_their_socket() -> None:
    invocation = Invocation.of(RELOAD)
    assert invocation == Invocation("/t/haproxy.cfg", ("-db", "-dR"), (12, 34), "/t/admin.sock")


def test_haproxy_takes_the_sockets_from_haproxy_itself() -> None:
    invocation = Invocation.of(RELOAD)
    assert invocation is not None
    given = invocation.arguments("/t/h.sock", invocation.predecessors)
    assert given == ["-db", "-dR", "-f", "/t/haproxy.cfg.accord", "-sf", "12", "34", "-x", "/t/h.sock"]


def test_one_that_is_started_anew_takes_nothing_over() -> None:
    invocation = Invocation.of(RELOAD)
    assert invocation is not None
    assert invocation.arguments("/t/h.sock", ()) == ["-db", "-dR", "-f", "/t/haproxy.cfg.accord"]


def test_questions_about_haproxy_itself_name_no_configuration() -> None:
    assert Invocation.of(["-v"]) is None
