use strict;
use warnings;

use open qw(:std :encoding(UTF-8));

my $count = 0;
while (my $line = <STDIN>) {
    chomp $line;
    print length($line), "\n";
    $count++;
}
print "lines: $count\n";
