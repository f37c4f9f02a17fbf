"""There are no processes that share this interpreter's memory."""
raise ImportError("multiprocessing cannot start processes in this sandbox: use concurrent.futures.ThreadPoolExecutor, or subprocess")
