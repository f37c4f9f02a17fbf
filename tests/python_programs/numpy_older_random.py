# packages: numpy
"""Random numbers of `RandomState` and of numpy.random's functions: 64-bit integers, also those beyond 32 bits, with the seeds of Linux."""
import numpy as np

EXPRESSIONS = """
poisson(3, 4)
poisson(1e10, 3)
poisson(1e15, 2)
poisson([1, 1e12])
poisson(1e19)
geometric(0.01, 5)
geometric(0.5, 5)
geometric(1e-10, 5)
geometric(1e-18, 3)
negative_binomial(5, 0.3, 4)
negative_binomial(2**33, 0.2, 2)
logseries(0.6, 5)
logseries(0.99999999999, 5)
zipf(2.0, 6)
zipf(1.1, 9)
zipf(1.02, 12)
hypergeometric(10, 20, 5, 4)
binomial(10, 0.3, 5)
binomial([10, 20], 0.5)
binomial(10, 0.5)
multinomial(20, [0.2, 0.3, 0.5])
multinomial(20, [0.2, 0.8], size=2)
permutation(6)
permutation(np.arange(6).reshape(3, 2))
permutation([2.5, 1.5])
permutation(np.nonzero([1, 0, 1, 1])[0])
choice(10, 4)
choice(10, 4, replace=False)
choice(10, 4, p=np.arange(10) / 45)
choice(10, 4, replace=False, p=np.arange(10) / 45)
choice(10)
choice(["a", "b"], 3)
choice(2**33, 3)
randint(2**40, size=3)
randint(5, size=3)
tomaxint(2)
tomaxint()
permutation(100000)[:3] ** 2
poisson(5, 3) + 3_000_000_000
"""


def described(value):
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.tolist()}"
    return f"{type(value).__name__} {value}"


for expression in EXPRESSIONS.strip().splitlines():
    random = np.random.RandomState(7)
    try:
        print(expression, "=", described(eval("random." + expression)), random.randint(1000))
    except Exception as error:
        print(expression, type(error).__name__, error)
np.random.seed(3)
print(np.random.geometric(1e-12, 2).tolist(), np.random.permutation(4).dtype, np.random.binomial(9, 0.5, 2).dtype)
kept = np.random.RandomState(1)
for _ in range(50000):
    kept.permutation(3)
    kept.binomial(3, 0.5, 2)
print(kept.permutation(5).tolist())
