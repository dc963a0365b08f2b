use strict;
use warnings;

sub inner {
    die 'boom-42';
}

sub outer {
    inner();
}

outer();
