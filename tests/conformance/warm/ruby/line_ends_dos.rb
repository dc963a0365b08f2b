puts "a"
x = "b
c"
p x, __LINE__
