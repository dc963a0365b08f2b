use strict;
use warnings;

use autodie;
use File::Path qw(make_path);

open my $in, '<', 'input.txt';
my $text = do { local $/; <$in> };
close $in;

$text =~ tr/a-z/A-Z/;

make_path('out');
open my $out, '>', 'out/result.txt';
print {$out} $text;
close $out;
print "ok\n";
