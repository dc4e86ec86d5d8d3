"""``mqlab runs serve``: a local page over all runs of a folder. Loopback only, read only, and without a script of its own."""

from __future__ import annotations

import argparse
import contextlib
import socket
import sys
import threading
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from rich.console import Console

from analysis.report.runs import REPORT, compare_page, list_page, read_report, run_names
from harness.bounded import why
from harness.errors import EXIT_OK, LabError, PortTakenError
from harness.own_page import why_refused
from mqlab.kinds import FOLDER, PORT
from mqlab.options import DEFAULT_RUNS, Adder

HOST = "127.0.0.1"
SILENT_S_MAX = 30.0
"""After so long a connection that says nothing is ended, and its thread with it."""
ASKING_S_MAX = 60.0
"""As one is whose request has not ended by then, however it comes."""
CONNECTIONS_MAX = 64
"""At a time; each has a thread. A browser keeps six."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""A report may be somebody else's, and so its scripts. In a sandbox they have an origin of their own, to which the other pages are
those of a stranger, and they ask for nothing, here or elsewhere. The lab's own reports draw and save their plots under it, and
their own policy holds beside it."""


NO_PAGE = "there is no such page"


def add_command(add: Adder) -> None:
    """``serve``."""
    command = add(
        "runs serve", serve, "a local page over all runs: progress, reports, two side by side; loopback only, read only"
    )
    command.add_argument("--runs", type=FOLDER, default=DEFAULT_RUNS, metavar="DIR", help="default: %(default)s")
    command.add_argument("--port", type=PORT, default=8090, help="default: %(default)s")


def serve(options: argparse.Namespace, console: Console) -> int:
    """Serve until Ctrl-C."""
    try:
        server = make_server(options.runs, options.port)
    except OSError as error:
        raise PortTakenError(
            f"port {options.port} cannot be had: {error.strerror}", advice="Give another --port."
        ) from error
    with server:
        print(f"http://{HOST}:{server.server_port}/ shows the runs in {options.runs}; Ctrl-C ends it", flush=True)
        server.serve_forever()
    return EXIT_OK


def make_server(runs: Path, port: int) -> ThreadingHTTPServer:
    """Bound to loopback; port 0 is any. Raises OSError."""
    return _Server((HOST, port), partial(_Handler, runs))


class _Server(ThreadingHTTPServer):
    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._free = threading.BoundedSemaphore(CONNECTIONS_MAX)

    def process_request(self, request: Any, client_address: Any) -> None:
        """One more than there may be is ended without an answer."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that has gone on to another page is worth no word."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    server_version = "mqlab"
    sys_version = ""
    timeout = SILENT_S_MAX
    _reading = threading.Lock()

    def __init__(self, runs: Path, *rest: object) -> None:
        self._runs = runs
        super().__init__(*rest)  # type: ignore[arg-type]

    def setup(self) -> None:
        super().setup()
        self._asking = threading.Timer(ASKING_S_MAX, self._end)
        self._asking.daemon = True
        self._asking.start()

    def parse_request(self) -> bool:
        """Its headers are read here; nothing that follows them is."""
        is_whole = super().parse_request()
        self._asking.cancel()
        return is_whole

    def finish(self) -> None:
        self._asking.cancel()
        super().finish()

    def _end(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        """Answer with a page."""
        if not self._is_own():
            return
        try:
            where = urlsplit(self.path)
        except ValueError:
            self._answer(HTTPStatus.BAD_REQUEST, "that is no address", kind="text/plain")
            return
        asked = {name: values[-1] for name, values in parse_qs(where.query, errors="surrogateescape").items()}
        if where.scheme or where.netloc:
            # What stands in the address goes before Host, and has not been asked whether it is this page.
            self._answer(HTTPStatus.BAD_REQUEST, "an address begins with / here", kind="text/plain")
        elif where.path == "/":
            self._page(lambda: list_page(self._runs, still="still" in asked))
        elif where.path == "/compare" and self._has(asked.get("left", "")) and self._has(asked.get("right", "")):
            self._page(lambda: compare_page(self._runs, asked["left"], asked["right"]))
        elif where.path == "/compare":
            self._answer(HTTPStatus.BAD_REQUEST, "choose one run left and one right", kind="text/plain")
        elif (run := self._run_of_report(where.path)) is not None:
            self._page(lambda: read_report(self._runs, run), REPORT_POLICY)
        else:
            self._answer(HTTPStatus.NOT_FOUND, NO_PAGE, kind="text/plain")

    def do_POST(self) -> None:
        """There is nothing to change."""
        if self._is_own():
            self._answer(HTTPStatus.NOT_IMPLEMENTED, "nothing can be changed here", kind="text/plain")

    def _is_own(self) -> bool:
        """Whether the request is one to answer; one that is not has been refused by then."""
        if refused := why_refused(self.command, self._header):
            self._answer(HTTPStatus.FORBIDDEN, refused, kind="text/plain")
        return not refused

    def _header(self, name: str) -> str | None:
        """All that the request has of a header: of two values none is the right one."""
        return ", ".join(values) if (values := self.headers.get_all(name)) else None

    def _has(self, run: str) -> bool:
        """Whether a run of the folder has this name: it comes from a request, and is looked up, never followed."""
        return run in run_names(self._runs)

    def _run_of_report(self, path: str) -> str | None:
        """The run whose report a path asks for."""
        parts = path.split("/")
        if len(parts) != 4 or parts[1] != "runs" or parts[3] != REPORT:
            return None
        run = unquote(parts[2], errors="surrogateescape")
        return run if self._has(run) else None

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is no request of HTTP, or of another method, has an answer with the headers of all others."""
        self._answer(HTTPStatus(code), explain or message or HTTPStatus(code).phrase, kind="text/plain")

    def _page(self, make: Callable[[], str], policy: str = POLICY) -> None:
        try:
            # Hostile runs take memory to be read, once at a time and not once a connection.
            with self._reading:
                text = make()
            self._answer(HTTPStatus.OK, text, policy=policy)
        except FileNotFoundError:
            self._answer(HTTPStatus.NOT_FOUND, NO_PAGE, kind="text/plain")
        except (LabError, OSError, ValueError, RecursionError) as error:
            self._answer(HTTPStatus.NOT_FOUND, why(error), kind="text/plain")

    def _answer(self, status: HTTPStatus, text: str, *, kind: str = "text/html", policy: str = POLICY) -> None:
        body = text.encode("utf-8", errors="replace")
        # To HTTP/0.9 an answer would have none of the headers, and a report under no policy.
        self.request_version = self.protocol_version
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Requests are not worth a line each."""
