text = "Grüße, 世界 🌍"

puts text
puts text.length
