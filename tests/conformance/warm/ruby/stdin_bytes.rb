s = STDIN.gets
p s.valid_encoding?, s.encoding, s.bytes
p STDIN.binmode.read.encoding
