use strict;
use warnings;

use feature qw(say state);
use utf8;
use open qw(:std :encoding(UTF-8));

use Data::Dumper;
use Digest::SHA qw(sha256_hex);
use Encode qw(decode encode);
use File::Basename qw(basename dirname fileparse);
use File::Temp qw(tempfile);
use JSON::PP;
use List::Util qw(first max reduce shuffle sum uniq);
use MIME::Base64 qw(encode_base64);
use Math::BigFloat;
use Math::BigInt;
use POSIX qw(floor fmod strftime);
use Scalar::Util qw(blessed looks_like_number);
use Storable qw(dclone);
use Text::ParseWords qw(shellwords);
use Time::Local qw(timegm);
use Time::Piece;

my %population = (Zürich => 443, Bern => 137, Aarau => 22);
say "sorted: @{[sort keys %population]}";
say 'by value: ', join ' ',
    sort { $population{$b} <=> $population{$a} } keys %population;
my $json = JSON::PP->new->canonical;
my $text = $json->encode({cities => \%population, list => [1, 'two', undef]});
say "json: $text";
say 'parsed: ', $json->decode('{"a": [1, {"b": true}]}')->{a}[1]{b} ? 'true' : 'false';

my %counts;
$counts{$_}++ for split ' ', 'the quick fox and the lazy dog and the cat';
say 'counts: ', join ', ',
    map { "$_ $counts{$_}" } grep { $counts{$_} > 1 } sort keys %counts;

while ('ann@one.org, bob@two.org' =~ /(?<user>\w+)@(\w+)\.org/g) {
    say "regex: $+{user} at $2";
}
(my $doubled = 'a1 b20 c300') =~ s/(\d+)/$1 * 2/ge;
say "replace: $doubled";
say 'transliterated: ', 'hello' =~ tr/a-y/b-z/r, ' ', ucfirst lc 'GRÜSSE';
say 'reversed: ', scalar reverse 'Grüße';

my $leap_day = timegm(0, 30, 12, 29, 1, 2024);
say 'date: ', strftime('%A %d %B %Y', gmtime $leap_day);
say 'piece: ', gmtime($leap_day + 366 * 86_400)->ymd;
say 'parsed date: ', Time::Piece->strptime('2024-07-01', '%Y-%m-%d')->yday;

say 'math: ', sqrt(16), ' ', 2**10, ' ', floor(-3.5), ' ', fmod(7, 3), ' ', -7 % 3;
say 'big: ', Math::BigInt->new(2)->bpow(200);
say 'float: ', Math::BigFloat->new(2)->bsqrt(30);
srand 42;
say 'random: ', join ' ', map { int rand 100 } 1 .. 5;
say sprintf 'format: %06x|%-6s|%8.3f|%+d|%08b', 255, 'left', 3.14159, 5, 42;

say 'list: ', sum(1 .. 10), ' ', max(3, 9, 4), ' ', first { $_ > 3 } 1 .. 9;
say 'reduce: ', reduce { $a * $b } 1 .. 10;
say 'uniq: ', join ' ', uniq(3, 1, 3, 2, 1);
my @slice = (map { $_**2 } grep { $_ % 2 } 1 .. 9)[1 .. 3];
say "slice: @slice";
my $copy = dclone({deep => [1, 2]});
push @{$copy->{deep}}, 3;
say "clone: @{$copy->{deep}}";
{
    local ($Data::Dumper::Indent, $Data::Dumper::Terse) = (0, 1);
    say 'dumper: ', Dumper([1, {two => 3}]);
}

package Counter {
    sub new  { my ($class, %args) = @_; return bless {count => 0, %args}, $class }
    sub next { my ($self) = @_; return ++$self->{count} }
}

my $counter = Counter->new(count => 40);
$counter->next;
say 'object: ', blessed($counter), ' ', $counter->next;

sub sequence {
    state $n = 0;
    return $n++;
}
sequence() for 1 .. 3;
say 'state: ', sequence();

eval { die {code => 42} };
say "exception: $@->{code}";
say 'number: ', looks_like_number('1e3') ? 'yes' : 'no';
say 'path: ', basename('/a/b/c.txt'), ' ', dirname('/a/b/c.txt');
say 'words: ', scalar(my @words = shellwords(q{one "two three" 'four'}));

my ($handle, $name) = tempfile(UNLINK => 1);
print {$handle} "first\nsecond\n";
seek $handle, 0, 0;
my @lines = <$handle>;
say 'file: ', scalar @lines;
open my $memory, '<', \"in\nmemory\n" or die $!;
chomp(my @read = <$memory>);
say "memory: @read";

say 'base64: ', encode_base64(encode('UTF-8', 'Grüße'), '');
say 'sha256: ', sha256_hex('sandglass');
say 'bytes: ', length(encode('UTF-8', 'Grüße')), ' ', unpack('H*', pack 'N', 258);
