# SPDX-License-Identifier: Apache-2.0
"""Which programs a file calls, as far as can be told by reading it: shell scripts, Makefiles, CMake files, Python."""

import ast
import re

BUILTIN = set(""". : [ alias bg break cd command continue echo eval exec exit export false fg getopts hash jobs kill local printf pwd
read readonly return set shift source test times trap true type ulimit umask unalias unset wait declare let mapfile shopt""".split())
KEYWORDS = set("if then else elif fi do done while until ! { }".split())
# What starts another program: its own options go before that.
STARTERS = {"env", "exec", "nice", "command", "time", "sudo", "xargs", "nohup", "ccache"}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*$")
# Of Python: what starts the program that its first argument names.
CALLS = {"run", "Popen", "call", "check_call", "check_output", "run_logged", "which", "execvp"}

TOKEN = re.compile(r"""
    (?P<comment>(?<![^\s;|&(])\#[^\n]*) | (?P<heredoc><<-?\s*(?P<quote>['"]?)(?P<end>\w+)(?P=quote)) |
    (?P<single>'[^']*') | (?P<ansi>\$'(?:\\.|[^'])*') | (?P<escape>\\.) | (?P<open>\$\((?!\()|`) | (?P<arithmetic>\$\(\() |
    (?P<parameter>\$\{) | (?P<double>") | (?P<redirect>\d*[<>]&?-?\|?>?) | (?P<control>;;|&&|\|\||[;&|()\n]) |
    (?P<blank>[ \t]+) | (?P<text>[^\s;&|()<>'"\\$`\#]+|.)""", re.X | re.S)


def _skip_braces(text, at):
    """Where a ${...} that opened before `at` ends."""
    depth = 1
    while at < len(text) and depth:
        if text[at] == "\\":
            at += 1
        depth += {"{": 1, "}": -1}.get(text[at:at + 1], 0)
        at += 1
    return at


def _inside_double(text, at, found):
    """Reads to the end of "..."; what is substituted in it is read too."""
    while at < len(text) and text[at] != '"':
        if text[at] == "\\":
            at += 2
        elif text.startswith("$((", at):
            at = text.find("))", at) + 2
        elif text.startswith("$(", at):
            at = _shell(text, at + 2, found, ")")
        elif text[at] == "`":
            at = _shell(text, at + 1, found, "`")
        elif text.startswith("${", at):
            at = _skip_braces(text, at + 2)
        else:
            at += 1
    return at + 1


class _Words:
    """The words of the command that is being read, and of what it calls."""

    def __init__(self, found):
        self.found, self.word, self.literal = found, "", True
        self.ready, self.cases, self.pattern, self.skip = True, [], False, False

    def end_word(self):
        word, literal, self.word, self.literal = self.word, self.literal, "", True
        if not word or self.skip:
            self.skip = False if word else self.skip
            return
        if self.cases and self.cases[-1] == "subject":
            if word == "in":
                self.cases[-1], self.pattern = "body", True
            return
        if self.pattern:
            if word == "esac":
                self.cases.pop()
                self.pattern, self.ready = False, False
            return
        if not self.ready or re.match(r"[A-Za-z_]\w*\+?=", word):
            return
        if literal and word in KEYWORDS:
            return
        self.ready = False
        if word == "case":
            self.cases.append("subject")
        elif word == "esac" and self.cases:
            self.cases.pop()
        elif literal and word in STARTERS:
            self.found.add(word)
            self.ready = "options"
        elif literal and NAME.match(word) and word not in ("for", "in", "function", "select"):
            self.found.add(word)

    def argument(self):
        """After a starter: options and what they set are not the program."""
        if self.ready == "options" and (self.word.startswith("-") or not self.literal or self.word.isdigit()):
            self.word, self.literal = "", True

    def end_command(self, control):
        self.end_word()
        if control == ";;" and self.cases:
            self.pattern = True
        elif control == ")" and self.pattern:
            self.pattern, self.ready = False, True
            return
        self.ready = not self.pattern


def _shell(text, at, found, until):
    """Reads commands from `at` to the closing `until`; where that is. Adds what is called to `found`."""
    state, heredocs, depth = _Words(found), [], 0
    while at < len(text):
        token = TOKEN.match(text, at)
        kind, at = token.lastgroup if token.lastgroup != "end" else "heredoc", token.end()
        if token["heredoc"]:
            heredocs.append(token["end"])
            continue
        if kind == "open":
            if token[0] == "`" and until == "`":
                state.end_command(";")
                return at
            state.word, state.literal = state.word + "$", False
            at = _shell(text, at, found, ")" if token[0] == "$(" else "`")
        elif kind == "arithmetic":
            at = text.find("))", at) + 2
            state.word, state.literal = state.word + "$", False
        elif kind == "parameter":
            at = _skip_braces(text, at)
            state.word, state.literal = state.word + "$", False
        elif kind == "double":
            at = _inside_double(text, at, found)
            state.word, state.literal = state.word + "$", False
        elif kind in ("single", "ansi"):
            state.word, state.literal = state.word + "$", False
        elif kind == "escape":
            state.word += "" if token[0] == "\\\n" else token[0][1]
        elif kind == "redirect":
            state.argument()
            state.end_word()
            state.skip = not token[0].endswith("-")
        elif kind == "blank":
            state.argument()
            state.end_word()
        elif kind == "control":
            if token[0] == "(" and state.word and state.ready is True:  # a function
                found.discard(state.word)
                found.add("function " + state.word)
                state.word = ""
            depth += {"(": 1}.get(token[0], 0)
            if token[0] == ")" and not state.pattern:
                if until == ")" and depth == 0:
                    state.end_command(";")
                    return at
                depth -= 1
            state.end_command(token[0])
            if token[0] == "\n":
                for end in heredocs:
                    closing = re.compile(rf"^\t*{re.escape(end)}$", re.M).search(text, at)
                    at = closing.end() if closing else len(text)
                heredocs = []
        elif kind == "text":
            state.literal = state.literal and token[0] != "$"
            state.word += token[0]
    state.end_command(";")
    return at


def of_shell(text):
    found = set()
    _shell(text, 0, found, "")
    functions = {name.removeprefix("function ") for name in found if name.startswith("function ")}
    called = {name for name in found if not name.startswith("function ")} - functions - BUILTIN
    # The build machine's compiler is named to a configure script or a Makefile.
    return called | set(re.findall(r"\b(?:CC_FOR_BUILD|BUILD_CC|HOSTCC|BCC|CC)=[\"']?([a-z][\w-]*)", text))


def of_makefile(text):
    """Recipes and variables of commands; $(...) is make's."""
    lines = []
    for line in re.sub(r"\\\n", " ", text).split("\n"):
        if line.startswith("\t"):
            lines.append(line.lstrip("\t@-+"))
        elif found := re.match(r"\w+ *[:?]?= *((?:\{ )?[a-z]\S*/\S* .*|.*&&.*)$", line):
            lines.append(found[1])
    body, before = "\n".join(lines).replace("$$", "\0"), None
    while body != before:
        before, body = body, re.sub(r"\$\(([^()]*)\)", r"${\1}", body)
    return of_shell(body.replace("\0", "$"))


def of_cmake(text):
    text = re.sub(r"(?m)#[^\n]*", "", text)
    found = set(re.findall(r"\bCOMMAND\s+([a-z][\w.+-]*)", text))
    found |= {name for names in re.findall(r"find_program\(\s*\w+\s+(?:NAMES\s+)?([^)]*)\)", text) for name in names.split()
              if NAME.match(name) and not name.isupper()}
    targets = set(re.findall(r"add_executable\(\s*(\w+)", text))
    return found - targets


def of_python(text):
    """The programs that are named where they are started: in a list, or as the argument of shutil.which."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name not in CALLS or not node.args:
            continue
        first = node.args[0]
        if isinstance(first, (ast.List, ast.Tuple)) and first.elts:
            first = first.elts[0]
        elif name not in ("which", "execvp"):
            continue
        if isinstance(first, ast.Constant) and isinstance(first.value, str) and NAME.match(first.value):
            found.add(first.value)
    return found
