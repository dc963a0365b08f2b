require "base64"
require "bigdecimal"
require "csv"
require "date"
require "digest"
require "erb"
require "json"
require "ostruct"
require "prime"
require "set"
require "stringio"
require "time"
require "uri"
require "yaml"
require "zlib"

City = Struct.new(:name, :population) do
  include Comparable

  def <=>(other)
    population <=> other.population
  end
end

def fibonacci
  return to_enum(:fibonacci) unless block_given?

  a, b = 0, 1
  loop do
    yield a
    a, b = b, a + b
  end
end

cities = [City.new("Zürich", 443), City.new("Bern", 137), City.new("Aarau", 22)]
puts "sorted: #{cities.sort_by(&:name).map(&:name).join(' ')}"
puts "max: #{cities.max.name}"
text = JSON.generate(cities.map(&:to_h))
puts "json: #{text}"
puts "parsed: #{JSON.parse(text, symbolize_names: true).first}"

words = "the quick fox and the lazy dog and the cat".split
puts "tally: #{words.tally.select { |_, count| count > 1 }}"
puts "groups: #{words.group_by(&:size).transform_values(&:count).sort}"
puts "slices: #{(1..7).each_slice(3).to_a} #{(1..4).each_cons(2).map(&:sum)}"
puts "set: #{(Set[3, 1, 2] & Set[1, 2, 5]).sort}"
puts "lazy: #{fibonacci.lazy.select(&:even?).first(6)}"

puts "regex: #{'ann@one.org, bob@two.org'.scan(/(\w+)@(\w+)\.org/)}"
puts "gsub: #{'a1 b20 c300'.gsub(/\d+/) { |digits| (digits.to_i * 2).to_s }}"
/(?<year>\d+)-(?<month>\d+)/ =~ "2024-02"
puts "named: #{year} #{month}"
puts "text: #{'grüße'.upcase} #{'abc'.succ} #{'hello world'.tr('lo', '01').center(15, '*')}"

leap_day = Date.new(2024, 2, 29)
puts "date: #{leap_day.strftime('%A %-d %B %Y')}, #{leap_day >> 12}, #{leap_day + 366}"
puts "time: #{Time.utc(2024, 7, 1, 12, 30).iso8601} #{Time.at(0).utc.year}"

puts "math: #{Math.hypot(3, 4)} #{84.gcd(36)} #{Integer.sqrt(10**20)}"
puts "big: #{2**200}"
puts "prime: #{Prime.first(6)} #{360.prime_division}"
puts "rational: #{Rational(1, 3) + Rational(1, 6)} #{Complex(1, 2) * Complex(0, 1)}"
puts "decimal: #{(BigDecimal('0.1') + BigDecimal('0.2')).to_s('F')}"
random = Random.new(42)
puts "random: #{Array.new(5) { random.rand(100) }}"
puts "shuffle: #{(1..5).to_a.shuffle(random: Random.new(1))}"
puts format("format: %06x|%-6s|%8.3f|%+d|%08b", 255, "left", Math::PI, 5, 42)

case { name: "Ada", roles: [:admin, { level: 3 }] }
in { name: String => name, roles: [Symbol => role, { level: }] }
  puts "pattern: #{name} #{role} #{level}"
end

puts "base64: #{Base64.strict_encode64('Grüße')}"
puts "sha256: #{Digest::SHA256.hexdigest('sandglass')}"
puts "zlib: #{Zlib.inflate(Zlib.deflate('round trip'))} #{Zlib.crc32('a')}"
puts "csv: #{CSV.parse("a,b\n1,\"x,y\"\n", headers: true).first.to_h}"
puts "yaml: #{YAML.safe_load("list: [1, two]\n").to_yaml.lines.size}"
puts "erb: #{ERB.new('<% 3.times do |i| %><%= i %>;<% end %>').result}"
puts "uri: #{URI('https://example.org/a?x=1').query} #{URI.encode_www_form(q: 'ü&')}"
puts "openstruct: #{OpenStruct.new(a: 1).a} #{StringIO.new("a\nb").readlines.size}"
puts "ractor: #{defined?(Ractor) ? 'yes' : 'no'}, fiber: #{Fiber.new { 42 }.resume}"
