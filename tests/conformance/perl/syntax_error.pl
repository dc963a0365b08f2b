print "never printed\n";
print "nor is this\n";
my $total = = 3;
print "$total\n";
