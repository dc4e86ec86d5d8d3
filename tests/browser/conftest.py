"""A headless Chromium for the tests of the report's page, driven by the DevTools protocol.

Started once, each test opens its own tab. Everything that the page asks for, logs or throws is kept.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lib.samples import write_document

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)
WAIT_S_MAX = 60.0


class Tab:
    """One tab. ``requests`` are addresses asked for, ``problems`` console errors, exceptions and blocked loads."""

    def __init__(self, address: str) -> None:
        import websocket

        self._socket = websocket.create_connection(address, timeout=WAIT_S_MAX)
        self._numbers = itertools.count(1)
        self.requests: list[str] = []
        self.problems: list[str] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and read up to its answer; events that come in between are kept."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        deadline = time.monotonic() + WAIT_S_MAX
        while time.monotonic() < deadline:
            message = json.loads(self._socket.recv())
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                result: dict[str, Any] = message["result"]
                return result
            self._keep(message)
        raise AssertionError(f"no answer to {method} within {WAIT_S_MAX} s")

    def _keep(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.problems.append(str(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.problems.append(str(params["args"]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.problems.append(params["entry"]["text"])

    def open(
        self, page: Path | str, *, width: int = 1280, height: int = 900, dark: bool = False, scripts: bool = True,
        folded: bool = False,
    ) -> None:  # fmt: skip
        """Load a file or an address at a width; returns when its plots are drawn, or at once where scripts are off.

        What a page folds away as a whole is opened unless it is to stay ``folded``.
        """
        address = page if isinstance(page, str) else page.as_uri()
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=address)
        self.wait_until("document.readyState === 'complete' && location.protocol !== 'about:'")
        if scripts:
            self.wait_until(
                "!document.getElementById('plotly') || /drawn|unavailable/.test(document.documentElement.dataset.plots)"
            )
        if not folded:
            self.evaluate("document.querySelectorAll('details.rest').forEach((one) => { one.open = true; })")
        if scripts and not folded:
            drawn = "[...document.querySelectorAll('.plot[data-figure]')].every((plot) => plot.children.length)"
            self.wait_until(f"document.documentElement.dataset.plots !== 'drawing' && {drawn}")

    def accessible(self) -> list[tuple[str, str]]:
        """Role and name of everything that a screen reader is told of, in its order."""
        self.call("Accessibility.enable")
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        told = (node for node in nodes if not node["ignored"])
        return [
            (node.get("role", {}).get("value", ""), str(node.get("name", {}).get("value", "")).strip()) for node in told
        ]

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page, which must be plain JSON."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, f"{expression}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def wait_until(self, expression: str) -> None:
        deadline = time.monotonic() + WAIT_S_MAX
        while not self.evaluate(f"Boolean({expression})"):
            assert time.monotonic() < deadline, f"not within {WAIT_S_MAX} s: {expression}; problems: {self.problems}"
            time.sleep(0.05)

    def screenshot(self, path: Path) -> None:
        """The whole page as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The DevTools port of a Chromium of our own, ended with all of its children at the end of the session."""
    if CHROMIUM is None:
        pytest.skip("no chromium on the path (Debian: apt-get install chromium)")
    pytest.importorskip("websocket", reason="the DevTools protocol needs websocket-client")
    profile = tmp_path_factory.mktemp("chromium")
    log = (profile / "log.txt").open("wb")
    process = subprocess.Popen(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield _port(profile, process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=10)
        log.close()


def _port(profile: Path, process: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + WAIT_S_MAX
    told = profile / "DevToolsActivePort"
    while time.monotonic() < deadline:
        if told.exists() and (lines := told.read_text().splitlines()):
            return int(lines[0])
        assert process.poll() is None, f"chromium ended: {(profile / 'log.txt').read_text()[-2000:]}"
        time.sleep(0.05)
    raise AssertionError(f"chromium told no port within {WAIT_S_MAX} s: {(profile / 'log.txt').read_text()[-2000:]}")


@pytest.fixture
def tab(chromium: int) -> Iterator[Tab]:
    request = urllib.request.Request(f"http://127.0.0.1:{chromium}/json/new?about:blank", method="PUT")
    with urllib.request.urlopen(request, timeout=WAIT_S_MAX) as answer:
        target = json.load(answer)
    opened = Tab(target["webSocketDebuggerUrl"])
    yield opened
    opened.close()
    urllib.request.urlopen(f"http://127.0.0.1:{chromium}/json/close/{target['id']}", timeout=WAIT_S_MAX).close()


@pytest.fixture
def page_of(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Writes report data as a run and renders its page."""
    from analysis.report.write import write_reports

    def render(document: dict[str, Any]) -> Path:
        return write_reports(write_document(tmp_path / "run", document)).page

    return render
