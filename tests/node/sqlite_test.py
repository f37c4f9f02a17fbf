# SPDX-License-Identifier: Apache-2.0
"""node:sqlite where Node.js fails otherwise or ends: what is closed or begun again from the inside, and what is left to the collector."""
import os
import subprocess
import unittest

PRELUDE = """
const { DatabaseSync, backup } = require('node:sqlite');
const show = (f) => { try { console.log(JSON.stringify(f())); } catch (e) { console.log(e.code ?? e.name, e.message); } };
const make = () => { const db = new DatabaseSync(':memory:'); db.exec('create table t(a integer primary key); insert into t values (1), (2), (3)'); return db; };
"""


class Sqlite(unittest.TestCase):
    def check(self, program, wanted):
        done = subprocess.run([os.environ["CLOCHE_PROGRAM"], "run", "--timeout", "300s", "--stdin", "node -"], input=PRELUDE + program,
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout, done.returncode), (wanted, 0), done.stderr)

    def test_a_database_is_not_closed_from_within(self):
        refused = "ERR_INVALID_STATE database is in use by a call that has not ended\n"
        self.check("""
const db = make();
db.function('closes', () => db.close());
show(() => db.prepare('select closes()').all());
show(() => db.exec('select closes()'));
show(() => db.prepare('select $a').get({ get a() { return db.close(); } }));
const changes = (() => { const one = make(), session = one.createSession(); one.exec('insert into t values (9)'); return session.changeset(); })();
show(() => db.applyChangeset(changes, { filter: () => db.close() }));
show(() => db.applyChangeset(changes, { filter() { throw new Error('mine'); } }));
show(() => db.prepare('select count(*) n from t').get());
""", refused * 4 + "Error mine\n" + '{"n":3}\n')

    def test_a_statement_is_not_begun_within_itself(self):
        self.check("""
const db = make(), again = db.prepare('select begins(a) from t'.replace('begins(a)', 'a'));
db.function('begins', () => statement.all());
const statement = db.prepare('select begins()');
show(() => statement.all());
show(() => again.all({ get a() { return again.all(); } }));
db.function('deep', (n) => db.prepare('select deep(?) x').get(n + 1).x);
show(() => db.prepare('select deep(0)').get());
show(() => again.all().length);
""", "ERR_INVALID_STATE statement is in use by a call that has not ended\nERR_INVALID_STATE Unknown named parameter 'a'\nRangeError Maximum call stack size exceeded\n3\n")

    def test_rows_of_an_earlier_beginning_are_not_read_on(self):
        self.check("""
const db = make(), statement = db.prepare('select a from t');
const first = statement.iterate(), second = (first.next(), statement.iterate());
show(() => second.next());
show(() => first.next());
show(() => { for (const row of statement.iterate()) db.close(); });
show(() => new DatabaseSync('/nothing/x.db', { open: false }).isOpen);
show(() => make().prepare('select -9223372036854775808').get());
""", '{"done":false,"value":{"a":1}}\nERR_INVALID_STATE iterator was invalidated\nERR_INVALID_STATE statement has been finalized\nfalse\n'
             "ERR_OUT_OF_RANGE Value is too large to be represented as a JavaScript number: -9223372036854775808\n")

    def test_what_nobody_holds_is_collected_with_what_sqlite_holds_of_it(self):
        self.check("""
for (let i = 0; i < 2000; i++) {
  const db = make(), block = new Uint8Array(1 << 20);
  db.function('f', (x) => block.length + db.prepare('select 1 one').get().one);
  db.aggregate('g', { start: () => ({ db, block }), step: (sum, x) => { if (x === 2 && i % 2) throw new Error('two'); return sum; }, result: () => 1 });
  try { db.prepare('select f(a), g(a) from t').get(); } catch {}
  db.kept = db.prepare('select f(a) from t').iterate();
  db.kept.next();
  db.kept2 = db.createSession();
}
console.log('done');
""", "done\n")

    def test_a_script_without_time_is_not_held_up(self):
        self.check("""
const endless = make().prepare('with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c');
show(() => require('vm').runInNewContext('endless.get()', { endless }, { timeout: 300 }));
""", "ERR_SCRIPT_EXECUTION_TIMEOUT Script execution timed out after 300ms\n")

    def test_a_copy_ends_where_its_database_is_closed(self):
        self.check("""
const db = make(), copy = backup(db, '/tmp/copy.db', { rate: 1 });
db.close();
copy.catch((e) => console.log(e.code, e.message));
backup(make(), '/tmp/copy.db', { rate: -1 }).then((pages) => console.log(pages > 0));
try { backup(make(), '/tmp/copy.db', { rate: 0 }); } catch (e) { console.log(e.code); }
""", "ERR_OUT_OF_RANGE\nERR_INVALID_STATE database is not open\ntrue\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
