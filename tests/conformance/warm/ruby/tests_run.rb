begin
  require "minitest"
  class Sums < Minitest::Test
    def test_good = assert_equal(2, 1 + 1)
    def test_bad = assert_equal(3, 1 + 1)
    def test_error = raise("words")
  end
  %w[test_good test_bad test_error].each do |name|
    result = Sums.new(name).run
    p result.passed?, result.failures.map(&:message)
  end
rescue LoadError => e
  puts e.message
end
begin
  require "test/unit"
rescue LoadError => e
  puts e.message
end
