import multiprocessing
import os


def work(n, queue):
    queue.put((n, os.getpid() != parent, multiprocessing.current_process().name, __name__))


if __name__ == "__main__":
    parent = os.getpid()
    queue = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=work, args=(n, queue)) for n in range(2)]
    for process in processes:
        process.start()
        process.join()
    print(sorted(queue.get() for _ in processes), [p.exitcode for p in processes])
    print(multiprocessing.get_start_method(), multiprocessing.current_process(), multiprocessing.parent_process())
