use strict;
use warnings;

my $step = 8 * 1024 * 1024;

my @blocks;
push @blocks, 'x' x $step while 1;
