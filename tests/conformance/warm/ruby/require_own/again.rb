$again = ($again || 0) + 1
