# What recurs through C code goes as deep as programs do natively, in the main thread and in others.
import ast
import collections
import copy
import csv
import functools
import itertools
import json
import operator
import pickle
import threading
import types
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


def within(wrap, made, depth):
    for _ in range(depth):
        made = wrap(made)
    return made


def goes_on(generator):
    yield from generator


# What gives the first element of what is within them all.
PLAIN = [
    lambda made: map(abs, made), lambda made: filter(bool, made), itertools.chain, lambda made: itertools.islice(made, 9),
    itertools.accumulate, itertools.cycle, lambda made: map(operator.itemgetter(0), itertools.groupby(made)),
    lambda made: itertools.takewhile(lambda _: True, made), lambda made: itertools.dropwhile(lambda _: False, made),
    lambda made: itertools.filterfalse(lambda _: False, made), lambda made: itertools.compress(made, itertools.repeat(1)),
    lambda made: itertools.tee(made, 1)[0], goes_on,
]
ITERATORS = [
    *PLAIN, zip, enumerate, lambda made: itertools.batched(made, 1), itertools.zip_longest, itertools.groupby,
    lambda made: itertools.starmap(pow, zip(made, made)), lambda made: map(",".join, csv.reader(made)),
]
OTHERS = [
    lambda depth: hash(within(lambda made: (made,), (), depth)),
    lambda depth: hash(within(slice, 1, depth)),
    lambda depth: hash(within(lambda made: list[made], int, depth)),
    lambda depth: within(lambda made: types.GenericAlias(made, int), list, depth)(),
    lambda depth: within(lambda made: types.GenericAlias(made, int), list, depth).append,
    lambda depth: within(lambda made: types.MethodType(made, 1), len, depth).__name__,
    lambda depth: within(staticmethod, abs, depth)(1),
    lambda depth: within(types.MappingProxyType, {1: 2}, depth)[1],
    lambda depth: 1 in within(types.MappingProxyType, {1: 2}, depth),
    lambda depth: len(within(types.MappingProxyType, {1: 2}, depth)),
    lambda depth: within(types.MappingProxyType, {1: 2}, depth) | {},
    lambda depth: isinstance(1, within(lambda made: (made,), str, depth)),
    lambda depth: memoryview(within(pickle.PickleBuffer, b"", depth)),
]


def deep(work):
    """Natively some of it ends the process, and some goes as deep as this."""
    try:
        work()
    except RecursionError:
        pass
    return 1


def goes_on_and_ends(depth):
    made = within(goes_on, iter([1, 2]), depth)
    next(made)
    made.close()


def throws(depth):
    made = within(goes_on, iter([1, 2]), depth)
    next(made)
    try:
        made.throw(KeyError)
    except KeyError:
        pass


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
    print([next(within(wrap, iter([1, 2]), 1000)) for wrap in PLAIN])
    print(sum(deep(lambda: next(within(wrap, iter([1, 2]), 100000))) for wrap in ITERATORS if wrap is not goes_on))
    print(sum(deep(lambda: work(100000)) for work in OTHERS), sum(deep(lambda: work(2000)) for work in (*OTHERS, goes_on_and_ends, throws)))
    try:
        json.loads("[" * 300000)
    except RecursionError as error:
        print(str(error)[:20])


all_of_it()
thread = threading.Thread(target=all_of_it)
thread.start()
thread.join()
