# needs: clean stack
import gc
import signal
import sys
import threading

print(sys.flags, sys.warnoptions, sys._xoptions, sys.flags.utf8_mode)
print(gc.isenabled(), gc.get_threshold(), gc.callbacks, gc.garbage, gc.get_debug())
print(sys.getrecursionlimit(), sys.getswitchinterval(), sys.is_finalizing())
print(sys.gettrace(), sys.getprofile(), sys.getdefaultencoding(), sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())
print([hasattr(sys, n) for n in ("last_type", "last_value", "last_traceback", "ps1", "tracebacklimit")])
print(sys.excepthook, sys.displayhook, sys.unraisablehook, sys.breakpointhook)
print(sys.exc_info(), threading.main_thread(), threading.enumerate(), threading.active_count())
print(threading.main_thread().ident == threading.get_ident(), threading.main_thread().native_id == threading.get_native_id())
for number in sorted(signal.valid_signals()):
    print(number, signal.getsignal(number))
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.getitimer(signal.ITIMER_REAL), signal.set_wakeup_fd(-1))
print(sys._getframe().f_back, sys.meta_path, sys.path_hooks, sorted(n for n in vars(sys) if not n.startswith("_")))
print(sys.get_int_max_str_digits(), sys.get_asyncgen_hooks(), sys.get_coroutine_origin_tracking_depth())
