# Nearly all of 256 MiB, in objects that the garbage collector lists.
things = [[] for _ in range(3_150_000)]
print(len(things))
