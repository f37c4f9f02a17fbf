"""Local time: wasi-libc knows UTC alone; here it looks its offsets up in a table that the interpreter's own modules make.

`__secs_to_zone`, which all of C's local time stands on (so `time`, `datetime`, numpy and SQLite's 'localtime'), finds the table's address
at ZONE_WORD, or null: UTC. The table begins with the number of its entries, the addresses of the names of standard and of summer time,
and a word of nothing; then entries of 32 bytes, the first of which begins before all time:

    i64 its start in UTC, i64 the same in local time, i32 offset, i32 whether it is summer time, i32 address of the name,
    i32 the offset of the other of the two kinds

The other half is userland/python/lib/_cloche/host/time_zone.py.
"""
import re

from wasm_module import CONST, LEB, PatchError, once, uleb, with_locals
from wasm_text import assemble

ZONE_WORD = 512  # below the end of the main thread's stack, where nothing else lies
HOUR = 3600
FIND = """
    i32.const ZONE_WORD; i32.load; local.tee table; if
      i32.const 0; local.set low
      local.get table; i32.load; local.set high
      block; loop
        local.get high; local.get low; i32.sub; i32.const 2; i32.lt_s; br_if 1
        local.get low; local.get high; i32.add; i32.const 1; i32.shr_u; local.set middle
        local.get seconds
        local.get middle; i32.const 5; i32.shl; local.get table; i32.add; local.get local; i32.const 3; i32.shl; i32.add; i64.load 16
        i64.lt_s; if
          local.get middle; local.set high
        else
          local.get middle; local.set low
        end
        br 0
      end; end
      local.get low; i32.const 5; i32.shl; local.get table; i32.add; i32.const 32; i32.add; local.set table
      local.get isdst; if; local.get isdst; local.get table; i32.load 4; i32.store; end
      local.get offset; if; local.get offset; local.get table; i32.load; i32.store; end
      local.get other; if; local.get other; local.get table; i32.load 12; i32.store; end
      local.get name; if; local.get name; local.get table; i32.load 8; i32.store; end
      return
    end
    local.get isdst; if; local.get isdst; i32.const 0; i32.store; end
    local.get offset; if; local.get offset; i32.const 0; i32.store; end
    local.get other; if; local.get other; i32.const HOUR; i32.store; end
    local.get name; if; local.get name; i32.const UTC; i32.store; end
    end
"""
# The name of a `struct tm` that has none is that of its kind of time.
NAME = """
    local.get tm; i32.load 40; local.tee found; if; local.get found; i32.load8_u; if; local.get found; return; end; end
    i32.const ZONE_WORD; i32.load; local.tee found; i32.eqz; if; i32.const UTC; return; end
    local.get tm; i32.load 32; i32.const 0; i32.lt_s; if; i32.const EMPTY; return; end
    local.get found; local.get tm; i32.load 32; i32.eqz; i32.eqz; i32.const 2; i32.shl; i32.add; i32.load 4
    end
"""


def patch(module):
    name = once(re.escape(CONST) + LEB + rb"\x36\x02\x00\x0b\x0b$", module.body("__secs_to_zone"), "the name of UTC")
    utc = uleb(name[1], 0)[0]
    place = module.offset_of(utc, 4)
    if bytes(module.data[place:place + 4]) != b"UTC\0":
        raise PatchError("the name of UTC is not where it is expected")
    body, table, _ = with_locals(b"\0", 6, 4)
    module.change("__secs_to_zone", body + assemble(
        FIND, ZONE_WORD=ZONE_WORD, HOUR=HOUR, UTC=utc, seconds=0, local=1, isdst=2, offset=3, other=4, name=5,
        table=table, low=table + 1, high=table + 2, middle=table + 3))
    body, found, _ = with_locals(b"\0", 1, 1)
    module.change("__tm_to_tzname", body + assemble(NAME, ZONE_WORD=ZONE_WORD, UTC=utc, EMPTY=utc + 3, tm=0, found=found))
