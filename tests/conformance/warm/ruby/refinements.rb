module Loud
  refine String do
    def loud = upcase + "!"
  end
end
begin
  "a".loud
rescue NoMethodError => e
  puts e.message
end
using Loud
p "a".loud, "b".then(&:loud)
