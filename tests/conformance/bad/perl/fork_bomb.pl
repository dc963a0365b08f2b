use strict;
use warnings;

fork while 1;
