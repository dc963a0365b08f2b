cuonter = 1
counter = 2
puts conter
