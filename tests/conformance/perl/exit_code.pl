use strict;
use warnings;

print "leaving\n";
exit 7;
