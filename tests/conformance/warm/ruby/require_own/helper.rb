HELPER = [__FILE__, __dir__, __LINE__, caller.first]
