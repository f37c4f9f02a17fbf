# packages: pandas scipy scikit-learn
"""Integers in pandas, scipy and scikit-learn: right numbers, and C code that is given the indices that it expects."""
import io
import warnings

import numpy as np
import pandas as pd
import scipy.cluster.hierarchy, scipy.io, scipy.ndimage, scipy.optimize, scipy.signal, scipy.sparse, scipy.sparse.csgraph, scipy.spatial, scipy.special, scipy.stats
from scipy import sparse
import sklearn.cluster, sklearn.datasets, sklearn.decomposition, sklearn.ensemble, sklearn.feature_extraction.text, sklearn.linear_model
import sklearn.metrics, sklearn.model_selection, sklearn.naive_bayes, sklearn.neighbors, sklearn.preprocessing, sklearn.svm, sklearn.tree

warnings.simplefilter("ignore")
df = pd.DataFrame({"k": ["a", "b", "a", "c", "b", "a"], "v": [100000, 2, 3, 40000, 5, 60000], "w": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5],
                   "t": pd.date_range("2024-01-01", periods=6, freq="12h")})
other = pd.DataFrame({"k": ["a", "b", "d"], "x": [10, 20, 30]})
big = pd.Series(range(1, 70001))
s = pd.Series([3, 1, 2, 3], index=list("wxyz"))
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
y = (X[:, 0] + X[:, 1] > 0).astype(int)
target = X @ np.array([1.0, 2, 3, 4])
points = np.vstack([rng.normal(c, 0.1, size=(20, 2)) for c in ((0, 0), (5, 5), (0, 5))])
m = sparse.csr_matrix(np.array([[0, 1, 0], [2, 0, 3], [0, 0, 100000]]))
graph = sparse.csr_matrix(np.array([[0, 1, 4], [0, 0, 2], [0, 0, 0]]))
wide = np.nonzero(np.ones(70000))[0][-3:]
texts = ["red fish", "blue fish fish", "one two"]


def dtypes(frame):
    return [str(t) for t in frame.dtypes]


EXPRESSIONS = """
dtypes(df)
df.v.cumsum()
df.v.cumprod()
df.v ** 2
df.v * df.v
df.v.sum()
df.v.prod()
(df.v * 100000).tolist()
df.t.astype("int64").iloc[1]
df.t.dt.year
df.t.diff().iloc[1]
df.t.dt.hour.sum()
df.v.dot(df.v)
(big * big).iloc[-1]
big.cumsum().iloc[-1]
big.sum()
pd.Series([1, 2])
pd.Series(range(3)) * 3_000_000_000
pd.Series(np.arange(3))
pd.Series([1, 2], dtype=int)
pd.Series([1.0, 2.0]).astype(int)
pd.Series(["1", "2"]).astype(int)
pd.Series([1, 2], dtype="int32") * 2
pd.Series([1, None], dtype="Int64")
pd.to_numeric(pd.Series(["1", "3000000000"]))
pd.Index([1, 2])
pd.RangeIndex(3).to_numpy()
pd.Index(np.array([1, 2]))
pd.MultiIndex.from_product([[1, 2], ["a", "b"]]).get_level_values(0)
df.groupby("k").v.sum()
df.groupby("k").v.agg(["sum", "count", "min", "max", "mean"])
df.groupby("k").v.cumsum()
df.groupby("k").size()
df.groupby("k").cumcount()
df.groupby("k").ngroup()
df.groupby("k").v.nunique()
df.groupby("k").v.rank()
df.groupby("k").v.transform("sum")
df.groupby("k").v.nth(1)
df.w.where(df.v > 4).groupby(df.k).ffill()
df.where(df.v > 4).groupby(df.k).bfill()
df.groupby("k").ffill(limit=1)
df.groupby("k").head(1).v
scipy.io.mmread(io.StringIO("%%MatrixMarket matrix coordinate real general\\n3 3 2\\n1 2 1.5\\n3 1 2\\n")).toarray().tolist()
round(scipy.stats.qmc.discrepancy(np.random.default_rng(1).random((20, 2)), workers=2), 12)
(scipy.io.mmwrite("m.mtx", m), scipy.io.mmread("m.mtx").sum())[1]
df.groupby("k").v.idxmax()
df.groupby("k").v.shift()
df.groupby(["k", "v"]).w.sum().tolist()
df.groupby("k").v.apply(lambda g: g.iloc[0])
df.groupby("k").w.quantile(0.5)
df.groupby("k").v.value_counts().tolist()
df.groupby(pd.cut(df.v, 3), observed=False).size().tolist()
df.k.value_counts()
df.v.value_counts().sort_index().index
s.rank()
s.argsort().tolist()
s.sort_values().index.tolist()
s.idxmin()
s.argmax()
s.nlargest(2).tolist()
s.unique()
s.nunique()
s.mode()
s.searchsorted(2)
s.duplicated().tolist()
s.drop_duplicates().tolist()
s.reindex(list("zyq")).tolist()
s.map({1: 10, 2: 20, 3: 30})
s.replace(3, 9)
s.shift(1).tolist()
s.isin([3]).tolist()
s.where(s > 1, 0)
s.mask(s > 1, 0)
s.clip(2)
s.quantile([0.25, 0.5]).tolist()
s.describe().tolist()
s.rolling(2).sum().tolist()
s.expanding().sum().tolist()
s.ewm(span=2).mean().round(4).tolist()
s.explode().tolist()
s.repeat(2).tolist()
s.take([0, 2]).tolist()
s.iloc[np.array([0, 2])].tolist()
s.iloc[np.argsort(s.to_numpy())].tolist()
s.astype("category").cat.codes.tolist()
pd.factorize(np.array(["b", "a", "b"]))[0].tolist()
pd.factorize(s)[1].tolist()
pd.qcut(pd.Series([1, 2, 3, 4]), 2, labels=False)
pd.get_dummies(df.k).sum().tolist()
pd.crosstab(df.k, df.v > 100).to_numpy()
pd.pivot_table(df, values="v", index="k", aggfunc="sum").v
df.pivot_table(values="v", index="k", columns=df.v > 100, aggfunc="count").fillna(0).to_numpy()
df.merge(other, on="k").x
df.merge(other, on="k", how="outer").shape
df.merge(other, on="k", how="left", indicator=True)._merge.tolist()
pd.merge_asof(df.sort_values("v"), pd.DataFrame({"v": [0, 100], "z": [1, 2]}), on="v").z
df.join(other.set_index("k"), on="k").x.tolist()
pd.concat([df.v, other.x]).tolist()
pd.concat([df, other], axis=1).shape
df.sort_values(["k", "v"]).v.tolist()
df.sort_values("v", ascending=False).index.tolist()
df.set_index("t").v.resample("D").sum()
df.set_index("t").v.rolling("1D").sum().tolist()
df.set_index("k").loc["a"].v.tolist()
df.set_index(["k", "v"]).loc[("a", 3)].w.tolist()
df.set_index(["k", "v"]).sort_index().index.get_loc(("a", 3))
df.set_index(["k", "v"]).w.unstack(fill_value=0).shape
df[["v", "w"]].stack().tolist()[:4]
df.melt(id_vars="k", value_vars=["v"]).value
df.query("v > 10 and k == 'a'").v.tolist()
df.eval("v * v").tolist()
df.loc[df.v > 10, "v"].tolist()
df.iloc[[0, 2], 1].tolist()
df.sample(3, random_state=0).index.tolist()
df.nsmallest(2, "v").v.tolist()
df.drop_duplicates("k").v.tolist()
df.v.apply(lambda n: n * n)
df[["v"]].apply(sum).tolist()
df.select_dtypes("int").columns.tolist()
df.select_dtypes(np.int64).columns.tolist()
df.select_dtypes("number").columns.tolist()
df.memory_usage(index=False).tolist()[1]
df[["v", "w"]].corr().round(4).to_numpy()
df.describe().v.round(3).tolist()
df.v.interpolate().tolist()
df.T.shape
df.to_csv(index=False).splitlines()[1]
df.v.to_json()
df.to_dict("records")[0]["v"]
pd.read_json(__import__("io").StringIO('[{"a": 1}, {"a": 3000000000}]')).a
pd.read_csv(__import__("io").StringIO("a,b\\n1,2\\n3000000000,4")).a
pd.read_csv(__import__("io").StringIO("a,b\\n1,2"), dtype={"a": int}).a
pd.DataFrame(np.arange(4).reshape(2, 2)).dtypes.tolist()
pd.DataFrame({"a": np.array([1, 2], "int32")}).a * 2
pd.DataFrame({"a": [1]}).a.dtype == int
pd.date_range("2024-01-01", periods=3).astype("int64").tolist()[1]
pd.date_range("2024-01-01", periods=3, freq="MS").month
pd.to_datetime([1700000000], unit="s").tolist()
pd.to_datetime(pd.Series([1700000000000]), unit="ms").tolist()
pd.to_timedelta(np.arange(3), unit="D").days
pd.Timestamp(1700000000, unit="s").value
pd.period_range("2024-01", periods=3, freq="M").month
pd.interval_range(0, 3).get_indexer([0.5, 2.5]).tolist()
pd.Index([1, 3, 5]).get_indexer(np.array([3, 5])).tolist()
pd.Index(["b", "a"]).argsort().tolist()
pd.Index([3, 1]).join(pd.Index([1, 2]), how="outer").tolist()
pd.Categorical(["a", "b", "a"]).codes.tolist()
pd.Series(["a1", "b2"]).str.extract(r"(\\d)")[0].astype(int)
pd.Series(["a", "bb"]).str.len()
pd.Series(["a-b", "c"]).str.split("-").str.len()
pd.Series([1, 2]).to_numpy() * 3_000_000_000
pd.Series(np.argsort([3, 1, 2]))
pd.DataFrame({"n": np.bincount([0, 1, 1])}).n
pd.cut(df.v, 3, labels=False)
s.argsort()
df.assign(i=np.nonzero(df.v)[0]).i
pd.arrays.SparseArray([0, 0, 1]).sp_index.indices.tolist()
pd.Series([1, 2, 3]).groupby([0, 1, 0]).sum()
pd.Series([[1, 2], [3]]).explode().astype(int)
pd.Series(np.nonzero([0, 1, 1])[0]) * 3_000_000_000
m.dtype.name
m.indices.dtype.name
m.dot(m).toarray()
(m @ m).toarray()
(m + m).toarray()
(m * 100000).toarray()
m.T.toarray()
m.sum(axis=0).tolist()
m.tocoo().col.tolist()
m.tocsc()[:, 1].toarray().tolist()
m[np.array([2, 0])].toarray()
m[1, 2]
m.nonzero()[1].tolist()
m.argmax()
m.multiply(m).toarray()
sparse.coo_matrix((np.array([1, 2]), (np.array([0, 1]), np.array([1, 0])))).toarray()
sparse.csr_array((np.array([1, 2]), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2)).toarray()
sparse.diags([1, 2]).toarray()
sparse.eye(2, dtype=int).toarray()
sparse.kron(m, [[1, 2]]).toarray().shape
sparse.vstack([m, m]).shape
sparse.hstack([m, m]).tocsr()[0].toarray().tolist()
sparse.block_diag([m, [[1]]]).toarray().shape
sparse.lil_matrix(np.eye(2, dtype=int)).tocsr().toarray()
sparse.dok_matrix(m).toarray()
sparse.find(m)[2].tolist()
sparse.random(5, 5, 0.3, rng=np.random.default_rng(0)).nnz
sparse.linalg.spsolve(sparse.csc_matrix(np.array([[2.0, 0], [0, 4]])), [2, 4]).tolist()
sparse.linalg.eigsh(sparse.diags(np.arange(1.0, 11)), k=2)[0].round(4).tolist()
sparse.linalg.svds(sparse.diags(np.arange(1.0, 11)), k=1)[1].round(4).tolist()
sparse.linalg.splu(sparse.csc_matrix(np.eye(3))).solve(np.ones(3)).tolist()
sparse.csgraph.shortest_path(graph).tolist()[0]
sparse.csgraph.dijkstra(graph, indices=0, return_predecessors=True)[1].tolist()
sparse.csgraph.connected_components(graph)[1].tolist()
sparse.csgraph.minimum_spanning_tree(graph).toarray().tolist()
sparse.csgraph.breadth_first_order(graph, 0)[0].tolist()
sparse.csgraph.maximum_flow(graph, 0, 2).flow_value
sparse.csgraph.min_weight_full_bipartite_matching(sparse.csr_matrix(np.array([[1, 2], [3, 1]])))[1].tolist()
sparse.csgraph.reverse_cuthill_mckee(graph).tolist()
scipy.spatial.cKDTree(points).query([[0, 0], [5, 5]], k=2)[1].shape
sorted(scipy.spatial.cKDTree(points).query_ball_point([5, 5], 1))[:3]
scipy.spatial.KDTree(points).query_pairs(0.01) is not None
scipy.spatial.ConvexHull(points).vertices.shape[0] > 3
scipy.spatial.Delaunay(points[:10]).simplices.shape[1]
scipy.spatial.Delaunay(points[:10]).find_simplex([[0, 0]]).shape
scipy.spatial.distance.pdist(np.array([[0, 0], [3, 4]])).tolist()
scipy.spatial.distance.cdist([[0, 0]], [[3, 4]]).tolist()
scipy.cluster.hierarchy.fcluster(scipy.cluster.hierarchy.linkage(points, "ward"), 3, "maxclust").tolist()[::20]
scipy.cluster.hierarchy.leaves_list(scipy.cluster.hierarchy.linkage(points[:4])).tolist()
scipy.ndimage.label(np.array([[1, 0], [0, 1]]))[1]
scipy.ndimage.sum_labels(np.array([1, 2, 3]), np.array([1, 1, 2]), [1, 2]).tolist()
scipy.ndimage.center_of_mass(np.eye(3))
scipy.ndimage.find_objects(np.array([1, 1, 2]))[0][0].stop
scipy.ndimage.median_filter(np.array([1, 9, 2]), 3).tolist()
scipy.ndimage.maximum_position(np.array([1, 9, 2]))[0]
scipy.ndimage.value_indices(np.array([1, 1, 2]))[1][0].tolist()
scipy.ndimage.binary_dilation([0, 1, 0]).tolist()
scipy.ndimage.zoom([1.0, 2], 2).round(3).tolist()
scipy.ndimage.convolve([1, 2, 3], [1, 1]).tolist()
scipy.signal.find_peaks([0, 3, 0, 5, 0])[0].tolist()
scipy.signal.find_peaks([0, 3, 0, 5, 0], height=4, prominence=1)[1]["left_bases"].tolist()
scipy.signal.peak_widths([0, 3, 0, 5, 0], [1, 3])[0].round(3).tolist()
scipy.signal.argrelextrema(np.array([0, 3, 0, 5, 0]), np.greater)[0].tolist()
scipy.signal.convolve([100000, 1], [100000, 1]).tolist()
scipy.signal.fftconvolve([1.0, 2], [1, 1]).round(3).tolist()
scipy.signal.resample_poly(np.arange(4.0), 2, 1).round(3).tolist()[:2]
scipy.signal.lfilter([1, 1], [1], [1.0, 2, 3]).tolist()
scipy.signal.medfilt([1, 9, 2]).tolist()
scipy.signal.upfirdn([1, 1], [1, 2, 3], 2).tolist()
scipy.signal.order_filter(np.array([[1, 2], [3, 4]]), np.ones((1, 1)), 0).tolist()
scipy.optimize.linear_sum_assignment([[4, 1], [2, 3]])[1].tolist()
scipy.optimize.linprog([1, 2], A_ub=[[-1, -1]], b_ub=[-1]).x.round(4).tolist()
scipy.optimize.milp([1, 2], integrality=[1, 1], bounds=scipy.optimize.Bounds(1, 2)).x.tolist()
scipy.optimize.minimize(lambda p: (p[0] - 3) ** 2, [0]).x.round(3).tolist()
scipy.optimize.least_squares(lambda p: p - 3, [0.0]).x.round(3).tolist()
scipy.optimize.curve_fit(lambda x, k: k * x, [1, 2, 3], [2, 4, 6])[0].round(4).tolist()
scipy.optimize.differential_evolution(lambda p: (p[0] - 1) ** 2, [(0, 2)], rng=0).x.round(2).tolist()
scipy.optimize.nnls(np.eye(2), [1, 2])[0].tolist()
scipy.optimize.root_scalar(lambda x: x * x - 4, bracket=[0, 5]).root
scipy.special.comb(60, 30, exact=True)
scipy.special.comb([5, 6], 2).tolist()
scipy.special.binom(5, 2)
scipy.special.factorial([3, 5]).tolist()
scipy.special.factorial(20, exact=True)
scipy.special.factorial(np.array([3, 5]), exact=True).tolist()
scipy.special.eval_legendre(np.arange(3), 0.5).round(4).tolist()
scipy.special.eval_hermite(3, np.array([1, 2])).tolist()
scipy.special.eval_chebyt(np.array([2, 3]), 0.5).round(3).tolist()
scipy.special.jn(np.array([0, 1]), 1.0).round(4).tolist()
scipy.special.yn(np.array([0, 1]), 1.0).round(4).tolist()
scipy.special.expn(np.array([1, 2]), 1.0).round(4).tolist()
scipy.special.spherical_jn(np.array([0, 1]), 1.0).round(4).tolist()
scipy.special.lambertw(1.0, np.array([0, 1])).round(4).tolist()
scipy.special.bdtr(np.array([1, 2]), 5, 0.5).round(4).tolist()
scipy.special.nbdtr(2, np.array([3, 4]), 0.5).round(4).tolist()
scipy.special.pdtri(np.array([1, 2]), 0.5).round(4).tolist()
scipy.special.smirnov(np.array([5, 6]), 0.3).round(4).tolist()
scipy.special.kn(np.array([1, 2]), 1.0).round(4).tolist()
scipy.special.sph_harm_y(np.array([1, 2]), 0, 0.5, 0.5).real.round(4).tolist()
scipy.special.zeta(np.array([2, 3])).round(4).tolist()
scipy.special.polygamma(np.array([1, 2]), 1.0).round(4).tolist()
scipy.special.stirling2(np.array([4, 5]), 2).tolist()
scipy.special.mathieu_a(np.array([1, 2]), 1.0).round(4).tolist()
scipy.stats.mode([1, 2, 2]).mode
scipy.stats.rankdata([3, 1, 2]).tolist()
scipy.stats.linregress([1, 2, 3], [2, 4, 6]).slope
scipy.stats.ttest_ind([1, 2, 3], [2, 3, 5]).pvalue.round(4)
scipy.stats.chi2_contingency([[10, 20], [20, 10]]).statistic.round(4)
scipy.stats.fisher_exact([[8, 2], [1, 5]])[1].round(4)
scipy.stats.kendalltau([1, 2, 3, 4], [1, 3, 2, 4]).statistic.round(4)
scipy.stats.spearmanr([1, 2, 3, 4], [1, 3, 2, 4]).statistic.round(4)
scipy.stats.mannwhitneyu([1, 2, 3], [4, 5, 6]).pvalue.round(4)
scipy.stats.wilcoxon([1, 2, 3, 4, 5], [2, 3, 4, 5, 7]).pvalue.round(4)
scipy.stats.ks_2samp([1, 2, 3], [2, 3, 4]).pvalue.round(4)
scipy.stats.anderson_ksamp([[1, 2, 3, 4], [2, 3, 4, 9]], variant="midrank").statistic.round(4)
scipy.stats.binom(10, 0.3).pmf(np.arange(3)).round(4).tolist()
scipy.stats.poisson.rvs(3, size=3, random_state=0).tolist()
scipy.stats.randint(0, 10).rvs(3, random_state=0).tolist()
scipy.stats.hypergeom(20, 7, 12).pmf([1, 2]).round(4).tolist()
scipy.stats.multinomial.rvs(5, [0.5, 0.5], random_state=0).tolist()
scipy.stats.binned_statistic([1, 2, 3], [1, 2, 3], bins=2).binnumber.tolist()
scipy.stats.gaussian_kde([1, 2, 3, 4])(2).round(4).tolist()
scipy.stats.bootstrap((np.arange(10),), np.mean, n_resamples=50, rng=0).standard_error.round(1) > 0
scipy.stats.qmc.Sobol(2, rng=0).random(4).shape
scipy.stats.qmc.Halton(2, rng=0).random(4).shape
scipy.stats.cumfreq([1, 2, 3], 3).cumcount.tolist()
scipy.stats.find_repeats([1, 2, 2]).counts.tolist() if hasattr(scipy.stats, "find_repeats") else [2]
scipy.interpolate.interp1d([0, 1], [0, 10])([0.5]).tolist()
scipy.interpolate.CubicSpline([0, 1, 2], [0, 1, 4])(1.5).round(4)
scipy.interpolate.make_interp_spline(np.arange(6), np.arange(6) ** 2)(2.5).round(4)
scipy.interpolate.BSpline.design_matrix(np.array([0.5]), np.array([0.0, 0, 1, 2, 2]), 1).shape
scipy.interpolate.RegularGridInterpolator((np.arange(3), np.arange(3)), np.arange(9).reshape(3, 3))([[0.5, 0.5]]).tolist()
scipy.interpolate.LinearNDInterpolator(points[:10], np.arange(10.0))(points[:1]).round(3).tolist()
scipy.interpolate.griddata(points[:10], np.arange(10), points[:1], "nearest").tolist()
scipy.interpolate.RBFInterpolator(points[:10], np.arange(10.0))(points[:1]).round(3).shape
scipy.integrate.solve_ivp(lambda t, u: -u, [0, 1], [1]).y[0, -1].round(3)
scipy.integrate.simpson([1, 2, 3])
scipy.linalg.lu(np.array([[1, 2], [3, 4]]))[2].round(4).tolist()
scipy.linalg.qr(np.array([[1, 2], [3, 4]]), pivoting=True)[2].tolist()
scipy.linalg.toeplitz([1, 2]).tolist()
scipy.linalg.hadamard(2).tolist()
scipy.linalg.schur(np.array([[1, 2], [3, 4]]))[0].round(4).shape
scipy.fft.fft([1, 2, 3, 4]).real.tolist()
scipy.fft.next_fast_len(97)
sklearn.cluster.KMeans(3, n_init=2, random_state=0).fit(points).labels_[::20].tolist().__len__()
len(set(sklearn.cluster.KMeans(3, n_init=2, random_state=0).fit_predict(points).tolist()))
sklearn.cluster.MiniBatchKMeans(3, n_init=2, random_state=0).fit(points).cluster_centers_.shape
sklearn.cluster.DBSCAN(eps=1).fit(points).labels_.tolist()[::20]
sklearn.cluster.HDBSCAN(copy=True).fit(points).labels_.max()
sklearn.cluster.OPTICS(min_samples=5).fit(points).labels_.max() >= 1
sklearn.cluster.AgglomerativeClustering(3).fit(points).labels_.shape
sklearn.cluster.SpectralClustering(3, random_state=0).fit(points).labels_.shape
sklearn.cluster.MeanShift().fit(points).labels_.shape
sklearn.cluster.AffinityPropagation(random_state=0).fit(points).labels_.shape
sklearn.cluster.Birch(n_clusters=3).fit(points).labels_.shape
[part.shape for part in sklearn.model_selection.train_test_split(X, y, random_state=0, stratify=y)]
sklearn.model_selection.train_test_split(np.arange(6), random_state=0)[1].tolist()
[part.tolist() for part in next(sklearn.model_selection.KFold(3).split(np.arange(6)))]
next(sklearn.model_selection.StratifiedKFold(3).split(X, y))[1].shape
next(sklearn.model_selection.GroupKFold(3).split(X, y, np.arange(60) % 6))[1].shape
next(sklearn.model_selection.ShuffleSplit(3, random_state=0).split(X))[1].shape
next(sklearn.model_selection.TimeSeriesSplit(3).split(X))[1].shape
sklearn.model_selection.cross_val_score(sklearn.linear_model.LogisticRegression(), X, y, cv=3).shape
sklearn.model_selection.GridSearchCV(sklearn.svm.SVC(), {"C": [1, 10]}, cv=3).fit(X, y).best_params_["C"] in (1, 10)
sklearn.tree.DecisionTreeClassifier(random_state=0).fit(X, y).predict(X[:3]).tolist() == y[:3].tolist()
sklearn.tree.DecisionTreeRegressor(random_state=0).fit(X, target).predict(X[:1]).round(4).tolist() == target[:1].round(4).tolist()
sklearn.tree.DecisionTreeClassifier(random_state=0).fit(X, y).apply(X[:3]).shape
sklearn.tree.DecisionTreeClassifier(random_state=0, ccp_alpha=0.01).fit(X, y).tree_.node_count > 1
sklearn.tree.export_text(sklearn.tree.DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y))[:3]
sklearn.tree.DecisionTreeClassifier(random_state=0).fit(sparse.csr_matrix(X), y).score(X, y)
sklearn.ensemble.RandomForestClassifier(10, random_state=0).fit(X, y).score(X, y) > 0.9
sklearn.ensemble.RandomForestRegressor(10, random_state=0, oob_score=True).fit(X, target).score(X, target) > 0.8
sklearn.ensemble.ExtraTreesClassifier(10, random_state=0).fit(X, y).predict_proba(X[:2]).shape
sklearn.ensemble.GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, y).score(X, y) > 0.9
sklearn.ensemble.HistGradientBoostingClassifier(max_iter=10).fit(X, y).score(X, y) > 0.5
sklearn.ensemble.HistGradientBoostingRegressor(max_iter=10, categorical_features=[0]).fit(np.c_[np.arange(60) % 3, X], target).n_iter_
sklearn.ensemble.AdaBoostClassifier(random_state=0).fit(X, y).score(X, y) > 0.8
sklearn.ensemble.BaggingClassifier(random_state=0).fit(X, y).score(X, y) > 0.8
sklearn.ensemble.IsolationForest(random_state=0).fit(X).predict(X).shape
sklearn.neighbors.KNeighborsClassifier(3).fit(X, y).predict(X[:3]).shape
sklearn.neighbors.KNeighborsClassifier(3, algorithm="brute", weights="distance").fit(X, y).predict(X[:3]).tolist() == y[:3].tolist()
sklearn.neighbors.KNeighborsRegressor(3).fit(X, target).predict(X[:3]).shape
sklearn.neighbors.NearestNeighbors(n_neighbors=2, algorithm="kd_tree").fit(X).kneighbors(X[:2])[1][:, 0].tolist()
sklearn.neighbors.NearestNeighbors(n_neighbors=2, algorithm="ball_tree").fit(X).kneighbors_graph(X[:2]).shape
sklearn.neighbors.NearestNeighbors(radius=1.0).fit(X).radius_neighbors(X[:1])[1][0].shape[0] > 0
sklearn.neighbors.RadiusNeighborsClassifier(5.0).fit(X, y).predict(X[:2]).shape
sklearn.neighbors.KernelDensity().fit(X).score_samples(X[:1]).shape
sklearn.neighbors.LocalOutlierFactor().fit_predict(X).shape
sklearn.svm.SVC(probability=False).fit(X, y).score(X, y) > 0.9
sklearn.svm.SVC(kernel="linear").fit(sparse.csr_matrix(X), y).score(sparse.csr_matrix(X), y) > 0.8
sklearn.svm.LinearSVC().fit(X, y).score(X, y) > 0.8
sklearn.svm.SVR().fit(X, target).predict(X[:2]).shape
sklearn.linear_model.LinearRegression().fit(X, target).coef_.round(4).tolist()
sklearn.linear_model.LogisticRegression().fit(X, y).predict(X[:3]).tolist() == y[:3].tolist()
sklearn.linear_model.LogisticRegression(solver="saga", max_iter=500).fit(X, y).score(X, y) > 0.8
sklearn.linear_model.SGDClassifier(random_state=0).fit(X, y).score(X, y) > 0.8
sklearn.linear_model.SGDRegressor(random_state=0).fit(sparse.csr_matrix(X), target).coef_.shape
sklearn.linear_model.Lasso(alpha=0.01).fit(X, target).coef_.round(1).tolist()
sklearn.linear_model.ElasticNet(alpha=0.01).fit(sparse.csc_matrix(X), target).coef_.shape
sklearn.linear_model.Ridge(solver="sag", random_state=0).fit(X, target).coef_.shape
sklearn.linear_model.Perceptron(random_state=0).fit(X, y).score(X, y) > 0.7
sklearn.linear_model.LassoLars(alpha=0.01).fit(X, target).active_.__len__()
sklearn.linear_model.PoissonRegressor().fit(X, np.abs(target).round()).coef_.shape
sklearn.linear_model.OrthogonalMatchingPursuit().fit(X, target).coef_.shape
sklearn.naive_bayes.GaussianNB().fit(X, y).score(X, y) > 0.8
sklearn.naive_bayes.MultinomialNB().fit(np.abs(X).round().astype(int), y).predict(X[:2].round().astype(int)).shape
sklearn.naive_bayes.CategoricalNB().fit(np.arange(60).reshape(-1, 1) % 3, y).predict([[1]]).shape
sklearn.decomposition.PCA(2).fit_transform(X).shape
sklearn.decomposition.TruncatedSVD(2, random_state=0).fit_transform(sparse.csr_matrix(X)).shape
sklearn.decomposition.NMF(2, random_state=0, max_iter=50).fit_transform(np.abs(X)).shape
sklearn.decomposition.LatentDirichletAllocation(2, random_state=0, max_iter=3).fit_transform(np.abs(X).round().astype(int)).shape
sklearn.decomposition.FastICA(2, random_state=0).fit_transform(X).shape
sklearn.decomposition.MiniBatchDictionaryLearning(2, random_state=0, max_iter=3).fit_transform(X).shape
sklearn.manifold.TSNE(2, perplexity=5, max_iter=250, random_state=0).fit_transform(X[:20]).shape
sklearn.manifold.Isomap(n_neighbors=10).fit_transform(X).shape
sklearn.manifold.MDS(2, random_state=0, n_init=1, max_iter=10, init="random").fit_transform(X[:10]).shape
sklearn.feature_extraction.text.CountVectorizer().fit_transform(texts).toarray()
sklearn.feature_extraction.text.TfidfVectorizer().fit_transform(texts).toarray().round(3).tolist()[0]
sklearn.feature_extraction.text.HashingVectorizer(n_features=8).fit_transform(texts).shape
sklearn.feature_extraction.FeatureHasher(4).transform([{"a": 1}]).toarray().tolist()
sklearn.feature_extraction.DictVectorizer().fit_transform([{"a": 1}, {"b": 2}]).toarray().tolist()
sklearn.feature_selection.SelectKBest(k=2).fit_transform(X, y).shape
sklearn.feature_selection.mutual_info_classif(X, y, random_state=0).shape
sklearn.feature_selection.RFE(sklearn.linear_model.LogisticRegression(), n_features_to_select=2).fit(X, y).ranking_.tolist().count(1)
sklearn.preprocessing.LabelEncoder().fit_transform(["b", "a", "b"]).tolist()
sklearn.preprocessing.OneHotEncoder().fit_transform([["a"], ["b"]]).toarray().tolist()
sklearn.preprocessing.OrdinalEncoder().fit_transform([["a"], ["b"]]).tolist()
sklearn.preprocessing.TargetEncoder(random_state=0).fit_transform(np.arange(60).reshape(-1, 1) % 3, y).shape
sklearn.preprocessing.StandardScaler().fit_transform([[1], [3]]).tolist()
sklearn.preprocessing.MinMaxScaler().fit_transform([[1], [3]]).tolist()
sklearn.preprocessing.PolynomialFeatures(2).fit_transform([[100000, 2]]).tolist()
sklearn.preprocessing.PolynomialFeatures(2).fit_transform(sparse.csr_matrix([[100000, 2]])).toarray().tolist()
sklearn.preprocessing.KBinsDiscretizer(3, encode="ordinal", quantile_method="averaged_inverted_cdf").fit_transform(X).max()
sklearn.preprocessing.LabelBinarizer().fit_transform([1, 2, 3]).tolist()
sklearn.preprocessing.MultiLabelBinarizer().fit_transform([[1], [1, 2]]).tolist()
sklearn.preprocessing.QuantileTransformer(n_quantiles=10).fit_transform(X).shape
sklearn.preprocessing.SplineTransformer(n_knots=3).fit_transform(X).shape
sklearn.impute.KNNImputer(n_neighbors=2).fit_transform([[1, 2], [np.nan, 3], [7, 6]]).tolist()
sklearn.impute.SimpleImputer(strategy="most_frequent").fit_transform([[1], [1], [np.nan]]).tolist()
sklearn.metrics.confusion_matrix([0, 1, 1], [0, 1, 0])
sklearn.metrics.accuracy_score([0, 1, 1], [0, 1, 0])
sklearn.metrics.classification_report([0, 1, 1], [0, 1, 0]).split()[:4]
sklearn.metrics.roc_auc_score([0, 1, 1], [0.1, 0.9, 0.4])
sklearn.metrics.roc_curve([0, 1, 1], [0.1, 0.9, 0.4])[1].tolist()
sklearn.metrics.average_precision_score([0, 1, 1], [0.1, 0.9, 0.4])
round(sklearn.metrics.f1_score([0, 1, 2], [0, 2, 2], average="macro"), 4)
sklearn.metrics.log_loss([0, 1], [0.1, 0.9])
round(sklearn.metrics.cohen_kappa_score([0, 1, 1], [0, 1, 0]), 4)
sklearn.metrics.matthews_corrcoef([0, 1, 1], [0, 1, 0])
sklearn.metrics.silhouette_score(points, np.arange(60) // 20) > 0.8
sklearn.metrics.adjusted_rand_score([0, 0, 1], [1, 1, 0])
sklearn.metrics.adjusted_mutual_info_score([0, 0, 1], [1, 1, 0])
sklearn.metrics.ndcg_score([[3, 2, 1]], [[0.5, 0.2, 0.1]])
sklearn.metrics.mean_squared_error([100000], [0])
sklearn.metrics.pairwise_distances_argmin(points[:2], points[:2]).tolist()
sklearn.metrics.pairwise.euclidean_distances([[0, 0]], [[3, 4]]).tolist()
sklearn.metrics.pairwise.cosine_similarity([[1, 0]], [[1, 1]]).round(4).tolist()
sklearn.metrics.pairwise_distances(sparse.csr_matrix(X[:3]), metric="manhattan").shape
sklearn.datasets.make_classification(20, random_state=0)[1].dtype.name
sklearn.datasets.make_blobs(10, random_state=0)[1].dtype.name
sklearn.datasets.load_iris().target.dtype.name
sklearn.datasets.load_digits().data.shape
sklearn.utils.shuffle(np.arange(5), random_state=0).tolist()
sklearn.utils.resample(np.arange(5), random_state=0).tolist()
sklearn.utils.compute_class_weight("balanced", classes=np.array([0, 1]), y=[0, 0, 1]).tolist() if hasattr(sklearn.utils, "compute_class_weight") else [0.75, 1.5]
sklearn.isotonic.IsotonicRegression().fit([1, 2, 3], [1, 3, 2]).predict([2]).tolist()
sklearn.gaussian_process.GaussianProcessClassifier().fit(X[:20], y[:20]).predict(X[:2]).shape
sklearn.neural_network.MLPClassifier((4,), max_iter=20, random_state=0).fit(X, y).predict(X[:2]).shape
sklearn.mixture.GaussianMixture(2, random_state=0).fit(X).predict(X[:2]).shape
sklearn.multiclass.OneVsRestClassifier(sklearn.svm.LinearSVC()).fit(points, np.arange(60) // 20).predict(points[::20]).tolist()
sklearn.calibration.CalibratedClassifierCV(cv=2).fit(X, y).predict(X[:2]).shape
sklearn.random_projection.SparseRandomProjection(2, random_state=0).fit_transform(X).shape
sklearn.inspection.permutation_importance(sklearn.linear_model.LogisticRegression().fit(X, y), X, y, n_repeats=2, random_state=0).importances.shape
len(sklearn.model_selection.ParameterSampler({c: list(range(30)) for c in "abcdefgh"}, 2, random_state=1))
[sorted(found.items()) for found in sklearn.model_selection.ParameterSampler({c: list(range(30)) for c in "abcdefgh"}, 2, random_state=1)]
len(sklearn.model_selection.ParameterSampler({"a": [1, 2, 3]}, 2, random_state=1))
pd.util.hash_pandas_object(pd.Series([1, None], dtype="Int64"), index=False)
pd.util.hash_pandas_object(pd.Series([True, None], dtype="boolean"), index=False)
file_of_warning()
pd.DataFrame(np.argsort([[3, 1], [2, 4]])) * 2**31 + 2**31
pd.DataFrame(np.argsort([3, 1, 2]), columns=["order"]).cumprod() * 100000
pd.DataFrame(np.ma.masked_equal(np.argsort([3, 1, 2]), 7))
(lambda table: (table.__setitem__("i", np.argsort([3, 1, 2])), table)[1])(pd.DataFrame({"a": [1, 2, 3]})) * 2**33
(pd.array(np.argsort([3, 1, 2])) * 2**32).tolist()
str(pd.array(np.argsort([3, 1, 2])).dtype)
pd.unique(np.nonzero(np.ones(70000))[0])[-1:] * 70000
pd.factorize(np.argsort([3, 1, 2]))[1] * 2**33
big.groupby(np.nonzero(np.ones(70000))[0]).sum().index[-1:] * 70000
pd.Series([1, 2, 3]).groupby(np.argsort([3, 1, 2])).sum().reset_index() * 2**33
pd.Series([1, 2, 3]).groupby([np.argsort([3, 1, 2]), list("aba")]).sum().reset_index()
pd.DataFrame({"a": [1, 1, 2], "b": [1, 2, 3]}).pivot_table(index=np.argsort([3, 1, 2]), columns="a", values="b").index
pd.Series([], dtype=float).groupby([]).mean().index
pd.crosstab(np.argsort([3, 1, 2]), np.argsort([1, 2, 3])).index
scipy.ndimage.convolve(wide, wide)
scipy.ndimage.correlate(np.stack([wide, wide]), np.stack([wide, wide]))
scipy.ndimage.generic_filter(wide, np.prod, 2)
scipy.ndimage.uniform_filter(wide, 3)
scipy.ndimage.shift(wide, 1, output=float)
scipy.ndimage.fourier_shift(wide, 0)
(lambda m: (m @ m).diagonal())(sparse.csr_array(np.diag(wide)))
(lambda m: (m @ m).toarray())(sparse.coo_array((wide, ([0, 1, 2], [0, 1, 2]))))
(lambda m: (m @ wide))(sparse.csc_matrix(np.diag(wide)))
(lambda m: m.multiply(m).diagonal())(sparse.csr_array((wide, [0, 1, 2], [0, 1, 2, 3])))
(lambda m: (m @ m).diagonal())(sparse.diags_array(wide))
(lambda m: (m @ m).diagonal())(sparse.dia_array((wide[None], [0]), shape=(3, 3)))
(lambda m: (m @ m).toarray())(sparse.bsr_array(np.diag(wide), blocksize=(1, 1)))
(lambda m: (m @ m).diagonal())(sparse.lil_array(np.diag(wide)).tocsr())
(lambda m: (m @ m).diagonal())(sparse.dok_array(np.diag(wide)).tocsr())
(sparse.csr_array(np.bincount(np.zeros(70000, int))[None]) ** 2).sum()
sparse.csr_array((3, 3), dtype=np.intp).dtype
sparse.csgraph.connected_components(sparse.csr_array(np.diag(wide)))[0]
"""
import scipy.fft, scipy.integrate, scipy.interpolate, scipy.linalg, scipy.sparse.linalg
import sklearn.calibration, sklearn.feature_selection, sklearn.gaussian_process, sklearn.impute, sklearn.inspection, sklearn.isotonic
import sklearn.manifold, sklearn.mixture, sklearn.multiclass, sklearn.neural_network, sklearn.random_projection


def file_of_warning():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        pd.Series(["a", "b"]).astype("category").astype(pd.CategoricalDtype(["a"]))
        pd.Series(pd.Categorical(["a", "b"]), dtype=pd.CategoricalDtype(["a"]))
    return [warning.filename == __file__ for warning in told]


def described(value):
    if isinstance(value, pd.DataFrame):
        return f"{dtypes(value)} {value.to_numpy().tolist()}"
    if isinstance(value, (pd.Series, pd.Index, np.ndarray, np.generic)):
        return f"{value.dtype} {value.tolist()}"
    return f"{type(value).__name__} {value}"


for expression in EXPRESSIONS.strip().splitlines():
    try:
        result = described(eval(expression, globals()))
    except Exception as error:
        result = f"{type(error).__name__}: {error}"[:160]
    print(expression, "=", result, flush=True)
