package Adder;

use strict;
use warnings;

use Exporter qw(import);

our @EXPORT_OK = qw(add_all);

sub add_all {
    my $sum = 0;
    $sum += $_ for @_;
    return $sum;
}

1;
