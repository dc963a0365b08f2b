use strict;
use warnings;

use utf8;
use open qw(:std :encoding(UTF-8));

my $text = 'Grüße, 世界 🌍';
print "$text\n";
print length($text), "\n";
