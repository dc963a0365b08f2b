use strict;
use warnings;

my $output = `/bin/echo child \$((6*7))`;
print "got: $output";
