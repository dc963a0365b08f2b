"""Doc."""
print("with a mark", __doc__)
