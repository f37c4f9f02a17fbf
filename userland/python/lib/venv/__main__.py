import sys

from . import main

rc = 1
try:
    main()
    rc = 0
except Exception as error:
    print(f"Error: {error}", file=sys.stderr)
sys.exit(rc)
