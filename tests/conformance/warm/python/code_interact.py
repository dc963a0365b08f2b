import code

code.interact(banner="hello", local={"x": 5}, exitmsg="bye")
