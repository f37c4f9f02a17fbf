"""sqlite3: schema, transactions, row factories, window functions, full-text, an error, WAL mode."""
import os
import sqlite3
import subprocess
import threading
import time
from pathlib import Path

db = sqlite3.connect("shop.db")
db.row_factory = sqlite3.Row
with db:
    db.executescript("""
        create table customer(id integer primary key, name text not null unique);
        create table purchase(id integer primary key, customer references customer(id), day text, amount real check(amount > 0));
    """)
    db.executemany("insert into customer(name) values(?)", [("Ann",), ("Bob",), ("Cyd",)])
    db.executemany("insert into purchase(customer, day, amount) values(?, ?, ?)",
                   [(1, "2024-01-01", 10.5), (2, "2024-01-02", 3.25), (1, "2024-01-05", 7), (2, "2024-02-01", 1)])
for row in db.execute("""select name, count(p.id) as n, coalesce(sum(amount), 0) as total from customer c
                         left join purchase p on p.customer = c.id group by c.id order by total desc"""):
    print(dict(row))
print([tuple(r) for r in db.execute("select day, sum(amount) over (order by day rows unbounded preceding) from purchase")])
try:
    with db:
        db.execute("insert into purchase(customer, day, amount) values(1, 'x', 5)")
        db.execute("insert into purchase(customer, day, amount) values(1, 'x', -5)")
except sqlite3.IntegrityError as error:
    print("IntegrityError:", error)
print(db.execute("select count(*) from purchase").fetchone()[0], "rows after the rollback")
db.create_function("double", 1, lambda x: x * 2)
db.create_aggregate("joined", 1, type("Joined", (), {"__init__": lambda s: setattr(s, "v", []), "step": lambda s, x: s.v.append(x),
                                                    "finalize": lambda s: "+".join(s.v)}))
print(tuple(db.execute("select double(21), joined(name) from customer").fetchone()))
print([r[0] for r in db.execute("select value from json_each('[1, 2, 3]')")], db.execute("select json_extract('{\"a\": [5]}', '$.a[0]')").fetchone()[0])
db.close()

# Databases that another program has made in WAL mode, with a log that is done with and with one that is not.
ends = {"done": "", "left": ".dbconfig no_ckpt_on_close on\n"}
for name, command in ends.items():
    script = command + "pragma journal_mode=wal; create table t(a); insert into t values(1);\n"
    subprocess.run(["sqlite3", f"{name}.db"], input=script.encode(), stdout=subprocess.DEVNULL, check=True)
    db = sqlite3.connect(f"{name}.db")
    print(name, db.execute("select * from t").fetchall())
    with db:
        db.execute("insert into t values(2)")
    db.close()
    db = sqlite3.connect(f"file:{os.getcwd()}/{name}.db?mode=ro", uri=True, autocommit=False)
    print(db.execute("select * from t").fetchall())
    try:
        db.execute("insert into t values(3)")
    except sqlite3.OperationalError as error:
        print(error)
    db.close()
    db = sqlite3.connect(Path(f"{name}.db"))
    print(db.execute("select sum(a) from t").fetchone())
    db.close()

# Several connections to one, by threads too, one that attaches another, and one that is another thread's.
for name in "ab":
    subprocess.run(["sqlite3", f"{name}.db", "pragma journal_mode=wal; create table t(a); insert into t values(1)"], stdout=subprocess.DEVNULL, check=True)
first, second = sqlite3.connect("a.db"), sqlite3.connect("a.db", timeout=60)
print(first.execute("select * from t").fetchall(), second.execute("select * from t").fetchall())
with second:
    second.execute("insert into t values(2)")
first.execute("attach 'b.db' as b")
print(first.execute("select x.a, y.a from main.t x, b.t y order by 1").fetchall())


def add(number):
    db = sqlite3.connect("a.db", timeout=60)
    with db:
        db.execute("insert into t values(?)", (number,))
    db.close()


threads = [threading.Thread(target=add, args=(number,)) for number in range(3, 9)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(first.execute("select count(*), sum(a) from t").fetchone())


def use(db):
    try:
        print(db.execute("select max(a) from t").fetchone())
    except sqlite3.ProgrammingError as error:
        print(str(error).partition(". ")[0])


for options in ({}, {"check_same_thread": False}):
    db = sqlite3.connect("a.db", **options)
    thread = threading.Thread(target=use, args=(db,))
    thread.start()
    thread.join()
    use(db)
    db.close()
first.close()
second.close()

# A function that SQLite calls runs as the thread that has asked for it, also after a wait for another one.
first = sqlite3.connect("a.db", check_same_thread=False)
strangers = []


def say(name):
    def own(value):
        for _ in range(60000):
            pass
        if threading.current_thread().name != name:
            strangers.append(name)
        return value

    db = sqlite3.connect("a.db", timeout=60)
    db.create_function("own", 1, own)
    for number in range(4):
        with db:
            db.execute("insert into t values(own(?))", (number,))
    db.close()


first.execute("begin immediate")
threads = [threading.Thread(target=say, args=(f"thread {i}",), name=f"thread {i}") for i in range(4)]
for thread in threads:
    thread.start()
time.sleep(0.05)
first.commit()
for thread in threads:
    thread.join()
print(first.execute("select count(*) from t").fetchone(), strangers)
first.close()

# Who may read and write beside whom, in this process and in another one.
def attempt(function, *arguments):
    try:
        return function(*arguments)
    except sqlite3.OperationalError as error:
        return str(error)


def command(statement):
    done = subprocess.run(["sqlite3", "c.db", statement], capture_output=True, text=True)
    return done.stdout.strip() or "locked" * ("locked" in done.stderr)


first, second = (sqlite3.connect("c.db", timeout=0) for _ in range(2))
first.execute("create table t(a)")
first.executemany("insert into t values(?)", [(number,) for number in range(3)])
print(second.execute("select * from t").fetchall(), command("select count(*) from t"))
first.commit()
rows = first.execute("select a from t")
print(next(rows), second.execute("select count(*) from t").fetchone(), command("select count(*) from t"))
print(second.execute("insert into t values(3)").rowcount, attempt(second.commit), command("insert into t values(4)"))
print(rows.fetchall(), attempt(second.commit), command("insert into t values(4)"), first.execute("select count(*) from t").fetchone())
first.execute("begin immediate")
print(second.execute("select count(*) from t").fetchone(), attempt(second.execute, "insert into t values(5)"), command("insert into t values(5)"))
first.rollback()
Path("reader.py").write_text("""
import sqlite3
try:
    print(sqlite3.connect("c.db", timeout=0).execute("select * from t").fetchall())
except sqlite3.OperationalError as error:
    print(error)
""")
print(subprocess.run(["sqlite3", "c.db"], input=b"begin exclusive;\n.shell python3 reader.py\n", capture_output=True).stdout)
print(first.execute("select count(*) from t").fetchone())
print(subprocess.run(["sqlite3", "left.db", "select sum(a) from t"], capture_output=True, text=True).stdout, end="")
