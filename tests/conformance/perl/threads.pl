use strict;
use warnings;

use threads;
use threads::shared;

my $counter : shared = 0;

sub add_thousand {
    for (1 .. 1000) {
        lock $counter;
        $counter++;
    }
    return;
}

my @threads = map { threads->create(\&add_thousand) } 1 .. 4;
$_->join for @threads;
print "$counter\n";
