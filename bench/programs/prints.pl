print "run 0\n";
print "$_\n" for 0 .. 19999;
