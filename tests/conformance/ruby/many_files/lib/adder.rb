require_relative "plus"

module Adder
  extend Plus

  def self.add_all(numbers)
    numbers.reduce(0) { |sum, number| plus(sum, number) }
  end
end
