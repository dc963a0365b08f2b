use strict;
use warnings;

# Every process waits with memory of its own: processes or memory run out.
my @block;
while (defined(my $child = fork)) {
    next if $child;
    push @block, $_ x 1_048_576 for 'a' .. 'd';
    sleep 600;
}
die "fork: $!\n";
