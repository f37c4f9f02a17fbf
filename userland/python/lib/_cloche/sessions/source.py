"""Source text of a session as code: all but its last expression, and that."""
import ast
import keyword

# What an expression may begin with, of the words that are no names.
_BEGINS = frozenset(("None", "True", "False", "not", "lambda", "await"))
_STATEMENTS = frozenset(keyword.kwlist) - _BEGINS
_GOES_ON = frozenset(" \t\n)]}#")  # a line that begins so is no statement's first


def compile_source(text, name, flags=0):
    """Code objects of all but the last expression, and of that; each may be None."""
    return _compiled_apart(text, name, flags) or _compiled_by_tree(text, name, flags)


def _compiled_by_tree(text, name, flags):
    tree = compile(text, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    body = compile(tree, name, "exec", flags, dont_inherit=True) if tree.body else None
    value = compile(ast.Expression(last.value), name, "eval", flags, dont_inherit=True) if last else None
    return body, value


def _compiled_apart(text, name, flags):
    """The same where the last lines are an expression and those before them are whole without it, or where all is one statement;
    otherwise nothing. A tree of objects costs as much as all else that compiling does."""
    if "\r" in text or "\f" in text:  # lines and columns are not what they seem
        return None
    start = _last_line(text)
    last = text[start:]
    is_statement = _is_statement(last)
    if is_statement and (start or not _is_one_statement(text)):
        return None
    try:
        if is_statement:
            return compile(text, name, "exec", flags, dont_inherit=True), None
        value = compile("\n" * text.count("\n", 0, start) + last, name, "eval", flags, dont_inherit=True)
        before = text[:start]
        # Lines that end within brackets or a string are not whole.
        body = compile(before, name, "exec", flags, dont_inherit=True) if _has_code(before) else None
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None  # where it is none the tree says so
    return body, value


def _last_line(text):
    """Where the last line begins that may be a statement's first."""
    end = len(text.rstrip())
    start = text.rfind("\n", 0, end) + 1
    while start and text[start] in _GOES_ON:
        start = text.rfind("\n", 0, start - 1) + 1
    return start


def _is_statement(line):
    """Whether it surely is none that has a value: what the compiler is not asked."""
    equals = line.find("=")
    if equals > 0 and line[equals + 1:equals + 2] != "=" and line[equals - 1] not in "!<>=:" and not 0 <= line.find("(") < equals:
        return True
    word = line.split(None, 1)
    # Blanks before an expression alone would be taken, and before a statement are an error.
    return not word or word[0] in _STATEMENTS or line[0] in " \t"


def _is_one_statement(text):
    """Whether a text of which the last line is the first one surely is a single statement, and none that has a value."""
    words = text.split(None, 1)
    if not words or ";" in text or "\n" in text.rstrip():
        return False
    return words[0] in _STATEMENTS or text.partition("=")[0].strip().isidentifier()


def _has_code(text):
    return any(line and not line.isspace() and not line.lstrip().startswith("#") for line in text.split("\n"))
