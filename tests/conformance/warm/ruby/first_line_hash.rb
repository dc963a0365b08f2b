# frozen_string_literal: true
begin
  "a" << "b"
rescue FrozenError => e
  puts e.message
end
p "x".frozen?, "#{1}".frozen?
