"""sqlite: databases in WAL mode without memory that processes share.

A file mapping here is each process's own copy, so the index of a write-ahead log cannot be shared. sqlite knows how to do without when
one process holds the database: that is what these edits choose. A second process is told "database is locked", but those that only read
share it: they keep the lock of readers, which whoever writes is refused by. They are in the public domain, as sqlite is.
"""

from edits import replace

WHY = "keeps the WAL index in the heap"

replace("src/os_unix.c", """IOMETHODS(
  posixIoFinder,            /* Finder function name */
  posixIoMethods,           /* sqlite3_io_methods object name */
  3,                        /* shared memory and mmap are enabled */
  unixClose,                /* xClose method */
  unixLock,                 /* xLock method */
  unixUnlock,               /* xUnlock method */
  unixCheckReservedLock,    /* xCheckReservedLock method */
  unixShmMap                /* xShmMap method */
)""", """IOMETHODS(
  posixIoFinder,            /* Finder function name */
  posixIoMethods,           /* sqlite3_io_methods object name */
  3,                        /* shared memory and mmap are enabled */
  unixClose,                /* xClose method */
  unixLock,                 /* xLock method */
  unixUnlock,               /* xUnlock method */
  unixCheckReservedLock,    /* xCheckReservedLock method */
  0                         /* xShmMap method */
)""", WHY)
replace("src/pager.c", "  return pPager->exclusiveMode || (pMethods->iVersion>=2 && pMethods->xShmMap);\n",
        "  return 1;\n", WHY)
replace("src/pager.c", "  if( pPager->noLock ) return 0;\n  return 1;\n", "  (void)pMethods;\n  return !pPager->noLock;\n", WHY)
replace("src/pager.c", """  if( pPager->exclusiveMode ){
    rc = pagerExclusiveLock(pPager);
  }
""", """  if( !pPager->fd->pMethods->xShmMap ) pPager->exclusiveMode = 1;
  if( pPager->exclusiveMode && !pPager->readOnly ){
    rc = pagerExclusiveLock(pPager);
  }
""", WHY)
