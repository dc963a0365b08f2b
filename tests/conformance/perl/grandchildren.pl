use strict;
use warnings;

my $child = fork // die "fork: $!";
if ($child == 0) {
    fork // die "fork: $!";
    sleep 600;
    exit;
}

print "parent done\n";
