def documented(x):
    """Words."""


help(documented)
print(copyright, len(str(license)) > 10)
