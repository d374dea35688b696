"""The HAProxy configuration that Serve writes, changed for overload and for failures."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from serve_app.proxy import logged_method
from serve_app.proxy.refusals import ERRORS, LOADING, SATURATED
from serve_app.proxy.tls import Tls
from serve_app.proxy.window import FIRST

FRONTEND, GRPC_FRONTEND = "frontend http_frontend", "frontend grpc_frontend"
STATS, METRICS = "listen stats", "frontend prometheus"
"""Serve has them listen everywhere, whatever its own host: the page of statistics is for this machine, and metrics are
where the service is."""

BACKEND = re.compile(r"backend (?P<name>http-\S+)$")
"""Serve names its HTTP backends by their applications; gRPC's stay as they are."""

RECEIVED_HEADER = "x-accord-received"
WAIT_HEADER = "x-accord-wait"
REFUSING_HEADER = "x-accord-refusing"
REFUSED_HEADER = "x-accord-refused"
SHED_HEADER = "x-accord-shed"
"""See `request_age`, `wait`, `refusals` and `shedding` in `serve_app.http.in_front`."""

REFUSED_TABLE = "accord_refused"
"""Counts refused inference requests by path: endpoints are not known here. The oldest of its entries goes first."""

SHED_TABLE = "accord_shed"
"""What share of the requests of a path is to be refused, in thousandths, as the last answer had it. Entries that nobody
renews for a second are forgotten, though not always: routers tell of 0 as well."""

QUEUE, PLACES_PER_WAITING = 32, 4
"""So many requests wait for a place at a router, and one for so many places at most: enough to fill it while the next
ones come, and no wait worth naming. Where places are few a queue of fixed length would be the wait of which the router
tells, for which its window would stay small."""

HELD = 1024
"""Requests that wait in Serve's own proxy while there is no router: a few seconds' worth. It carries a tenth of what a
router does, and so has them only while none is up."""

INFERENCE = r"(^|/)v2/models/[^/]+(/versions/[^/]+)?/infer$"
"""Requests that may be sent twice: they change nothing."""

HIGHEST = '"priority"[[:space:]]*:[[:space:]]*1([^0-9]|$)'
"""In the body of a request of the highest priority."""

CONNECT_MS = 250
"""For a connection to a router, and before another try: clients wait for two routers' worth of it at most."""

REQUEST_S = 10
"""For the headers and the beginning of the body of a request, so that slow clients hold no place at a router."""

QUEUE_S = 2

CLOSE_FROM_PCT = 75
"""Where more of the connections that clients may have are taken, refusals end theirs: a client keeps idle ones for a
minute and a half, and others, whom the kernel lets wait, would have no answer for so long."""

IDLE_KEPT_PCT = 95
"""Of all descriptors may be in use, and idle connections to routers are still kept. By default that is a quarter, which
a few thousand clients hold; each request then costs router and proxy a connection of its own, while they have the least
time for it."""


@dataclass(frozen=True)
class Settings:
    """What the configuration needs beside Serve's own."""

    inner_socket: str  # HAProxy's admin socket; Serve talks to that of the supervisor
    error_folder: str  # where `error_files` lie
    boot_id: str
    tls: Tls | None = None


@dataclass(frozen=True)
class Server:
    """A router as HAProxy knows it, and the variables that have its wait and its refusals."""

    backend: str
    name: str
    variable: str

    @property
    def refusing_variable(self) -> str:
        """Beside ``variable``, which has the wait."""
        return f"{self.variable}_refusing"


@dataclass(frozen=True)
class Changed:
    """The new text; ``admin_socket`` is the one that Serve asked for."""

    text: str
    admin_socket: str
    servers: tuple[Server, ...]


def error_path(folder: str, status: int) -> str:
    """Where the answer instead of HAProxy's own of this status lies."""
    return f"{folder}/accord-{status}.http"


def error_files(folder: str) -> dict[str, str]:
    """Contents by path of the files that the changed configuration names."""
    return {error_path(folder, status): refusal.file for status, refusal in ERRORS.items()}


def change(text: str, settings: Settings) -> Changed:
    """Change a whole configuration. Raises ValueError where it has no admin socket or no HTTP frontend."""
    sections = [_Section.of(part) for part in re.split(r"(?m)^(?=\S)", text) if part.strip()]
    socket = re.search(r"(?m)^\s+stats socket (\S+)", text)
    bind = re.search(rf"(?m)^{FRONTEND}\n\s+bind (\S+):\d+", text)
    if socket is None or bind is None:
        raise ValueError(
            f"the HAProxy configuration has no line `stats socket` or no `{FRONTEND}` with a `bind`; this Ray is "
            "newer than what serve_app/proxy knows: unset RAY_SERVE_HAPROXY_BINARY_PATH to run its HAProxy as it is"
        )
    host = bind[1]
    servers: list[Server] = []
    for section in sections:
        if section.header == "global":
            section.replace(r"(stats socket) \S+ mode 666", rf"\1 {settings.inner_socket} mode 600")
            section.lines += [f"    tune.pool-{which}-fd-ratio {IDLE_KEPT_PCT}" for which in ("low", "high")]
        elif section.header == "defaults":
            _change_defaults(section, settings)
        elif section.header == STATS:
            section.replace(r"bind \*?:", "bind 127.0.0.1:")
        elif section.header == FRONTEND:
            _change_frontend(section, settings, _most_connections(text))
        elif section.header == GRPC_FRONTEND:
            _insert_below_bind(section, [_received(settings), _NOT_REFUSED])
        elif section.header == METRICS:
            section.replace(r"bind \*?:", f"bind {host}:")
        elif section.header == "backend default_backend" and _loading(sections, FRONTEND):
            section.lines = [f"    http-request {LOADING.rule}"]
        elif section.header == "backend default_grpc_backend" and _loading(sections, GRPC_FRONTEND):
            section.lines = ["    mode http", f"    http-request {LOADING.grpc_rule}"]
        elif (backend := BACKEND.match(section.header)) is not None and "-via-ingress" not in section.header:
            variable = f"proc.accord_wait_{len(servers)}"
            servers += _change_backend(section, backend["name"], variable, settings.boot_id)
    sections.append(_table(REFUSED_TABLE, "gpc0"))
    sections.append(_table(SHED_TABLE, "gpt0", expires=" expire 1s"))
    return Changed("".join(map(str, sections)), socket[1], tuple(servers))


@dataclass
class _Section:
    """``frontend NAME`` and the like, with the lines below."""

    header: str
    lines: list[str]

    @classmethod
    def of(cls, text: str) -> "_Section":
        header, *lines = text.rstrip("\n").split("\n")
        return cls(header.strip(), lines)

    def __str__(self) -> str:
        return "\n".join([self.header, *self.lines]) + "\n"

    def replace(self, pattern: str, by: str | Callable[[re.Match[str]], str]) -> None:
        self.lines = [re.sub(pattern, by, line) for line in self.lines]

    def without(self, beginning: str) -> None:
        self.lines = [line for line in self.lines if not line.strip().startswith(beginning)]


def _table(name: str, stored: str, expires: str = "") -> _Section:
    """A stick table by path."""
    return _Section(f"backend {name}", [f"    stick-table type string len 256 size 10k{expires} store {stored}"])


def _loading(sections: Sequence[_Section], frontend: str) -> bool:
    """Whether Serve has told its proxy of no route yet, or of none any more: a path that is not found may exist.

    Over gRPC one call has a backend whatever Serve knows: the one that lists applications.
    """
    lines = (line.split() for section in sections if section.header == frontend for line in section.lines)
    return not any(words[:1] == ["use_backend"] and words[1] != "grpc_fallback_backend" for words in lines)


def _change_defaults(section: _Section, settings: Settings) -> None:
    section.without("errorfile ")
    section.lines += [f"    errorfile {status} {error_path(settings.error_folder, status)}" for status in ERRORS]
    # Serve's own values only: what an operator has set by environment variables stays.
    section.replace(r"timeout connect 5s", f"timeout connect {CONNECT_MS}ms")


def _most_connections(text: str) -> int:
    """Of clients; Ray's default where its configuration says nothing."""
    found = re.search(r"(?m)^\s+maxconn (\d+)$", text)
    return 4096 if found is None else int(found[1])


def _change_frontend(section: _Section, settings: Settings, most_connections: int) -> None:
    many = most_connections * CLOSE_FROM_PCT // 100
    lines = [
        # Redirects to paths without a slash at their end would lead to plain HTTP otherwise.
        *([] if settings.tls is None else [f"    {settings.tls.line}", f"    {settings.tls.told}"]),
        f"    timeout http-request {REQUEST_S}s",
        "    option http-buffer-request",
        f"    {logged_method.RULE}",
        _received(settings),
        _NOT_REFUSED,
        f"    http-request set-var(txn.accord_inference) bool(true) if {{ path_reg -- {INFERENCE} }}",
        _IS_INFERENCE,
        "    http-request disable-l7-retry if !METH_GET !accord_inference",
        f"    http-after-response set-header connection close if {{ status 429 }} {{ fe_conn gt {many} }}",
    ]
    _insert_below_bind(section, lines)
    section.replace(logged_method.SERVES, logged_method.LOGGED)


_IS_INFERENCE = "    acl accord_inference var(txn.accord_inference) -m bool"
"""The expression is looked at once a request, and not in each rule: of some refusals it would be most of the cost."""

_NOT_REFUSED = f"    http-request del-header {REFUSED_HEADER}"
"""No client says what the proxy has refused."""


def _received(settings: Settings) -> str:
    return f"    http-request set-header {RECEIVED_HEADER} %[date(0,us)]-{settings.boot_id}"


def _insert_below_bind(section: _Section, lines: list[str]) -> None:
    bind = next(number for number, line in enumerate(section.lines) if line.strip().startswith("bind "))
    section.lines[bind + 1 : bind + 1] = lines


_SHEDDING = [
    "    http-request set-var(txn.accord_path) path if accord_inference",
    f"    http-request set-var(txn.accord_share) path,table_gpt0({SHED_TABLE}) if accord_inference",
    "    http-request set-var(txn.accord_draw) rand(1000),sub(txn.accord_share) if accord_inference",
    "    acl accord_drawn var(txn.accord_draw) -m int lt 0",
    # Whether it goes before others is for the router to say; of what cannot be read here as well.
    f"    acl accord_first req.body -m reg '{HIGHEST}'",
    "    acl accord_first req.hdr(content-encoding) -m found",
    "    http-request set-var(txn.accord_shed) bool(true) if accord_inference accord_drawn !accord_first",
]
"""Requests drawn at random are refused, as many as the routers tell."""


def _change_backend(section: _Section, name: str, variable: str, boot_id: str) -> list[Server]:
    """A window to each router; refusals at once where no router is there, or all have their fill."""
    servers: list[Server] = []
    lines = []
    for line in section.lines:
        found = re.match(r"\s+server (?P<name>\S+) ", line)
        if found is not None:
            if not line.endswith(" backup"):
                servers.append(Server(name, found["name"], f"{variable}_{len(servers)}"))
                # A refused connection is a dead router; one that answers late has places left for its health checks.
                line = line.replace("error-limit 3", "error-limit 1")
            line += f" maxconn {HELD if line.endswith(' backup') else FIRST}"
        lines.append(line)
    rules = [
        f"    timeout queue {QUEUE_S}s",
        "    retry-on conn-failure empty-response",
        f"    http-request {LOADING.rule} if {{ nbsrv lt 1 }}",
        # Whoever looks at the service, or operates it, is let in all the same, and first.
        _IS_INFERENCE,
        "    http-request set-priority-class int(-1) if !accord_inference",
        *_SHEDDING,
        f"    http-request set-var(txn.accord_queue) queue({name}),mul({PLACES_PER_WAITING + 1}) if accord_inference",
        f"    http-request set-var(txn.accord_room) be_conn({name}),sub(txn.accord_queue) if accord_inference",
        f"    acl accord_full queue({name}) ge {QUEUE}",
        "    acl accord_full var(txn.accord_room) -m int le 0",
        "    acl accord_full var(txn.accord_shed) -m bool",
        "    http-request set-log-level silent if accord_inference accord_full",  # thousands of lines a second
        f"    http-request track-sc0 path table {REFUSED_TABLE} if accord_inference accord_full",
        "    http-request sc-inc-gpc0(0) if accord_inference accord_full",
        f"    http-request {SATURATED.rule} if accord_inference accord_full",
        f"    http-request set-header {REFUSED_HEADER} %[path,table_gpc0({REFUSED_TABLE})]-%pid-{boot_id} if "
        "accord_inference",
    ]
    for number, server in enumerate(servers, start=1):
        both = ((server.variable, WAIT_HEADER), (server.refusing_variable, REFUSING_HEADER))
        rules += [
            f"    http-response set-var({variable}) res.hdr({header}),mul(1) if "
            f"{{ res.hdr({header}) -m found }} {{ srv_id {number} }}"
            for variable, header in both
        ]
    rules += [
        f"    acl accord_sheds res.hdr({SHED_HEADER}) -m found",
        f"    http-response track-sc1 var(txn.accord_path) table {SHED_TABLE} if accord_sheds",
        f"    http-response sc-set-gpt0(1) res.hdr({SHED_HEADER}),mul(1) if accord_sheds",
        *(f"    http-response del-header {header}" for header in (WAIT_HEADER, REFUSING_HEADER, SHED_HEADER)),
    ]
    section.lines = rules + lines
    return servers
