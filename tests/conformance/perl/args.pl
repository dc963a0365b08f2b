use strict;
use warnings;

print "[$_]\n" for @ARGV;
