raise "first line
second line
third"
