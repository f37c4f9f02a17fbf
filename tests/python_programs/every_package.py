# packages: attrs beautifulsoup4 certifi charset-normalizer cloudpickle contourpy cycler defusedxml et-xmlfile fonttools formulaic html5lib idna interface-meta jinja2 joblib kiwisolver lxml markupsafe matplotlib more-itertools mpmath narwhals networkx numpy openpyxl packaging pandas patsy pillow pyparsing pypdf pytest pluggy iniconfig pygments python-dateutil pyyaml regex reportlab requests scikit-learn scipy seaborn six soupsieve statsmodels sympy tabulate threadpoolctl tomli-w toolz tqdm typing-extensions tzdata urllib3 webencodings wrapt xlrd xlsxwriter xmltodict
"""A real use of every package of the registry, some lines each. Numbers are rounded to what all machines agree on."""
import importlib.metadata
import io
import struct
import zlib


def use(name):
    def run(function):
        try:
            print(f"{name}:", function())
        except Exception as error:  # all of them are tried
            print(f"{name}: FAILED {type(error).__name__}: {error}")
        return function
    return run


def rounded(values, digits=6):
    return [round(float(value), digits) + 0.0 for value in values]


@use("attrs")
def _():
    import attr
    import attrs

    @attrs.define
    class Point:
        x: int = attrs.field(converter=int)
        y: int = 2

    return Point("1"), attr.asdict(Point(3)), attrs.evolve(Point(1), y=9) == Point(1, 9)


@use("beautifulsoup4 soupsieve html5lib webencodings lxml")
def _():
    from bs4 import BeautifulSoup
    page = "<ul><li class=a>1<li class=b>2</ul><p>x"
    found = [[tag.text for tag in BeautifulSoup(page, parser).select("li.b, p")] for parser in ("html.parser", "html5lib", "lxml")]
    import webencodings
    return found[1:], webencodings.lookup("latin1").name


@use("certifi idna charset-normalizer urllib3 requests")
def _():
    import certifi
    import charset_normalizer
    import idna
    import requests
    import urllib3
    text = "Où est la bibliothèque où l'été dernier nous avons mangé des crêpes à la crème?"
    prepared = requests.Request("POST", "https://example.org/a b", params={"q": "ä"}, json={"k": [1]}).prepare()
    with open(certifi.where()) as file:
        has_certificates = "BEGIN CERTIFICATE" in file.read()
    return (idna.encode("straße.de"), str(charset_normalizer.from_bytes(text.encode("utf-8")).best()) == text, prepared.url, prepared.body,
            urllib3.util.parse_url("http://u@h:8/p?q#f").port, has_certificates)


@use("cloudpickle joblib threadpoolctl toolz wrapt more-itertools six")
def _():
    import pickle

    import cloudpickle
    import joblib
    import more_itertools
    import six
    import threadpoolctl
    import toolz
    import wrapt
    square = pickle.loads(cloudpickle.dumps(lambda x: x * x))

    @wrapt.decorator
    def twice(wrapped, instance, args, kwargs):
        return wrapped(*args, **kwargs) * 2

    @twice
    def three():
        return 3

    joblib.dump({"a": [1, 2]}, "j.pkl")
    return (square(7), joblib.load("j.pkl"), joblib.hash([1, 2])[:8], joblib.Parallel(n_jobs=1)(joblib.delayed(abs)(i) for i in (-1, 2)),
            toolz.pipe(range(5), toolz.curried.map(square), list), toolz.groupby(len, ["a", "bb", "c"]), three(),
            list(more_itertools.chunked(range(5), 2)), six.ensure_text(b"x"), isinstance(threadpoolctl.threadpool_info(), list))


@use("numpy")
def _():
    import numpy as np
    a = np.arange(12.0).reshape(3, 4)
    values, vectors = np.linalg.eigh(np.array([[2.0, 1.0], [1.0, 3.0]]))
    rng = np.random.default_rng(7)
    np.savez_compressed("n.npz", a=a)
    return (rounded(values), rounded(np.abs(np.fft.rfft([1, 2, 3, 4]))), rng.integers(0, 100, 5).tolist(), rounded(rng.normal(size=3)),
            np.random.RandomState(1).permutation(5).tolist(), float(np.einsum("ij,ij->", a, a)), float(np.load("n.npz")["a"].sum()),
            rounded(np.linalg.lstsq(a[:, :2], a[:, 2], rcond=None)[0]), str(np.datetime64("2024-02-28") + np.timedelta64(2, "D")))


@use("scipy")
def _():
    import numpy as np
    from scipy import integrate, interpolate, linalg, optimize, signal, sparse, spatial, special, stats
    best = optimize.minimize(lambda v: (v[0] - 1) ** 2 + (v[1] + 2) ** 2, [0, 0])
    matrix = sparse.csr_matrix(([1.0, 2.0, 3.0], ([0, 1, 2], [1, 2, 0])))
    solved = integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], rtol=1e-8)
    return (rounded(best.x, 4), rounded([integrate.quad(np.exp, 0, 1)[0], special.gamma(0.5), stats.norm.cdf(1.96), solved.y[0, -1]]),
            rounded(matrix @ np.ones(3)), rounded(stats.ttest_ind([1, 2, 3, 4], [2, 3, 4, 6])), rounded(linalg.expm(np.zeros((2, 2))).ravel()),
            rounded(interpolate.CubicSpline([0, 1, 2, 3], [0, 1, 8, 27])([1.5, 2.5])), rounded(signal.butter(2, 0.3)[0]),
            rounded(spatial.distance.pdist([[0, 0], [3, 4]])), spatial.ConvexHull([[0, 0], [1, 0], [0, 1], [0.1, 0.1]]).vertices.tolist(),
            rounded([optimize.brentq(lambda x: x ** 3 - 2, 0, 2), optimize.linprog([-1, -2], A_ub=[[1, 1]], b_ub=[4]).fun]))


@use("pandas narwhals tzdata python-dateutil")
def _():
    import dateutil.parser
    import narwhals
    import pandas as pd
    frame = pd.DataFrame({"k": ["a", "b", "a"], "v": [1, 2, 3], "t": pd.to_datetime(["2024-01-31", "2024-02-29", "2024-03-31"])})
    narrow = narwhals.from_native(frame).filter(narwhals.col("v") > 1).select("k").to_native()
    monthly = frame.set_index("t")["v"].resample("ME").sum()
    zone = pd.Timestamp("2024-07-01 12:00", tz="Europe/Berlin")
    merged = frame.merge(pd.DataFrame({"k": ["a"], "w": [9]}), how="left", on="k")
    return (frame.groupby("k")["v"].sum().to_dict(), frame.pivot_table(index="k", values="v", aggfunc="mean")["v"].tolist(), monthly.tolist(),
            str(zone.tz_convert("UTC")), merged["w"].fillna(0).tolist(), narrow["k"].tolist(), pd.read_csv(io.StringIO("a,b\n1,x\n2,"))["b"].isna().tolist(),
            frame.to_json(orient="records", date_format="iso")[:40], pd.read_json(io.StringIO('[{"q":1}]'))["q"].tolist(),
            dateutil.parser.parse("3 May 2024 10:00").isoformat(), frame.describe()["v"].round(3).tolist())


@use("openpyxl et-xmlfile xlsxwriter xlrd defusedxml")
def _():
    import defusedxml.ElementTree
    import openpyxl
    import pandas as pd
    import xlrd
    import xlsxwriter
    book = xlsxwriter.Workbook("w.xlsx")
    sheet = book.add_worksheet("S")
    sheet.write_row(0, 0, ["n", "f"])
    sheet.write_row(1, 0, [1, 2.5])
    sheet.write_formula(2, 0, "=A2*2", value=2)
    book.close()
    frame = pd.read_excel("w.xlsx", sheet_name="S")
    frame.to_excel("o.xlsx", index=False, engine="openpyxl")
    own = openpyxl.load_workbook("o.xlsx")
    try:
        xlrd.open_workbook("o.xlsx")
    except xlrd.XLRDError as error:
        refused = str(error)
    return frame.values[0].tolist(), own.active["A2"].value, own.active.title, refused, defusedxml.ElementTree.fromstring("<a><b/></a>")[0].tag


def png_size(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, pixels = 8, b""
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        content = data[at + 8:at + 8 + length]
        assert zlib.crc32(kind + content) == struct.unpack_from(">I", data, at + 8 + length)[0]
        if kind == b"IHDR":
            size = struct.unpack_from(">II", content)
        pixels += content if kind == b"IDAT" else b""
        at += 12 + length
    return size, len(set(zlib.decompress(pixels))) > 2


@use("matplotlib contourpy kiwisolver cycler fonttools seaborn")
def _():
    import contourpy
    import cycler
    import fontTools.ttLib
    import kiwisolver
    import matplotlib
    import matplotlib.pyplot as plt
    import numpy as np
    import pandas as pd
    import seaborn
    from fontTools.pens.svgPathPen import SVGPathPen
    figure, axes = plt.subplots(figsize=(4, 3), dpi=50)
    seaborn.barplot(pd.DataFrame({"x": ["a", "b"], "y": [1, 2]}), x="x", y="y", ax=axes)
    axes.set_title("π²")
    png, svg = io.BytesIO(), io.StringIO()
    figure.savefig(png, format="png")
    figure.savefig(svg, format="svg")
    heights = [float(patch.get_height()) for patch in axes.patches]
    lines = contourpy.contour_generator(z=np.add.outer(np.arange(3.0), np.arange(3.0))).lines(1.5)
    solver, variable = kiwisolver.Solver(), kiwisolver.Variable("v")
    solver.addConstraint(variable >= 3)
    solver.updateVariables()
    font = fontTools.ttLib.TTFont(matplotlib.font_manager.findfont("DejaVu Sans"))
    pen = SVGPathPen(font.getGlyphSet())
    font.getGlyphSet()["I"].draw(pen)
    return (png_size(png.getvalue()), svg.getvalue().count("<path") > 5, "</svg>" in svg.getvalue(), heights, len(lines), variable.value(),
            cycler.cycler(c="rg").by_key(), pen.getCommands()[:12], matplotlib.get_backend().lower())


@use("pillow")
def _():
    from PIL import Image, ImageDraw, ImageFilter, ImageFont
    image = Image.new("RGB", (32, 16), "white")
    ImageDraw.Draw(image).rectangle((4, 4, 12, 12), fill=(255, 0, 0))
    sizes = []
    for kind in ("PNG", "GIF", "BMP", "PPM"):
        data = io.BytesIO()
        image.save(data, kind)
        sizes.append((kind, Image.open(io.BytesIO(data.getvalue())).size))
    return (sizes, image.resize((8, 4)).getpixel((2, 2)), image.filter(ImageFilter.GaussianBlur(1)).getpixel((8, 8)),
            image.convert("L").histogram()[76], ImageFont.load_default().getlength("abc") > 5, image.rotate(90, expand=True).size)


@use("scikit-learn")
def _():
    import numpy as np
    from sklearn import cluster, datasets, decomposition, ensemble, linear_model, metrics, model_selection, pipeline, preprocessing, svm, tree
    x, y = datasets.load_iris(return_X_y=True)
    train_x, test_x, train_y, test_y = model_selection.train_test_split(x, y, random_state=0)
    line = pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression())
    means = cluster.KMeans(3, n_init=3, random_state=0).fit(x)
    return (rounded(linear_model.LinearRegression().fit([[0], [1], [2]], [1, 3, 5]).coef_), round(line.fit(train_x, train_y).score(test_x, test_y), 3),
            np.bincount(means.labels_).tolist(), rounded(decomposition.PCA(2).fit(x).explained_variance_ratio_),
            int(tree.DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, y).get_n_leaves()),
            round(ensemble.RandomForestClassifier(5, random_state=0).fit(train_x, train_y).score(test_x, test_y), 3),
            svm.SVC().fit(train_x, train_y).n_support_.tolist(), metrics.confusion_matrix([0, 1, 1], [0, 1, 0]).tolist())


@use("statsmodels patsy formulaic interface-meta")
def _():
    import formulaic
    import numpy as np
    import pandas as pd
    import patsy
    import statsmodels.api as sm
    import statsmodels.formula.api as smf
    frame = pd.DataFrame({"x": np.arange(6.0), "y": [1.1, 2.9, 5.2, 7.1, 8.8, 11.1]})
    fit = smf.ols("y ~ x", frame).fit()
    return (rounded(fit.params), round(float(fit.rsquared), 6), rounded(sm.tsa.acf(frame["y"], nlags=2)), np.asarray(patsy.dmatrix("x", frame)).shape,
            list(formulaic.model_matrix("x + x**2", frame).columns))


@use("sympy mpmath")
def _():
    import mpmath
    import sympy
    x = sympy.symbols("x")
    return (sympy.integrate(sympy.exp(-x ** 2), (x, -sympy.oo, sympy.oo)), sympy.solve(x ** 2 - 2, x), sympy.factor(x ** 4 - 1),
            sympy.latex(sympy.sqrt(x) / 2), sympy.series(sympy.sin(x), x, 0, 5), mpmath.nstr(mpmath.zeta(3), 15), sympy.factorint(2024),
            sympy.Matrix([[1, 2], [3, 4]]).inv(), sympy.dsolve(sympy.Function("f")(x).diff(x) - 1).rhs)


@use("networkx")
def _():
    import networkx as nx
    graph = nx.karate_club_graph()
    rank = nx.pagerank(graph)
    return (nx.shortest_path(graph, 16, 25), max(rank, key=rank.get), nx.diameter(graph), round(nx.average_clustering(graph), 6),
            list(nx.topological_sort(nx.DiGraph([(1, 2), (2, 3)]))), nx.minimum_spanning_tree(graph).number_of_edges())


@use("pyyaml jinja2 markupsafe tomli-w xmltodict tabulate tqdm regex pyparsing packaging typing-extensions")
def _():
    import jinja2
    import markupsafe
    import packaging.version
    import pyparsing
    import regex
    import tabulate
    import tomli_w
    import tqdm
    import typing_extensions
    import xmltodict
    import yaml
    bar = io.StringIO()
    total = sum(tqdm.tqdm(range(4), file=bar, ascii=True))
    number = pyparsing.Word(pyparsing.nums).set_parse_action(lambda t: int(t[0]))
    return (yaml.safe_load("a: [1, {b: 2.5}]\nc: 2024-01-02"), yaml.dump({"x": [1]}, default_flow_style=True).strip(),
            jinja2.Template("{% for i in n %}{{ i }},{% endfor %}{{ s|upper }}").render(n=[1, 2], s="a"), markupsafe.escape("<&>"),
            tomli_w.dumps({"t": {"k": [1, 2]}}), xmltodict.parse("<a><b>1</b><b>2</b></a>"), tabulate.tabulate([[1, "x"]], ["n", "s"], "github"),
            total, "100%" in bar.getvalue(), regex.findall(r"\p{Lu}(?<=\w)", "aBÇ"), regex.fullmatch(r"(?:cats){e<=1}", "cat") is not None,
            (number + pyparsing.Suppress("+") + number).parse_string("1 + 2").as_list(), packaging.version.parse("1.10") > packaging.version.parse("1.9"),
            typing_extensions.get_type_hints(typing_extensions.TypedDict("T", {"a": int})))


@use("lxml")
def _():
    from lxml import etree, html
    tree = etree.fromstring("<r xmlns:n='u'><n:a i='1'/><n:a i='2'>t</n:a></r>")
    style = etree.XSLT(etree.XML("<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'><xsl:template match='/'>"
                                 "<o><xsl:value-of select='count(//*)'/></o></xsl:template></xsl:stylesheet>"))
    return (tree.xpath("//n:a[@i>1]/text()", namespaces={"n": "u"}), str(style(tree)).split("?>")[-1].strip(),
            html.fromstring("<p>a<br>b").xpath("//p//text()"), etree.tostring(tree[0]))


@use("reportlab pypdf")
def _():
    import pypdf
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen import canvas
    sheet = canvas.Canvas("r.pdf", pagesize=A4)
    for text in ("first page", "second page"):
        sheet.drawString(72, 700, text)
        sheet.showPage()
    sheet.save()
    reader, writer = pypdf.PdfReader("r.pdf"), pypdf.PdfWriter()
    writer.add_page(reader.pages[1])
    writer.write("s.pdf")
    return len(reader.pages), reader.pages[0].extract_text().strip(), pypdf.PdfReader("s.pdf").pages[0].extract_text().strip(), rounded(reader.pages[0].mediabox, 2)


@use("pytest pluggy iniconfig pygments")
def _():
    import contextlib

    import pygments.formatters
    import pygments.lexers
    import pytest
    with open("test_it.py", "w") as file:
        file.write("import pytest\n@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_it(n, tmp_path, capsys):\n"
                   "    print(n)\n    assert capsys.readouterr().out == '2\\n'\n")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = pytest.main(["-q", "-p", "no:cacheprovider", "test_it.py"])
    text = pygments.highlight("def f(): pass", pygments.lexers.PythonLexer(), pygments.formatters.HtmlFormatter(nowrap=True))
    return int(status), "2 failed, 1 passed" in said.getvalue(), "assert '1\\n' == '2\\n'" in said.getvalue(), text.strip()[:40]


with open(__file__) as source:
    names = source.readline().split()[2:]
print(len(names), "packages,", sum(bool(importlib.metadata.version(name)) for name in names), "of them installed")
