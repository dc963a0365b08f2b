import sqlite3

base = sqlite3.connect("data.db")
base.execute("create table t (a, b)")
base.executemany("insert into t values (?, ?)", [(1, "x"), (2, "y")])
print(base.execute("select sum(a), max(b) from t").fetchall())
try:
    base.execute("select nothing")
except sqlite3.OperationalError as error:
    print(error)
