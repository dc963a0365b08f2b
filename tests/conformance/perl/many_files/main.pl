use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib";

use Adder qw(add_all);

my @numbers = @{ require "$Bin/numbers.pl" };
print 'sum: ', add_all(@numbers), "\n";
