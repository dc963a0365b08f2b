p DATA.class, DATA.path, DATA.pos, DATA.lineno, DATA.fileno, DATA.external_encoding
puts DATA.read
DATA.rewind
puts DATA.gets, DATA.lineno
p File.open(__FILE__).fileno
p $., DATA.eof?, DATA.close_on_exec?, DATA.binmode?
__END__
first
second
