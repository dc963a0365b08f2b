use strict;
use warnings;

print "to stdout\n";
print STDERR "to stderr\n";
