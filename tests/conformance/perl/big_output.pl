use strict;
use warnings;

print "line $_\n" for 0 .. 199_999;
