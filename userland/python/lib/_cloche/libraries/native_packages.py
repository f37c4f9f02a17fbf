"""Packages that agents ask for and that need native code of their own: what there is here in their place."""

_INSTEAD = {
    "scikit-learn or numpy": "torch torchvision torchaudio tensorflow:tensorflow keras onnxruntime",
    "numpy or scipy": "jax jaxlib numba numexpr bottleneck cupy",
    "the gradient boosting of scikit-learn": "xgboost lightgbm catboost",
    "nltk or scikit-learn": "transformers tokenizers sentencepiece spacy gensim sentence-transformers:sentence_transformers",
    "pandas": "polars datasets vaex modin",
    "rapidfuzz": "levenshtein:Levenshtein",
    "black, flake8 or pylint": "ruff",
    "scipy.optimize": "cvxpy ortools",
    "numpy.savez": "zarr numcodecs",
    "httpx or requests": "curl-cffi:curl_cffi",
    "hashlib.scrypt": "argon2-cffi:argon2 argon2-cffi-bindings:_argon2_cffi_bindings",
    "sockets or multiprocessing": "pyzmq:zmq",
    "pillow or matplotlib": "wordcloud cairosvg cairocffi",
    "pandas with CSV, JSON or SQLite": "pyarrow fastparquet h5py tables netcdf4:netCDF4",
    "sqlite3 or pandas": "duckdb psycopg2 psycopg2-binary:psycopg2 asyncpg mysqlclient:MySQLdb",
    "pillow or scipy.ndimage": "opencv-python:cv2 opencv-python-headless:cv2 opencv-contrib-python:cv2 scikit-image:skimage",
    "requests and beautifulsoup4": "playwright pyppeteer",
    "pydantic": "msgspec",
    "orjson": "ujson python-rapidjson:rapidjson",
    "ormsgpack or json": "msgpack",
    "httpx": "grpcio:grpc",
    "asyncio or threads": "gevent greenlet uvloop",
    "cryptography": "pycryptodome:Crypto pynacl:nacl pyopenssl:OpenSSL",
    "pypdf or reportlab": "pymupdf:fitz weasyprint",
    "folium": "shapely geopandas fiona rasterio pyproj",
    "zlib, bz2, lzma or zstandard": "brotli lz4",
    "os and resource": "psutil",
    "fig.write_html of plotly": "kaleido",
}
BY_DISTRIBUTION, BY_IMPORT = {}, {}
for _instead, _names in _INSTEAD.items():
    for _name in _names.split():
        _distribution, _, _module = _name.partition(":")
        BY_DISTRIBUTION[_distribution] = BY_IMPORT[_module or _distribution] = _instead


def sentence(name, instead):
    """What is told about one of them."""
    return (f"{name} needs native code, which this Python cannot load: use {instead} here, or a sandbox of the linux engine, "
            "where pip install has it.")
