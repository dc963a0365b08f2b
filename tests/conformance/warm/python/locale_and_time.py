import locale
import time

print(locale.setlocale(locale.LC_ALL), locale.getpreferredencoding(), locale.getlocale(), locale.localeconv()["decimal_point"])
print(time.tzname, time.timezone, time.daylight, time.strftime("%A %B %Z", time.localtime(0)))
print(locale.getencoding(), time.process_time() < 5, time.thread_time() < 5)
import codecs
print(codecs.lookup("utf-8").name, open("x", "w").encoding)
