"""What `python3 -m asyncio ps` and `pstree` show is in another process's memory, and processes here see their own alone. The prompt of
`python3 -m asyncio` imports this module."""
import sys


def display_awaited_by_tasks_table(pid, *_, **__):
    sys.exit("tasks of other processes are not to be seen in this sandbox: use asyncio.print_call_graph() within the program")


display_awaited_by_tasks_tree = display_awaited_by_tasks_table
