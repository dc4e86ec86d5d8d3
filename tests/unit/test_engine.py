from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from requests.exceptions import ReadTimeout

from harness.backends.docker.engine import DEFAULT_SOCKET, Engine, engine_socket, find_engine
from harness.backends.docker.image import find_image
from harness.errors import EXIT_USAGE, DockerError
from harness.run.doctor import examine
from mqlab.main import main


@pytest.fixture
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    socket = tmp_path / "none.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{socket}")
    return socket


def test_an_engine_that_does_not_answer_is_named_and_comes_with_what_to_do(no_engine: Path) -> None:
    with pytest.raises(DockerError, match=re.escape(str(no_engine))) as caught:
        find_engine()
    assert str(caught.value).endswith(f"{no_engine}: No such file or directory"), "and no error within an error"
    assert "docker_daemon.sh" in caught.value.advice


def test_an_engine_that_is_too_busy_to_answer_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_args: object, **_options: object) -> None:
        raise ReadTimeout("Read timed out.")

    monkeypatch.setattr("docker.DockerClient", late)
    with pytest.raises(DockerError, match=r"no Docker Engine answers at .*: Read timed out"):
        find_engine()
    engine = Engine(socket=Path("/run/engine.sock"), version="20", api="1.41", cgroup="v1")
    with pytest.raises(DockerError, match=r"^the Docker Engine does not say whether it has a:1: Read timed out"):
        find_image(engine, "a:1")


def test_an_engine_of_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    with pytest.raises(DockerError, match="not one of this machine's sockets"):
        find_engine()


def test_without_docker_host_and_docker_command_the_default_socket_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    assert engine_socket() == DEFAULT_SOCKET


def test_the_command_says_so_without_a_traceback(no_engine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "image", "4.6.0"]) == EXIT_USAGE
    said = capsys.readouterr().err
    assert "no Docker Engine answers" in said
    assert "docker_daemon.sh" in said
    assert "Traceback" not in said


def test_doctor_does_not_hold_a_missing_engine_against_the_host(no_engine: Path) -> None:
    checks = {check.name: check for check in examine()}
    docker = checks["docker"]
    assert checks["root"].ok is (True if os.geteuid() == 0 else None), "what is there is well"
    assert docker.ok is None
    assert str(no_engine) in docker.found
    assert docker.advice
