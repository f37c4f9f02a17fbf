"""A command line tool that keeps JSON, run as its own child."""
import argparse
import json
import subprocess
import sys
from pathlib import Path


def main(argv=None):
    parser = argparse.ArgumentParser(prog="todo", description="Keeps a list.")
    parser.add_argument("--file", type=Path, default=Path("todo.json"))
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("add", help="add an item")
    add.add_argument("text")
    add.add_argument("-p", "--priority", type=int, choices=range(1, 4), default=2)
    commands.add_parser("list")
    done = commands.add_parser("done")
    done.add_argument("number", type=int)
    options = parser.parse_args(argv)
    items = json.loads(options.file.read_text()) if options.file.exists() else []
    if options.command == "add":
        items.append({"text": options.text, "priority": options.priority, "done": False})
    elif options.command == "done":
        try:
            items[options.number - 1]["done"] = True
        except IndexError:
            sys.exit(f"todo: there is no item {options.number}")
    else:
        for i, item in sorted(enumerate(items, 1), key=lambda pair: pair[1]["priority"]):
            print(f"{i}. [{'x' if item['done'] else ' '}] {item['text']}")
    options.file.write_text(json.dumps(items, indent=1))


def call(*arguments):
    result = subprocess.run([sys.executable, __file__, "--as-child", *arguments], capture_output=True, text=True)
    print(arguments[:1], result.returncode, result.stdout.strip(), result.stderr.strip().split("\n")[-1])


if "--as-child" in sys.argv:
    sys.argv.remove("--as-child")
    main()
else:
    call("add", "write tests", "-p", "1")
    call("add", "drink čaj")
    call("done", "1")
    call("done", "7")
    call("list")
    call("add", "x", "--nonsense")
    print(Path("todo.json").read_text().count("text"))
