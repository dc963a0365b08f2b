def go(n):
    if n:
        go(n - 1)
    import broken
