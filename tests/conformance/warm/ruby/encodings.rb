p Encoding.default_external, Encoding.default_internal, Encoding.find("locale"), Encoding.find("filesystem")
p "ü".encoding, "ü".b, "ü".encode("UTF-16LE").bytes, "\xff".valid_encoding?, "ü".force_encoding("latin1").size
p Encoding.list.size, Encoding.name_list.size, Encoding.aliases.size, "a".encoding
begin
  "ü\xff".encode("UTF-16")
rescue => e
  puts e.class, e.message
end
begin
  "ü" + "\xfc".force_encoding("latin1")
rescue => e
  puts e.class, e.message
end
p "日本".encode("Shift_JIS").bytes, "x".encode("EUC-JP").encoding, "ÄÖ".downcase, "ß".upcase, "é".unicode_normalize(:nfd).size
Encoding.default_internal = "UTF-16BE"
p Encoding.default_internal
