e = RuntimeError.new("placed")
e.set_backtrace(["here:1:in `a'", "there:2"])
raise e
