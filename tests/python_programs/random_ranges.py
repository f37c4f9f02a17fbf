"""Random numbers of the library with seeds, also of ranges beyond 2^31."""
import pickle
import random
import secrets

EXPRESSIONS = """
r.sample(range(10**12), 3)
r.sample(range(-5, 10**15, 7), k=6)
r.sample(range(10**12, 0, -3), 2)
r.sample([1, 2, 3], 2)
r.sample("abcd", 2, counts=[1, 2**40, 3, 4])
r.sample(range(3), 4)
r.sample(range(10**12), -1)
r.sample({1, 2}, 1)
r.choice(range(10**12))
r.choice(range(2**31 - 1))
r.choice(range(2**31))
r.choice("abc")
r.choice([])
r.choice(range(0))
r.choice(range(5, 10**20, 10**9))
r.choices(range(10**12), k=3)
r.choices("abc", [1, 2, 3], k=4)
r.choices("abc", cum_weights=[1, 2])
r.choices([], k=2)
r.choices("abc", 3)
"""
for expression in EXPRESSIONS.strip().splitlines():
    r = random.Random(5)
    try:
        print(expression, "=", eval(expression))
    except Exception as error:
        print(expression, type(error).__name__, error)
random.seed(1)
print(random.choice(range(10**12)), random.sample(range(10**12), 2), random.choices("ab", k=3))
print(secrets.choice(range(10**12)) < 10**12, random.SystemRandom().sample(range(10**12), 2)[0] < 10**12)


class Own(random.Random):
    def random(self):
        return 0.5


print(Own().choice(range(10**12)), Own().choices("abc", k=2), pickle.loads(pickle.dumps(random.choice)) is not None)
print(random.Random.choice.__qualname__, random.sample.__name__, random.Random.sample.__module__, random.choices.__doc__[:20])
