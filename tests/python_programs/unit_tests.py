"""unittest: fixtures, subtests, mocks, skips, expected failures; what a run says."""
import io
import unittest
from unittest import mock


def divide(a, b):
    return a / b


class Service:
    def __init__(self, client):
        self.client = client

    def total(self, keys):
        return sum(self.client.fetch(key) for key in keys)


class TestDivide(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.calls = []

    def setUp(self):
        self.calls.append(self._testMethodName)

    def test_values(self):
        for a, b, expected in ((4, 2, 2), (9, 3, 3), (1, 4, 0.25)):
            with self.subTest(a=a, b=b):
                self.assertEqual(divide(a, b), expected)

    def test_zero(self):
        with self.assertRaisesRegex(ZeroDivisionError, "zero"):
            divide(1, 0)

    @unittest.skip("not here")
    def test_skipped(self):
        self.fail()

    @unittest.expectedFailure
    def test_expected(self):
        self.assertAlmostEqual(0.1 + 0.2, 0.4)

    def test_broken(self):
        self.assertEqual({"a": 1}, {"a": 2})


class TestService(unittest.TestCase):
    def test_mock(self):
        client = mock.Mock()
        client.fetch.side_effect = lambda key: {"x": 2, "y": 3}[key]
        self.assertEqual(Service(client).total("xyx"), 7)
        client.fetch.assert_has_calls([mock.call("x"), mock.call("y")])
        with mock.patch("builtins.open", mock.mock_open(read_data="text")):
            self.assertEqual(open("any").read(), "text")


stream = io.StringIO()
suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(case) for case in (TestDivide, TestService))
result = unittest.TextTestRunner(stream=stream, verbosity=2).run(suite)
lines = [line for line in stream.getvalue().splitlines() if line.startswith(("test_", "FAIL:", "AssertionError"))]
print("\n".join(lines))
print(result.testsRun, len(result.failures), len(result.skipped), len(result.expectedFailures), result.wasSuccessful(), TestDivide.calls)
