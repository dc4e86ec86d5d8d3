"""Locust's own page: on loopback, for its own requests alone, with bounds on what may be set there.

Importing Locust patches the whole process, which is why nothing but Locust's process imports this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import flask
import locust
from locust.env import Environment

from harness.generator.options import LocustSpec
from harness.own_page import PROTECTING, why_refused

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


def start_page(environment: Environment, spec: LocustSpec) -> locust.web.WebUI:
    """Serve it, with as many users at most as a load may have."""
    page = environment.create_web_ui(host="127.0.0.1", port=spec.web_port, delayed_start=True)
    page.app.wsgi_app = _own_alone(page.app.wsgi_app)

    @page.app.before_request  # type: ignore[untyped-decorator]
    def _check_users() -> flask.Response | None:
        try:
            asked, most = int(flask.request.form.get("user_count", "")), spec.options.users_max
        except ValueError:
            return None  # Locust says so of itself.
        if asked <= most:
            return None
        says = f"{asked:,} users are more than this load may have: {most:,} of {spec.options.per_user:g} each"
        return flask.jsonify({"success": False, "message": says, "host": environment.host})

    page.start()
    return page


def _own_alone(app: WSGIApplication) -> WSGIApplication:
    """The page without its word that every other page may read it (``flask_cors``), and without an answer to one that asks."""

    def answered(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        def header(name: str) -> str | None:
            value = environ.get(f"HTTP_{name.upper().replace('-', '_')}")
            return None if value is None else str(value)

        if why := why_refused(str(environ["REQUEST_METHOD"]), header):
            start("403 Forbidden", [("Content-Type", "text/plain; charset=utf-8"), *PROTECTING])
            return [why.encode()]

        def start_protected(status: str, headers: list[tuple[str, str]], *rest: object) -> Callable[[bytes], object]:
            kept = [(name, value) for name, value in headers if not name.lower().startswith("access-control-")]
            return start(status, [*kept, *PROTECTING], *rest)  # type: ignore[arg-type]

        return app(environ, start_protected)

    return answered
