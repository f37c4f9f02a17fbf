"""Which top-level names of the wheel's zip belong to which distribution; every other name is the standard library."""

TOP_LEVEL = {
    "attrs": ["attr", "attrs"],
    "beautifulsoup4": ["bs4"],
    "charset-normalizer": ["charset_normalizer"],
    "cloudpickle": ["cloudpickle"],
    "contourpy": ["contourpy"],
    "cycler": ["cycler"],
    "defusedxml": ["defusedxml"],
    "et-xmlfile": ["et_xmlfile"],
    "fonttools": ["fontTools"],
    "formulaic": ["formulaic"],
    "html5lib": ["html5lib"],
    "interface-meta": ["interface_meta"],
    "jinja2": ["jinja2"],
    "joblib": ["joblib"],
    "kiwisolver": ["kiwisolver"],
    "lxml": ["lxml"],
    "markupsafe": ["markupsafe"],
    "matplotlib": ["matplotlib", "mpl_toolkits", "pylab"],
    "more-itertools": ["more_itertools"],
    "mpmath": ["mpmath"],
    "narwhals": ["narwhals"],
    "networkx": ["networkx"],
    "numpy": ["numpy"],
    "openpyxl": ["openpyxl"],
    "packaging": ["packaging"],
    "pandas": ["pandas"],
    "patsy": ["patsy"],
    "pillow": ["PIL"],
    "pyparsing": ["pyparsing"],
    "pypdf": ["pypdf"],
    "python-dateutil": ["dateutil"],
    "pyyaml": ["yaml"],
    "regex": ["regex"],
    "reportlab": ["reportlab", "reportlab_mods", "reportlab_settings"],
    "scikit-learn": ["sklearn"],
    "scipy": ["scipy"],
    "seaborn": ["seaborn"],
    "six": ["six"],
    "soupsieve": ["soupsieve"],
    "statsmodels": ["statsmodels"],
    "sympy": ["sympy", "isympy"],
    "tabulate": ["tabulate"],
    "threadpoolctl": ["threadpoolctl"],
    "tomli-w": ["tomli_w"],
    "toolz": ["toolz", "tlz"],
    "tqdm": ["tqdm"],
    "typing-extensions": ["typing_extensions"],
    "tzdata": ["tzdata"],
    "webencodings": ["webencodings"],
    "wrapt": ["wrapt"],
    "xlrd": ["xlrd"],
    "xlsxwriter": ["xlsxwriter"],
    "xmltodict": ["xmltodict"],
}

# What the boot image of a sandbox with the package has imported: what programs start with, and what takes long to import.
PRELOAD = {
    "altair": "altair", "beautifulsoup4": "bs4", "faker": "faker", "flask": "flask", "httpx": "httpx", "matplotlib": "matplotlib.pyplot matplotlib.backends.backend_agg", "numpy": "numpy", "nltk": "nltk", "openpyxl": "openpyxl", "pandas": "pandas",
    "pillow": "PIL.Image PIL.ImageDraw PIL.ImageFont", "plotly": "plotly.express", "pytest": "pytest", "requests": "requests", "scikit-learn": "sklearn.linear_model sklearn.model_selection", "scipy": "scipy.stats",
    "seaborn": "seaborn", "sympy": "sympy", "networkx": "networkx", "sqlalchemy": "sqlalchemy.orm",
    "statsmodels": "statsmodels.api",
}

# What comes with a package beside its own requirements, so that what people use first works: read_excel and to_excel, plotly.express.
COMPANIONS = {"pandas": ["openpyxl"], "plotly": ["numpy"]}

# Packages by name that the standard library has: installing them is allowed and does nothing.
BUILTIN = [{"name": "sqlite3", "version": "3.54.1", "summary": "SQL database, a part of the standard library", "provides": ["sqlite3"]}]

# The wheel's own protocol with its own runner: nothing here speaks it.
LEFT_OUT = ["host"]
