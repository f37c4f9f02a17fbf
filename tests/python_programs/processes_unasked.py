"""multiprocessing and ProcessPoolExecutor where nobody says how a process is to start."""
import multiprocessing
from concurrent.futures import ProcessPoolExecutor


def square(number):
    return number * number


def answer(numbers, answers):
    for number in iter(numbers.get, None):
        answers.put(square(number))


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        print(list(pool.map(square, range(5))), pool.submit(divmod, 7, 2).result())
    with multiprocessing.Pool(2) as pool:
        print(pool.map(square, range(5)), pool.apply(divmod, (7, 2)))
    numbers, answers = multiprocessing.Queue(), multiprocessing.Queue()
    process = multiprocessing.Process(target=answer, args=(numbers, answers))
    process.start()
    for number in (3, 4, None):
        numbers.put(number)
    print(answers.get(timeout=60), answers.get(timeout=60), process.join(), process.exitcode)
    print(multiprocessing.get_context().get_start_method() in multiprocessing.get_all_start_methods())
