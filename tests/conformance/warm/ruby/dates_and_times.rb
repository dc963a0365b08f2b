require "date"
require "time"
p Date.new(2024, 2, 28) + 2, Date.parse("3rd Feb 2001"), Date.valid_date?(2023, 2, 29), DateTime.new(2001, 2, 3, 4, 5, 6)
p Time.at(0).utc, Time.at(1.5).utc.iso8601(3), Time.parse("2024-05-06 07:08:09 UTC"), Time.now.zone, Time.now.utc_offset
p Time.new(2024, 1, 1, 0, 0, 0, "+09:00").strftime("%F %T %z %A %j"), (Date.new(2024, 3, 1) - Date.new(2024, 2, 1)).to_i
ENV["TZ"] = "Asia/Tokyo"
p Time.at(0).hour, Time.at(0).zone
ENV["TZ"] = nil
p Time.at(0).hour
