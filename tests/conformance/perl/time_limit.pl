use strict;
use warnings;

$SIG{$_} = 'IGNORE' for qw(HUP INT TERM);

1 while 1;
