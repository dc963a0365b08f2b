import datetime
import zoneinfo

moment = datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo("UTC"))
print(moment, zoneinfo.TZPATH)
print(datetime.datetime.fromtimestamp(0).astimezone().tzname())
