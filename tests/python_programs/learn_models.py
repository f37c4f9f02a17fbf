# packages: scikit-learn
"""Regression, classification, clusters, components: scores on data that is made on the spot."""
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

rng = np.random.default_rng(0)
x = rng.normal(size=(200, 3))
y = x @ [2.0, -1.0, 0.0] + 3 + rng.normal(scale=0.01, size=200)
model = LinearRegression().fit(x, y)
print(model.coef_.round(1).tolist(), round(float(model.intercept_), 1), model.score(x, y) > 0.999)
labels = (x[:, 0] + x[:, 1] > 0).astype(int)
train_x, test_x, train_y, test_y = train_test_split(x, labels, test_size=0.25, random_state=1)
print(train_x.shape, test_x.shape)
for classifier in (LogisticRegression(), DecisionTreeClassifier(random_state=0), make_pipeline(StandardScaler(), LogisticRegression())):
    predicted = classifier.fit(train_x, train_y).predict(test_x)
    print(type(classifier).__name__, accuracy_score(test_y, predicted) > 0.8, confusion_matrix(test_y, predicted).sum())
points = np.concatenate([rng.normal(c, 0.1, size=(30, 2)) for c in ((0, 0), (5, 5), (0, 5))])
clusters = KMeans(n_clusters=3, n_init=3, random_state=0).fit(points)
print(sorted(np.bincount(clusters.labels_).tolist()), np.sort(clusters.cluster_centers_.round(), axis=0).tolist())
print(PCA(n_components=2).fit(points).explained_variance_ratio_.sum().round(3), cross_val_score(LogisticRegression(), x, labels, cv=4).mean() > 0.9)
