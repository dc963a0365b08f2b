begin
  Set.new
rescue NameError => e
  puts e.message
end
begin
  JSON
rescue NameError => e
  puts e.message
end
p defined?(Date), defined?(Time.parse), defined?(StringIO), [].respond_to?(:to_set), 1.respond_to?(:to_json)
p defined?(BigDecimal), defined?(Timeout), defined?(Tempfile), defined?(SecureRandom), defined?(PP::ObjectMixin)
