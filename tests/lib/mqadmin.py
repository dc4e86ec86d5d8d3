"""What a release's mqadmin makes of command lines, by the parser and the options of its own classes; run as a program of its own,
since a process has one JVM: the class path is its argument, command lines are JSON on its standard input."""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def what_is_wrong(words: list[str], commands: dict[str, Any], jpype: Any) -> str:
    """With a command's name and its options; empty where nothing is. A name alone is looked up alone."""
    name, *options = words
    if name not in commands:
        return "no such command"
    if not options:
        return ""
    cli = jpype.JPackage("org.apache.commons.cli")
    known = jpype.JClass("org.apache.rocketmq.srvutil.ServerUtil").buildCommandlineOptions(cli.Options())
    try:
        cli.PosixParser().parse(commands[name].buildCommandlineOptions(known), options)
    except jpype.JClass("org.apache.commons.cli.ParseException") as error:
        return str(error.getMessage())
    return ""


def main() -> None:
    """Print a list of what is wrong with each command line."""
    import jpype

    jpype.startJVM(classpath=sys.argv[1].split(os.pathsep), convertStrings=True)
    startup = jpype.JClass("org.apache.rocketmq.tools.command.MQAdminStartup")
    startup.initCommand()
    # Its name is another one since 5.x, its type is not.
    (field,) = (one for one in startup.class_.getDeclaredFields() if str(one.getType().getName()) == "java.util.List")
    field.setAccessible(True)
    commands = {str(command.commandName()): command for command in field.get(None)}
    print(json.dumps([what_is_wrong(words, commands, jpype) for words in json.load(sys.stdin)]))


if __name__ == "__main__":
    main()
