import contextvars
import decimal
import threading

print(len(contextvars.copy_context()))
variable = contextvars.ContextVar("variable", default=0)
variable.set(1)
context = contextvars.copy_context()
context.run(variable.set, 5)
print(variable.get(), context[variable], list(context) == [variable])
thread = threading.Thread(target=lambda: print(variable.get()))
thread.start()
thread.join()
print(decimal.getcontext(), decimal.Decimal(1) / 3)
