# What a zygote's child does before its program comes; a part of zygote.rb.
#
# A program writes to pages that it shares with the zygote, and uses parts of
# the interpreter that are made at their first use: both takes longer than many
# a program's own work. So a child does typical things once. All of it happens
# in a module without a name and leaves nothing that a program could find. No
# object may be asked for its object_id, since these are counted; a hash does
# that of most keys, and so does whatever finds words for a NameError.
REHEARSAL = <<~'RUBY'
  Point = Struct.new(:x, :y) do
    def dist = Math.sqrt(x * x + y * y)
  end
  module Named
    def title = name.capitalize
  end
  class Animal
    include Comparable
    include Named
    attr_accessor :name, :legs
    def initialize(name, legs: 4)
      @name = name
      @legs = legs
    end
    def <=>(other) = legs <=> other.legs
    def to_s = "#{self.class.name}(#{@name}, #{@legs})"
    def each
      return to_enum(:each) unless block_given?
      yield 1
      yield 2
    end
    def method_missing(name, *args)
      name.to_s.end_with?("?") ? args.empty? : super
    end
    def respond_to_missing?(name, all = false) = name.to_s.end_with?("?") || super
  end
  class Bird < Animal
    def initialize(name) = super(name, legs: 2)
  end
  class Odd < StandardError
    def initialize(msg = "odd") = super
  end
  def self.fib(n, memo = {})
    return n if n < 2
    memo[n] ||= fib(n - 1, memo) + fib(n - 2, memo)
  end
  def self.fail_at(depth) = depth.zero? ? raise(Odd, "deep") : fail_at(depth - 1)
  zoo = [Animal.new("cat"), Bird.new("owl"), Animal.new("ant", legs: 6)]
  puts zoo.sort.map(&:to_s).inspect, zoo.max_by(&:legs), zoo.first.title, zoo[0].wild?
  puts fib(40), 2**100, 10.fdiv(3).round(2), 17.divmod(5).inspect, 255.to_s(16), 3.7.floor
  printf("%05.2f %-5s|%d\n", 3.14159, "ab", 7)
  words = "the quick brown fox jumps over the lazy dog".split
  counts = words.each_with_object(Hash.new(0)) { |word, all| all[word] += 1 }
  puts counts.sort_by { |word, n| [-n, word] }.first(3).to_h, words.group_by(&:size)
  p words.tally, words.each_slice(2).to_a, words.zip(1..9).to_h, counts.transform_values { _1 * 2 }
  puts (1..20).select(&:even?).map { |n| n * n }.reduce(:+), [3, 1, 2].sort.reverse.join(", ")
  p [1, [2, [3]]].flatten, [1, nil].compact, [1, 1].uniq, (1..4).each_cons(2).to_a, [1, 2].product([3])
  p "hello world".gsub(/o(\w)?/) { $1.to_s.upcase }, "a-b".tr("-", "_"), "abc"[1..], "x" =~ /x/
  p "2024-05-06".match(/(?<y>\d+)-(?<m>\d+)/)[:y], "ünï".upcase, "abc".bytes.sum, "a,b".scan(/\w/)
  p Point.new(3, 4), Point.new(3, 4).dist, :upcase.to_proc.call("x")
  case { name: "x", list: [1, 2, 3] }
  in { name: String => name, list: [first, *rest] } if first == 1
    puts name, rest.inspect
  else
    nil
  end
  begin
    fail_at(5)
  rescue Odd => error
    puts error.message, error.backtrace.first, error.full_message(highlight: false)
  ensure
    error = nil
  end
  [-> { Integer("x") }, -> { 1 / 0 }, -> { [].fetch(9) }, -> { raise "x" },
   -> { 1 + nil }, -> { "a" + 1 }].each do |attempt|
    attempt.call
  rescue StandardError => error
    puts "#{error.class}: #{error.message.lines.first}"
  end
  lines = File.foreach(File::NULL).to_a
  sum = 0
  300.times { |i| sum += i.odd? ? i : -i }
  i = 0
  i += 1 while i < 300
  until i.zero? do i -= 1 end
  gen = Enumerator.new { |y| 3.times { |n| y << n } }
  puts gen.next, gen.take(2).inspect, (1..Float::INFINITY).lazy.map { _1 * 2 }.first(2).inspect
  puts <<~TEXT
    #{lines.size} #{sum} #{:a.inspect} #{nil.to_a} #{1r} #{Time.at(0).utc.year} #{ARGV.size}
  TEXT
  catch(:done) { 10.times { |n| throw :done if n == 3 } }
  [1, 2].freeze.frozen?
  $stdout.print "x", "y"
  $stdout.write("z\n")
  warn "to stderr"
  format("%s %p", :a, [1.5, "x", nil, true])
  Kernel.rand(5); [1, 2, 3].shuffle(random: Random.new(1)); Random.new(2).rand
  Rational(1, 3) + Complex(1, 2)
  define_singleton_method(:late) { |a, *b, c: 1, **d, &e| [a, b, c, d] }
  late(1, 2, c: 3, d: 4)
  o = Object.new
  def o.+(other) = other
  o + 1
  [o.is_a?(Object), o.respond_to?(:+), o.instance_variables, o.class.ancestors.size]
RUBY
