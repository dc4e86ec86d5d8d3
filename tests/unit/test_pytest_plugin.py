"""``pytest --mqlab=RUN_DIR``, as pytest itself runs it, and the promises of ``mqlab.testing``."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import scenarios
from analysis.ledger.runs import FINDINGS
from analysis.report.document import PAGE_DATA
from harness.errors import RunDirectoryError, UsageError
from harness.paths import PACKAGES
from mqlab.main import _parser
from mqlab.testing import _words, assert_confirmed, load
from scenarios.own_load import OWN_LOAD
from tests.lib.samples import sample, write_document

pytest_plugins = ["pytester"]
PLUGIN = "mqlab.pytest_plugin"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_document(tmp_path / "run", sample())


def _pytest(pytester: pytest.Pytester, *arguments: str | Path) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", PLUGIN, "-p", "no:cacheprovider", *arguments)


def test_each_claim_of_a_run_is_a_test_with_the_outcome_of_junit(pytester: pytest.Pytester, run: Path) -> None:
    pytester.makepyfile("def test_of_the_user(): assert False")
    # As junit.xml of the same sample: 24 cases, one failure, seven errors. The user's own test is not collected.
    _pytest(pytester, f"--mqlab={run}").assert_outcomes(passed=16, failed=1, errors=7)


def test_a_failure_shows_the_claim_what_was_measured_and_the_evidence(pytester: pytest.Pytester, run: Path) -> None:
    result = _pytest(pytester, f"--mqlab={run}", "-k", "ORDER-06 and 5.3.3")
    result.assert_outcomes(failed=1, deselected=23)
    finding = next(f for f in sample()["findings"] if (f["claim"], f["release"]) == ("ORDER-06", "5.3.3"))
    (line,) = finding["evidence"]
    result.stdout.fnmatch_lines(
        [
            "*ordered-lock-handover ORDER-06?5.3.3?*",
            "refuted, expected confirmed",
            "Expected from the code: confirmed. *",
            f"Measured: {finding['summary']}",
            "Part hand-over after shutdown: refuted, 19.8 *",
            f"Evidence in {run}:",
            f"{line['file']}:{line['line']}: *",
            "FAILED *::ordered-lock-handover::ORDER-06?5.3.3?*",
        ]
    )


def test_an_undecided_claim_is_an_error_that_gives_the_reason(pytester: pytest.Pytester, run: Path) -> None:
    result = _pytest(pytester, f"--mqlab={run}", "-k", "ORDER-01 and 5.3.3")
    result.assert_outcomes(errors=1, deselected=23)
    result.stdout.fnmatch_lines(["undecided (too noisy)", "ERROR *ORDER-01?5.3.3?*"])


def test_paths_that_are_named_are_collected_too(pytester: pytest.Pytester, run: Path) -> None:
    own = pytester.makepyfile("def test_of_the_user(): pass")
    _pytest(pytester, f"--mqlab={run}", own, "-k", "BUSY-09 or user").assert_outcomes(passed=4, deselected=21)


def test_workers_of_xdist_have_the_same_claims(pytester: pytest.Pytester, run: Path) -> None:
    result = _pytest(pytester, "-p", "xdist", "-n", "1", f"--mqlab={run}", "-k", "ORDER-06")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["Measured: *"])


def _without_findings(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "findings": []}


def test_a_run_that_shows_nothing_is_no_pass(pytester: pytest.Pytester, tmp_path: Path) -> None:
    empty = write_document(tmp_path / "empty", _without_findings(sample()))
    result = _pytest(pytester, f"--mqlab={empty}")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*has no findings*"])
    torn = write_document(tmp_path / "torn", sample())
    (torn / FINDINGS).write_text('{"schema": ')
    _pytest(pytester, f"--mqlab={tmp_path / 'torn'}").assert_outcomes(errors=1)


def test_a_folder_without_an_analysis_is_refused_with_one_sentence(pytester: pytest.Pytester, tmp_path: Path) -> None:
    result = _pytest(pytester, f"--mqlab={tmp_path}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f"ERROR: --mqlab={tmp_path}: no analysed run is there; *mqlab runs analyze {tmp_path}"]
    )


LEAVES_A_MARK = "open({mark!r}, 'w').close()\n"


@pytest.mark.parametrize("place", ["conftest.py", "__init__.py", "analysis/conftest.py", "analysis/__init__.py"])
def test_no_python_of_a_run_is_imported(pytester: pytest.Pytester, place: str) -> None:
    run, mark = write_document(pytester.path / "run", sample()), pytester.path / "was-run"
    (run / place).write_text(LEAVES_A_MARK.format(mark=str(mark)))
    _pytest(pytester, f"--mqlab={run}").assert_outcomes(passed=16, failed=1, errors=7)
    _pytest(pytester, "--mqlab=run", "-p", "xdist", "-n", "1").assert_outcomes(passed=16, failed=1, errors=7)
    assert not mark.exists()


@pytest.mark.parametrize("name", ["pytest.ini", "tox.ini", "setup.cfg"])
def test_settings_of_a_run_are_not_read(pytester: pytest.Pytester, name: str) -> None:
    run, mark = write_document(pytester.path / "run", sample()), pytester.path / "was-run"
    (run / "planted_plugin.py").write_text(LEAVES_A_MARK.format(mark=str(mark)))
    section = "tool:pytest" if name == "setup.cfg" else "pytest"
    (run / name).write_text(f"[{section}]\npythonpath = .\naddopts = -p planted_plugin\n")
    _pytest(pytester, f"--mqlab={run}").assert_outcomes(passed=16, failed=1, errors=7)
    assert not mark.exists()


def test_a_run_behind_a_space_is_refused_wherever_it_stands(
    pytester: pytest.Pytester, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pytest has read settings there before any plugin can keep it from that.
    result = _pytest(pytester, "--mqlab", run)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: write --mqlab={run}, with an equals sign: *"])
    monkeypatch.setenv("PYTEST_ADDOPTS", f"--mqlab {run}")
    assert _pytest(pytester).ret == pytest.ExitCode.USAGE_ERROR


def test_a_document_that_is_a_link_is_none(pytester: pytest.Pytester, run: Path) -> None:
    linked = pytester.path / "linked"
    (linked / "analysis").mkdir(parents=True)
    (linked / PAGE_DATA).symlink_to(run / PAGE_DATA)
    (linked / FINDINGS).symlink_to(run / FINDINGS)
    assert _pytest(pytester, f"--mqlab={linked}").ret == pytest.ExitCode.USAGE_ERROR


def test_without_the_option_nothing_of_the_lab_is_imported(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        "import sys\n\ndef test_one():\n"
        "    ours = {'analysis', 'harness', 'scenarios', 'pyspark'}\n"
        "    assert not [name for name in sys.modules if name.partition('.')[0] in ours]\n"
        f"    assert '{PLUGIN}' in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path, env={"PYTHONPATH": str(PACKAGES)}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_pytest_finds_the_plugin_by_the_name_of_its_module() -> None:
    # The name of the entry point is that of the module: -p and the entry point then are one plugin, not two.
    project = tomllib.loads((PACKAGES / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}


# --- mqlab.testing ------------------------------------------------------------------------------------------------------


def _of_load(run: Path, **verdicts: str) -> Path:
    """A load's run with these properties."""
    document = sample()
    like = document["findings"][0]
    document["findings"] = [
        {**like, "incident": "load", "claim": name.replace("_", "-"), "release": "5.5.0", "verdict": verdict,
         "expected": "confirmed", "reason": "missing evidence" if verdict == "undecided" else ""}
        for name, verdict in verdicts.items()
    ]  # fmt: skip
    return write_document(run, document)


def test_a_promise_that_is_confirmed_passes(tmp_path: Path, run: Path) -> None:
    of_load = _of_load(tmp_path / "load", nothing_lost="confirmed", history_whole="confirmed", in_order="refuted")
    assert_confirmed(of_load, "nothing-lost")
    assert_confirmed(run, "BUSY-09", release="4.6.0")


@pytest.mark.parametrize("verdict", ["refuted", "undecided"])
@pytest.mark.parametrize("which", ["nothing-lost", "faults-took-effect", "history-whole"])
def test_a_promise_that_is_not_confirmed_fails_with_its_evidence_be_it_one_that_nobody_asked_for(
    tmp_path: Path, which: str, verdict: str
) -> None:
    verdicts = dict.fromkeys(("nothing-lost", "faults-took-effect", "history-whole"), "confirmed") | {which: verdict}
    run = _of_load(tmp_path / "run", **verdicts)
    with pytest.raises(AssertionError, match=f"^{which} on 5.5.0: {verdict}") as raised:
        assert_confirmed(run, "nothing-lost")
    (line, *_) = sample()["findings"][0]["evidence"]
    assert f"{line['file']}:{line['line']}: " in str(raised.value)


def test_a_claim_that_a_run_does_not_have_is_no_promise(run: Path) -> None:
    with pytest.raises(UsageError, match="BUSY-90"):
        assert_confirmed(run, "BUSY-90")
    with pytest.raises(UsageError):
        assert_confirmed(run)
    with pytest.raises(RunDirectoryError):
        assert_confirmed(run / "missing", "BUSY-09")


def test_options_of_a_load_are_those_of_the_command(tmp_path: Path) -> None:
    for wrong, says in (
        ({"reales": "5.5.0"}, "--reales"),
        ({"rate": "fast"}, "'fast' is not a number"),
        ({"namesrv": "127.0.0.1:9876", "create_topic": True, "fault": ["kill-consumer@1s", "append-stall@1"]}, "fault"),
    ):
        with pytest.raises(UsageError, match=says):
            load(tmp_path / "run", **wrong)
    assert not (tmp_path / "run").exists()


def test_the_examples_of_the_document_use_options_and_claims_that_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads, asked = [], set[str]()

    def record_load(out: Path, **options: Any) -> Path:
        loads.append([*_words(options), "--out", str(out)])
        return out

    monkeypatch.setattr("mqlab.testing.load", record_load)
    monkeypatch.setattr("mqlab.testing.assert_confirmed", lambda run, *claims, **_: asked.update(claims))
    text = (PACKAGES / "docs" / "run-directory.md").read_text("utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        names: dict[str, Any] = {}
        exec(block, names)
        for name, test in names.items():
            if name.startswith("test_"):
                test(*([tmp_path] if inspect.signature(test).parameters else []))
    assert loads
    for words in loads:
        assert _parser().parse_args(["load", *words]).fault
    of_loads = {claim.id for claim in OWN_LOAD.claims}
    of_incidents = {claim.id for scenario in scenarios.ALL for claim in scenario.claims}
    assert asked <= of_loads | of_incidents
    assert {"nothing-lost", "nothing-twice"} <= asked
    named = set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", text))
    assert named <= of_loads
