class Odd < StandardError
  def initialize(msg = "an odd default") = super
end
raise Odd
