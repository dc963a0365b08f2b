#!/usr/bin/env ruby
p $., __LINE__, $VERBOSE, DATA.lineno, DATA.pos
puts DATA.read
raise "third line is five"
__END__
text
