import os
import time

os.environ["TZ"] = "EST5EDT"
time.tzset()
print(time.tzname, time.timezone, time.localtime(0).tm_hour)
