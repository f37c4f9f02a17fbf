"""A module beside the program is the one that it imports, also where the library has one of that name."""
import os
import subprocess
import sys
import tempfile

os.chdir(tempfile.mkdtemp())


def write(name, text):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "w") as file:
        file.write(text)


def python(*words, **environment):
    ended = subprocess.run([sys.executable, *words], capture_output=True, text=True, env={**os.environ, **environment})
    print(ended.returncode, ended.stdout.split("\n")[:-1], ended.stderr.strip().rpartition("\n")[2])


write("app/calendar.py", "def events():\n    return ['mine']\n")
write("app/html/__init__.py", "from html.parser import words")
write("app/html/parser.py", "words = 7")
write("app/csv/data.txt", "a folder without code hides nothing")
write("app/os.py", "print('never')")
write("app/time.py", "print('never either')")
write("app/main.py", "import calendar, csv, html, os, time\nprint(calendar.events(), csv.reader is not None, html.words, os.sep, time.time() > 0)")
write("other/statistics.py", "mean = 'of the other folder'")
write("other/use.py", "from statistics import mean\nprint(mean if isinstance(mean, str) else 'the library')")

python("app/main.py")
python("-c", "import statistics; print(statistics.mean([1, 3]))")
python("-c", "import statistics; print(statistics.mean([1, 3]))", PYTHONPATH="app")
python("-c", "import statistics; print(statistics.mean)", PYTHONPATH="other")
python("-m", "other.use", PYTHONPATH="other")
os.chdir("other")
python("-m", "use")
python("-c", "import statistics; print(statistics.mean)")
python("-P", "-c", "import statistics; print(statistics.mean([1, 3]))")
python("-I", "use.py")
# The folder of the library hides nothing either.
os.chdir(os.path.dirname(os.__file__))
python("-c", "import threading, random, json; print(json.dumps(random.Random(1).randrange(10) >= 0), threading.main_thread().name)")
