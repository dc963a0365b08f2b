use strict;
use warnings;

print "Hello, world!\n";
