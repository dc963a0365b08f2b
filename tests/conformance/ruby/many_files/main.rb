require "json"
require_relative "lib/adder"

numbers = JSON.parse(File.read(File.join(__dir__, "numbers.json")))
puts "sum: #{Adder.add_all(numbers)}"
