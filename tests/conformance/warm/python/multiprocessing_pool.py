from concurrent.futures import ProcessPoolExecutor
from multiprocessing import Pool


def square(n):
    return n * n


if __name__ == "__main__":
    with Pool(2) as pool:
        print(pool.map(square, range(5)))
    with ProcessPoolExecutor(1) as pool:
        print(list(pool.map(square, range(3))))
