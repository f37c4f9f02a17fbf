# packages: sympy networkx scipy
"""Symbols, equations, series; and a graph."""
import networkx as nx
from sympy import Eq, Matrix, Rational, diff, expand, factor, integrate, limit, oo, pi, series, sin, solve, symbols

x, y = symbols("x y")
print(factor(x**3 - 6 * x**2 + 11 * x - 6), expand((x + y) ** 3))
print(diff(sin(x) ** 2, x), integrate(x * sin(x), (x, 0, pi)), limit((1 + 1 / x) ** x, x, oo))
print(solve([Eq(2 * x + y, 5), Eq(x - y, 1)], [x, y]), solve(x**2 - 2, x), series(sin(x), x, 0, 6))
print(Matrix([[2, 1], [1, 3]]).inv(), Rational(1, 3) + Rational(1, 6))
graph = nx.Graph()
graph.add_weighted_edges_from([("a", "b", 4), ("a", "c", 1), ("c", "b", 2), ("b", "d", 5), ("e", "f", 1)])
print(nx.shortest_path(graph, "a", "d", weight="weight"), nx.dijkstra_path_length(graph, "a", "d"))
print(sorted(map(sorted, nx.connected_components(graph))), {n: round(r, 3) for n, r in sorted(nx.pagerank(graph).items())}["b"] > 0.1)
print([sorted(edge[:2]) for edge in sorted(nx.minimum_spanning_tree(graph).edges(data="weight"), key=lambda e: (e[2], sorted(e[:2])))])
print(list(nx.topological_sort(nx.DiGraph([("x", "y"), ("y", "z")]))))
