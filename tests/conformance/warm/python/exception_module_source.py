exec(compile("def f():\n    1 / 0\nf()", "<generated>", "exec"))
