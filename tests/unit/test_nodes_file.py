"""The file that names nodes of a user's own: what it has to say, and its mistakes by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.backends.nodes_file import NamedNode, read_nodes_file
from harness.errors import ConfigurationError
from harness.leases.ssh import SshTarget

FAR = '[b]\naddress = "10.1.0.22:10911"\n'
PROCESS = '[broker-a]\naddress = "127.0.0.1:10911"\npid = 4711\n'


def _read(folder: Path, text: str) -> tuple[NamedNode, ...]:
    path = folder / "nodes.toml"
    path.write_text(text)
    return read_nodes_file(path)


def test_nodes_are_processes_or_containers_and_paths_are_those_of_the_files_folder(tmp_path: Path) -> None:
    first, second, third = _read(
        tmp_path,
        '# mine\n[broker-a]\naddress = "127.0.0.1:10911"\npid-file = "run/a.pid"\nstart = ["sh", "a.sh"]\n\n'
        '[namesrv-1]\naddress = "127.9.9.9:9876"\ncontainer = "rmq-1"\n\n'
        '[slave]\naddress = "172.17.0.3:10911"\ncontainer-label = "com.example.role=slave of a"\n',
    )
    assert (first.pid_file, first.start, first.folder) == (tmp_path / "run/a.pid", ("sh", "a.sh"), tmp_path)
    assert (second.container, second.is_container, first.is_container) == ("rmq-1", True, False)
    assert third.container_label == "com.example.role=slave of a"
    assert [node.place.rpartition(":")[2] for node in (first, second, third)] == ["2", "7", "11"]


def test_a_node_of_another_machine_has_paths_of_that_machine_and_an_address_anywhere(tmp_path: Path) -> None:
    (node,) = _read(
        tmp_path,
        '[broker-b]\naddress = "10.1.0.22:10911"\nssh = "rocketmq@10.1.0.22"\nssh-port = 2222\nssh-identity = "keys/lab"\n'
        'pid-file = "/home/rocketmq/b.pid"\nstart = ["sh", "b.sh"]\n',
    )
    assert node.pid_file == Path("/home/rocketmq/b.pid")
    assert node.ssh == SshTarget(host="rocketmq@10.1.0.22", port=2222, identity=str(tmp_path / "keys/lab"))
    words = node.ssh.command()
    assert words[-3:] == ["--", "rocketmq@10.1.0.22", "exec /bin/sh -s"]
    for option in ("BatchMode=yes", "StrictHostKeyChecking=yes", "ForwardAgent=no", "PasswordAuthentication=no"):
        assert words[words.index(option) - 1] == "-o"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (f'{FAR}ssh = "-oProxyCommand=id"\npid = 2\n', 3, "ssh is no text that can be one"),
        (f'{FAR}ssh = "a b@c"\npid = 2\n', 3, "ssh is no text that can be one"),
        (f'{FAR}ssh = ""\npid = 2\n', 3, "ssh is no text that can be one"),
        (f'{FAR}ssh = "u@h"\npid-file = "b.pid"\n', 4, "pid-file of another machine is a whole path"),
        (f'{FAR}ssh = "u@h"\ncontainer = "rmq"\n', 3, "ssh goes with pid-file or pid, and [b] has container"),
        (f'{FAR}ssh = "u@h"\npid = 2\nssh-port = 0\n', 5, "ssh-port is not a number from 1 to 65,535"),
        (f'{FAR}ssh = "u@h"\npid = 2\nssh-identity = "%d/key"\n', 5, "ssh-identity is no text that can be one"),
        (f'{FAR}ssh = "u@h"\npid = 2\nssh-password = "x"\n', 5, "which is no key of a node"),
        ('[b]\naddress = "127.0.0.1:1"\npid = 2\nssh-port = 22\n', 4, "ssh-port goes with ssh, and [b] has none"),
        ('[b]\naddress = "vm-2:10911"\nssh = "u@h"\npid = 2\n', 2, "vm-2:10911 has a name"),
        ("", 1, "no node is named"),
        ("[broker-a\n", 1, "Expected"),
        (f"{'a.' * 20_000}a = 1\n", 1, "a line has more than 200 dots"),
        (f"[{'a.' * 20_000}a]\n", 1, "a line has more than 200 dots"),
        ('[broker-a]\naddress = "127.0.0.1:1\n', 2, "Illegal character"),
        (f"{PROCESS}{PROCESS}", 4, "Cannot declare"),
        ('broker-a = "127.0.0.1:10911"\n', 1, "broker-a stands in no table"),
        ('[Broker_A]\naddress = "127.0.0.1:10911"\npid = 4711\n', 1, "a node cannot be called 'Broker_A'"),
        (f'{PROCESS}pidfile = "a"\n', 4, "which is no key of a node Did you mean pid-file"),
        ("[broker-a]\npid = 4711\n", 1, "has no address"),
        ('\n[broker-a]\naddress = "127.0.0.1:10911"\n', 2, "does not say how it is reached"),
        (f'{PROCESS}container = "rmq"\n', 4, "says in 2 ways how it is reached"),
        ('[broker-a]\npid = 4711\naddress = "10.1.0.5:10911"\n', 3, "10.1.0.5:10911 is not in 127.0.0.0/8"),
        ('[broker-a]\npid = 4711\naddress = "localhost:10911"\n', 3, "localhost:10911 is not in 127.0.0.0/8"),
        ('[broker-a]\npid = 4711\naddress = "[::1]:10911"\n', 3, "is not in 127.0.0.0/8"),
        ('[broker-a]\npid = 4711\naddress = "127.0.0.1"\n', 3, "'127.0.0.1' is not HOST:PORT"),
        ('[broker-a]\naddress = "127.0.0.1:10911"\npid = "4711"\n', 3, "pid is not a number from 2"),
        ('[broker-a]\naddress = "127.0.0.1:10911"\npid = true\n', 3, "pid is not a number from 2"),
        ('[broker-a]\naddress = "127.0.0.1:10911"\npid = 1\n', 3, "pid is not a number from 2"),
        ('[broker-a]\naddress = "127.0.0.1:10911"\npid-file = 4711\n', 3, "pid-file is no text"),
        ('[broker-a]\naddress = "127.0.0.1:10911"\npid-file = ""\n', 3, "pid-file is no text"),
        ('[broker-a]\naddress = "127.0.0.1:10911"\ncontainer = "-it alpine"\n', 3, "container is no text"),
        ('[broker-a]\naddress = "127.0.0.1:10911"\ncontainer-label = "a b"\n', 3, "container-label is no text"),
        ('[a]\naddress = "127.0.0.1:1"\npid-file = "a"\nstart = "sh a.sh"\n', 4, "start is not a list of words"),
        (f'{PROCESS}start = ["sh", "a.sh"]\n', 4, "start goes with pid-file alone, and [broker-a] has pid"),
        (f'{PROCESS}\n[b]\naddress = "127.0.0.1:2"\npid = 0\n', 7, "pid is not a number from 2"),
    ],
)
def test_a_mistake_has_its_line_and_a_sentence(tmp_path: Path, text: str, line: int, said: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        _read(tmp_path, text)
    assert raised.value.message.startswith(f"{tmp_path}/nodes.toml:{line}: ")
    assert said in f"{raised.value.message} {raised.value.advice}"


@pytest.mark.parametrize(
    ("value", "said"),
    [("[" * 3000, "nested too deeply"), ("{a=" * 3000, "nested too deeply"), ("9" * 5000, "a number that is too long")],
    ids=["lists", "tables", "digits"],
)
def test_a_value_that_python_cannot_hold_is_a_sentence(tmp_path: Path, value: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        _read(tmp_path, f"[broker-a]\npid = {value}\n")


def test_more_nodes_than_a_cluster_has_are_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "nodes.toml"
    path.write_text("".join(f'[n{at}]\naddress = "127.0.0.1:{10_000 + at}"\npid = 2\n' for at in range(15_000)))
    with pytest.raises(ConfigurationError, match=r"names 15,000 nodes"):
        read_nodes_file(path)


def test_a_file_that_is_no_text_is_none(tmp_path: Path) -> None:
    (tmp_path / "nodes.toml").write_bytes(b"\xff\xfe[broker-a]")
    with pytest.raises(ConfigurationError, match="is not UTF-8"):
        read_nodes_file(tmp_path / "nodes.toml")
    (tmp_path / "nodes.toml").write_bytes(b"#" * 1_000_001)
    with pytest.raises(ConfigurationError, match="has more than 1,000,000 bytes"):
        read_nodes_file(tmp_path / "nodes.toml")
