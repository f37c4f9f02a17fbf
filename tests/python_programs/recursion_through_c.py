# What recurs through C code goes as deep as programs do natively, in the main thread and in others.
import ast
import collections
import copy
import functools
import json
import pickle
import threading
import xml.etree.ElementTree as trees


@functools.lru_cache(None)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def by_sorted(n):
    return sorted([n], key=lambda _: by_sorted(n - 1)) if n else 0


class Chain:
    def __init__(self, left):
        self.left = left

    def __repr__(self):
        return f"<{Chain(self.left - 1)!r}>" if self.left else ""

    def __eq__(self, other):
        return not self.left or Chain(self.left - 1) == Chain(other.left - 1)


def nested(depth):
    made = []
    for _ in range(depth):
        made = [made]
    return made


class Link:
    __slots__ = ("next",)

    def __init__(self, link):
        self.next = link


def freed(wrap, depth):
    made = None
    for _ in range(depth):
        made = wrap(made)
    del made
    return 1


def all_of_it():
    fibonacci.cache_clear()
    print(fibonacci(450))
    print(by_sorted(150))
    print(len(repr(Chain(240))), Chain(240) == Chain(240))
    print(len(json.dumps(json.loads("[" * 9000 + "]" * 9000))))
    print(pickle.loads(pickle.dumps(nested(800))) == nested(800))
    print(nested(20000) == nested(20000), len(repr(nested(6000))))
    print(len(trees.tostring(trees.fromstring("<a>" * 600 + "</a>" * 600))))
    compile("if a: pass\n" + "elif b: pass\n" * 200, "elif", "exec")
    print(eval("+".join(["1"] * 1000)))
    print(len(ast.dump(ast.parse("a" + ".b()" * 400))))
    print(copy.deepcopy(nested(200)) == nested(200))
    print([freed(wrap, 300000) for wrap in (lambda made: [made], lambda made: (made,), lambda made: {1: made}, Chain, Link, slice, ValueError,
                                            lambda made: functools.partial(print, made), lambda made: collections.deque([made]), property,
                                            lambda made: map(abs, made or []), lambda made: ast.UnaryOp(ast.USub(), made))])
    try:
        json.loads("[" * 300000)
    except RecursionError as error:
        print(str(error)[:20])


all_of_it()
thread = threading.Thread(target=all_of_it)
thread.start()
thread.join()
