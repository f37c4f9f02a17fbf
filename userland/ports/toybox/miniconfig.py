"""Prints the options of toybox that bring the commands of port.toml, or with --commands the commands, a line each."""

import sys
import tomllib

# Options that go by another name than their command, and commands that come with another command's option.
OPTION = {"[": "TEST", "nc": "NETCAT"}
# NORECURSE: a tool that starts another one looks along PATH, where the GNU one may stand.
ALWAYS = ("TOYBOX", "TOYBOX_FLOAT", "TOYBOX_HELP", "TOYBOX_HELP_DASHDASH", "TOYBOX_NORECURSE")

with open(sys.argv[-1], "rb") as f:
    commands = tomllib.load(f)["commands"]
if sys.argv[1] == "--commands":
    print("\n".join(commands))
else:
    options = {OPTION.get(name, name.upper()) for name in commands}
    print("\n".join(f"CONFIG_{option}=y" for option in sorted(options.union(ALWAYS))))
