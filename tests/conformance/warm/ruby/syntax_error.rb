puts "never"
def broken(
  1 +
end
